# Diversity of a land-cover map, and an elementwise map over an array.

# %% A map of 12 classes in patches.
import numpy as np

import tilewave as tw

rng = np.random.default_rng(0)
seeds = rng.integers(0, 400, (60, 2))
classes = rng.integers(0, 12, 60).astype(np.uint8)
y, x = np.mgrid[:400, :400]
cover = classes[np.argmin((y[..., None] - seeds[:, 0]) ** 2 + (x[..., None] - seeds[:, 1]) ** 2, axis=2)]

# %% Entropy of the classes in a 9 x 9 window, as skimage.filters.rank.entropy has it.
diversity = tw.entropy(cover, np.ones((9, 9)))
print("mixed pixels:", (diversity > 0).mean())
assert diversity.shape == cover.shape and diversity.min() == 0 and 0 < diversity.mean() < 1

# %% Water (class 0) does not count: a mask.
land = tw.entropy(cover, np.ones((9, 9)), mask=cover > 0)
assert land[cover == 0].mean() <= diversity[cover == 0].mean() + 1e-6

# %% An expression over every value, in one pass; ix and iy are the column and the row.
scaled = tw.map(diversity, "ix % 2 ? v : sqrt(v + 1)")
assert np.allclose(scaled[:, 1::2], diversity[:, 1::2])
assert np.allclose(scaled[:, ::2], np.sqrt(diversity[:, ::2] + 1), rtol=1e-6)
