"""Comparing two dictionaries of counts."""
import math


def deviation(a, b):
    """The chi-square over outcomes seen at least ten times, in standard deviations above its mean."""
    n, m, chi, cells = sum(a.values()), sum(b.values()), 0.0, 0
    for key in set(a) | set(b):
        x, y = a.get(key, 0), b.get(key, 0)
        if x + y >= 10:
            p = (x + y) / (n + m)
            chi += (x - n * p) ** 2 / (n * p) + (y - m * p) ** 2 / (m * p)
            cells += 1
    return (chi - (cells - 1)) / math.sqrt(2 * max(cells - 1, 1))
