"""The picture of the README: docs/figures/speed.svg, drawn by bench/report.py from docs/performance.json.

A row of bars a circuit, their lengths logarithms of seconds: Tilewave and its peers in the same precision, so that a bar that is
longer by one unit of the scale takes ten times as long.
"""
import math

BARS = [  # key of a time, what the legend says, colour, precision
    ("tilewave_single", "Tilewave", "#2563eb", "single"), ("qsim", "qsim", "#9ca3af", "single"),
    ("tilewave_double", "Tilewave", "#1d4ed8", "double"), ("quest", "QuEST", "#d1d5db", "double"),
]
LEFT, RIGHT, TOP, BAR, GAP = 150, 90, 64, 9, 12
WIDTH = 860


def seconds(value):
    return f"{1e3 * value:.3g} ms" if value < 1 else f"{value:.3g} s"


def speed_figure(report):
    """The text of the SVG."""
    rows = report["circuits"]
    times = [r["times"][key]["median_s"] for r in rows for key, *_ in BARS]
    low, high = 10 ** math.floor(math.log10(min(times))), 10 ** math.ceil(math.log10(max(times)))

    def x(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(value / low) / math.log(high / low)

    step = len(BARS) * BAR + GAP
    height = TOP + len(rows) * step + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif" font-size="12">',
           f'  <rect width="{WIDTH}" height="{height}" fill="#fff"/>',
           f'  <text x="16" y="22" font-size="15" fill="#1f2937">Time of a circuit, {report["machine"]["cores"]} cores of '
           f'{report["machine"]["cpu"]}, {report["date"]}; logarithmic scale</text>']
    at = 16
    for key, name, colour, precision in BARS:
        version = report["versions"].get("qsimcirq" if key == "qsim" else "QuEST" if key == "quest" else "", "")
        label = f"{name}{' ' + version if version else ''}, {precision} precision"
        out += [f'  <rect x="{at}" y="36" width="10" height="10" fill="{colour}"/>',
                f'  <text x="{at + 15}" y="45" fill="#1f2937">{label}</text>']
        at += 36 + 6.4 * len(label)
    tick = low
    while tick <= high * 1.001:
        out += [f'  <line x1="{x(tick):.1f}" y1="{TOP - 6}" x2="{x(tick):.1f}" y2="{height - 24}" stroke="#e5e7eb"/>',
                f'  <text x="{x(tick):.1f}" y="{height - 8}" fill="#6b7280" text-anchor="middle">{seconds(tick)}</text>']
        tick *= 10
    for k, row in enumerate(rows):
        y = TOP + k * step
        out.append(f'  <text x="{LEFT - 8}" y="{y + len(BARS) * BAR / 2 + 4:.1f}" fill="#1f2937" text-anchor="end">{row["circuit"]}</text>')
        for j, (key, _, colour, _) in enumerate(BARS):
            value = row["times"][key]["median_s"]
            out.append(f'  <rect x="{LEFT}" y="{y + j * BAR}" width="{x(value) - LEFT:.1f}" height="{BAR - 1}" fill="{colour}"/>')
            out.append(f'  <text x="{x(value) + 4:.1f}" y="{y + (j + 1) * BAR - 1}" fill="#6b7280" font-size="9">{seconds(value)}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"
