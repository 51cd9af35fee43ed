"""Entropy against scikit-image, maps against numpy."""
from pathlib import Path

import numpy as np
import pytest

import tilewave as tw

skimage_rank = pytest.importorskip("skimage.filters.rank")
from skimage.morphology import disk, ellipse  # noqa: E402


def image(rng, shape, classes=256, dtype=np.uint8):
    return rng.integers(0, classes, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["i1", "<i2", ">i2", ">u2", "<i4", ">i4", "<i8", ">i8", "<u8", ">f4"])
def test_numbers_of_any_type_that_fit(dtype):
    classes = np.random.default_rng(4).integers(0, 100, (20, 30))
    values = classes.astype(dtype)
    if values.dtype.kind != "f":
        np.testing.assert_array_equal(tw.entropy(values), tw.entropy(classes.astype(np.uint8)))
        np.testing.assert_array_equal(tw.entropy(values.astype(np.int64) * 600), tw.entropy((classes * 600).astype(np.uint16)))
    np.testing.assert_array_equal(tw.map(values, "v + 1"), (classes + 1).astype(np.float32))


@pytest.mark.parametrize("classes", [2, 16, 200, 256])
@pytest.mark.parametrize("window", [np.ones((5, 5)), np.ones((9, 3)), disk(4), ellipse(2, 5), np.eye(7)])
def test_entropy_agrees_with_scikit_image(classes, window):
    rng = np.random.default_rng(classes)
    picture = image(rng, (61, 47), classes)
    window = window.astype(np.uint8)
    expected = skimage_rank.entropy(picture, window)
    ours = tw.entropy(picture, window)
    assert ours.dtype == np.float32 and ours.shape == picture.shape
    np.testing.assert_allclose(ours, expected, atol=1e-5)
    mask = (rng.random(picture.shape) < 0.7).astype(np.uint8)
    mask[20:35, 10:30] = 0
    np.testing.assert_allclose(tw.entropy(picture, window, mask=mask),
                               skimage_rank.entropy(picture, window, mask=mask), atol=1e-5)


def test_entropy_of_16_bit_images_and_stacks():
    rng = np.random.default_rng(1)
    deep = image(rng, (40, 30), 1000, np.uint16)
    np.testing.assert_allclose(tw.entropy(deep, disk(3)), skimage_rank.entropy(deep, disk(3)), atol=1e-5)
    mask = rng.random(deep.shape) < 0.5
    np.testing.assert_allclose(tw.entropy(deep, disk(3), mask=mask),
                               skimage_rank.entropy(deep, disk(3), mask=mask.astype(np.uint8)), atol=1e-5)
    stack = image(rng, (2, 3, 20, 25), 7)
    ours = tw.entropy(stack, 2)
    for i in range(2):
        for j in range(3):
            np.testing.assert_allclose(ours[i, j], skimage_rank.entropy(stack[i, j], np.ones((5, 5))), atol=1e-5)


def test_entropy_of_views_and_into_arrays():
    rng = np.random.default_rng(2)
    picture = image(rng, (80, 90), 9)
    for view in (picture[3:50, 7:60], picture[::2], picture[:, ::3], picture.T, picture[::-1]):
        np.testing.assert_array_equal(tw.entropy(view), tw.entropy(view.copy()))
    out = np.empty(picture.shape, np.float32)
    assert tw.entropy(picture, out=out) is out
    np.testing.assert_array_equal(out, tw.entropy(picture, np.ones((5, 5)), threads=1))
    np.testing.assert_allclose(tw.entropy(picture, base=None), tw.entropy(picture) * np.log(2), atol=1e-5)
    assert np.isnan(tw.entropy(picture, border="valid", fill=np.nan)).sum() == 80 * 90 - 76 * 86
    assert not tw.entropy(picture, border="valid").max() == 0
    assert np.count_nonzero(tw.entropy(picture > 4, 1)) > 0


def by_definition(codes, radius, valid=None, base=2):
    """Entropy of squares, cell by cell; NaN where no cell is valid."""
    valid = np.ones(codes.shape, bool) if valid is None else valid
    out = np.full(codes.shape, np.nan)
    for y, x in np.ndindex(codes.shape):
        window = np.s_[max(0, y - radius):y + radius + 1, max(0, x - radius):x + radius + 1]
        counts = np.unique(codes[window][valid[window]], return_counts=True)[1]
        if counts.size:
            out[y, x] = (np.log(counts.sum()) - (counts * np.log(counts)).sum() / counts.sum()) / np.log(base)
    return out


def test_every_value_of_16_bits_is_a_class():
    np.testing.assert_allclose(tw.entropy(np.array([[0, 65535]], np.uint16)), [[1, 1]], atol=1e-6)
    rng = np.random.default_rng(5)
    deep = np.where(rng.random((30, 40)) < 0.5, 65535 - rng.integers(0, 5, (30, 40)), rng.integers(0, 65536, (30, 40)))
    valid = rng.random(deep.shape) < 0.7
    for dtype in (np.uint16, np.int64):
        np.testing.assert_allclose(tw.entropy(deep.astype(dtype), 3), by_definition(deep, 3), atol=5e-6)
        np.testing.assert_allclose(tw.entropy(deep.astype(dtype), 3, mask=valid), by_definition(deep, 3, valid), atol=5e-6)
    np.testing.assert_array_equal(tw.entropy(deep.astype(np.uint16), 3, levels=65536), tw.entropy(deep, 3))


def test_masked_arrays_are_masked():
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 9, (25, 31))
    valid = rng.random(codes.shape) < 0.6
    for dtype, junk in ((np.uint8, 200), (np.int16, -9999), (np.uint16, 65535), (np.int64, 2**40), (np.uint8, 3)):
        array = np.ma.array(np.where(valid, codes, junk).astype(dtype), mask=~valid)
        np.testing.assert_allclose(tw.entropy(array, 2), by_definition(codes, 2, valid), atol=5e-6)
        other = rng.random(codes.shape) < 0.8
        np.testing.assert_allclose(tw.entropy(array, 2, mask=other), by_definition(codes, 2, valid & other), atol=5e-6)
        for precision in ("precise", "fast", "lut"):
            mapped = tw.map(array, "v + 1", precision=precision)
            assert type(mapped) is np.ndarray and mapped.dtype == np.float32
            np.testing.assert_array_equal(mapped, np.where(valid, codes + 1, np.nan).astype(np.float32))
        out = np.zeros(codes.shape, np.float32)
        assert tw.map(array, "v", out=out) is out and np.isnan(out[~valid]).all()
    np.testing.assert_allclose(tw.entropy(np.where(valid, codes, -9999), 2, mask=valid), by_definition(codes, 2, valid),
                               atol=5e-6)
    np.testing.assert_array_equal(tw.entropy(np.ma.array(codes), 2), tw.entropy(codes, 2))  # nothing is masked
    nothing = np.ma.array(codes, mask=True)
    assert (tw.entropy(nothing, fill=-3) == -3).all() and np.isnan(tw.map(nothing, "v", precision="lut")).all()
    floats = np.ma.masked_invalid(np.array([1.5, np.nan, 3], np.float32))
    np.testing.assert_array_equal(tw.map(floats, "v * 2"), np.array([3, np.nan, 6], np.float32))
    for call in (tw.to_host, tw.to_device):
        with pytest.raises(ValueError, match="masked array would lose its mask"):
            call(np.ma.array([1, 2], mask=[0, 1]))


def test_fill_where_no_pixel_of_a_window_is_valid():
    picture = image(np.random.default_rng(7), (12, 14), 9)
    aside = np.array([[1, 0]], np.uint8)  # the pixel to the left
    assert (tw.entropy(picture, aside, fill=-1)[:, 0] == -1).all() and not tw.entropy(picture, aside, fill=-1)[:, 1:].any()
    ring = np.ones((3, 3), np.uint8)
    ring[1, 1] = 0
    for options in ({}, {"border": "valid"}, {"levels": 3}, {"min_valid": 0.9}, {"border": "reflect", "levels": 2}):
        ours = tw.entropy(picture, ring, fill=-1, **options)
        gaps = np.isnan(tw.entropy(picture, ring, fill=np.nan, **options))
        np.testing.assert_array_equal(ours == -1, gaps)
    np.testing.assert_allclose(tw.entropy(picture[:1, :1], ring), [[0]])
    np.testing.assert_allclose(tw.entropy(picture, aside), skimage_rank.entropy(picture, aside), atol=1e-5)


def test_a_constant_border_is_a_class():
    codes = image(np.random.default_rng(8), (13, 17), 9)
    for radius in (1, 2, 9):
        for constant in (0, 8, 12, 300, 65535):
            padded = np.pad(codes.astype(int), radius, constant_values=constant)
            inner = by_definition(padded, radius)[radius:-radius, radius:-radius]
            np.testing.assert_allclose(tw.entropy(codes, radius, border="constant", constant=constant), inner, atol=5e-6)


def test_many_classes_in_a_large_window():
    codes = np.repeat(np.arange(60000, dtype=np.uint16), 3)[:160801].reshape(401, 401)
    counts = np.unique(codes, return_counts=True)[1]
    exact = np.log(codes.size) - (counts * np.log(counts)).sum() / codes.size
    # a window of 800 rows and columns holds the whole image everywhere
    np.testing.assert_allclose(tw.entropy(codes[:, ::1], np.ones((801, 801)), base=None)[190:210:9], exact, atol=1e-6)


def test_maps():
    rng = np.random.default_rng(3)
    values = rng.random((50, 70)).astype(np.float32) * 9 + 1
    ix = np.arange(70)
    expected = values + np.where(ix % 2, np.sqrt(np.log(values) + 1), np.sqrt(np.cos(values) + 1))
    ours = tw.map(values, "v + (ix % 2 ? sqrt(log(v)+1) : sqrt(cos(v)+1))")
    np.testing.assert_allclose(ours, expected, rtol=3e-7)
    assert ours is not values and ours.dtype == np.float32
    np.testing.assert_allclose(tw.map(values, "0.5 * v", repeat=3), values / 8)
    np.testing.assert_allclose(tw.map(values, "sin(v)", precision="fast"), np.sin(values), atol=1e-6)
    np.testing.assert_array_equal(tw.map(np.arange(5, dtype=np.uint8), "v + idx"), [0, 2, 4, 6, 8])
    bytes_ = image(rng, (30, 30))
    np.testing.assert_allclose(tw.map(bytes_, "sqrt(v)", precision="lut"), np.sqrt(bytes_.astype(np.float32)))
    before = values.copy()
    assert tw.map(values, "v * 2", out=values) is values
    np.testing.assert_array_equal(values, before * 2)


@pytest.mark.parametrize("wrong, message", [
    (lambda: tw.entropy(np.zeros((4, 4))), "convert it to uint8"),
    (lambda: tw.entropy(np.zeros(4, np.uint8)), "two dimensions"),
    (lambda: tw.entropy(np.zeros((0, 4), np.uint8)), "empty"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), np.zeros((3, 3))), "footprint|window|cells"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), np.ones((3, 3, 3))), "two dimensions, not 3"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), -1), "radius"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), border="wrap"), "unknown border"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), device="tpu"), "unknown device 'tpu': use auto, cpu"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), out=np.zeros((4, 4))), "float32"),
    (lambda: tw.map(np.zeros((4, 4)), "v"), "lose digits"),
    (lambda: tw.map(np.full((4, 4), 2**24 + 1), "v"), "int64 would lose digits"),
    (lambda: tw.map(np.full((4, 4), -2**63), "v"), "int64 would lose digits"),
    (lambda: tw.entropy(np.full((4, 4), 65536)), "65536 to 65536 are no classes"),
    (lambda: tw.entropy(np.full((4, 4), -1)), "-1 to -1 are no classes"),
    (lambda: tw.entropy(np.zeros((4, 4))), "float64 has no classes"),
    (lambda: tw.map(np.zeros((4, 4, 4), np.float32), "v"), "dimensions"),
    (lambda: tw.map(np.zeros((4, 4), np.float32), "v +"), "\\^"),
    (lambda: tw.map(np.zeros((4, 4), np.float32), "v", repeat=-1), "repeat"),
    (lambda: tw.map(np.zeros((4, 4), np.float32), "v", precision="half"), "unknown precision"),
    (lambda: tw.map(np.zeros((4, 4), np.float32), "v", repeat=1.5), "repeat is a whole number, not 1.5"),
    (lambda: tw.map(np.zeros((4, 4), np.float32), "v", repeat=2**40), "repeat .* out of range"),
    (lambda: tw.map(np.zeros((4, 4), np.float32), "v", threads="2"), "threads is a whole number"),
    (lambda: tw.map(np.zeros((4, 4), np.float32), "0 < v < 5"), "do not chain"),
    (lambda: tw.map(np.zeros((4, 4), np.float32), "v + \u00b5"), "'\u00b5' is not expected"),
    (lambda: tw.map(np.zeros((4, 4), np.complex64), "v"), "real"),
    (lambda: tw.map(np.array([["a"]]), "v"), "no numbers"),
    (lambda: tw.map(np.zeros((4, 4), np.float32), "v", out=np.ma.zeros((4, 4), np.float32)), "no mask"),
    (lambda: tw.map(np.zeros((4, 4), np.float32), "v", out=[1]), "float32"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), (5, 5)), "numpy.ones"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), 2.0), "numpy.ones"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), base=np.inf), "base"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), base=0), "base"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), base=np.nan), "base"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), border="constant", constant=-1), "constant class -1"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), border="constant", constant=65536), "levels|constant"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), border="constant", constant=0.5), "constant is a whole number"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), border="constant", constant=9, levels=9), "constant class 9"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), levels=65537), "2..65536"),
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), levels=2.5), "levels is a whole number"),
])
def test_errors(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


class Foreign:
    """An array that only speaks DLPack."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


def test_arrays_of_other_packages_are_used_where_they_lie():
    image = np.random.default_rng(1).integers(0, 9, (40, 50)).astype(np.uint8)
    np.testing.assert_array_equal(tw.entropy(Foreign(image)), tw.entropy(image))
    values = np.linspace(1, 5, 60, dtype=np.float32).reshape(6, 10)
    expected = tw.map(values, "log(v)")
    np.testing.assert_array_equal(tw.map(Foreign(values), "log(v)"), expected)
    np.testing.assert_array_equal(tw.to_host(Foreign(values)), values)
    if hasattr(values.__dlpack__, "__call__"):
        tw.map(values, "log(v)", out=values)
        np.testing.assert_array_equal(values, expected)


def test_arrays_on_unknown_devices_are_refused():
    values = np.ones((4, 4), np.float32)
    with pytest.raises(ValueError, match="neither host nor CUDA memory"):
        tw.map(Foreign(values, (10, 0)), "v")  # ROCm


def test_results_may_share_the_memory_of_the_image():
    rng = np.random.default_rng(4)
    buffer = np.zeros((3, 30, 40), np.float32)
    for image in (buffer.view(np.uint8)[..., :40], buffer.view(np.uint16)[:, ::-1, 1:41],
                  buffer.view(np.uint8)[..., 120:]):
        image[...] = rng.integers(0, 20, image.shape)
        for mask in (None, rng.random(image.shape) > 0.2):
            kept = image.copy()
            expected = tw.entropy(kept, 2, mask=mask)
            assert tw.entropy(image, 2, out=buffer, mask=mask) is buffer
            np.testing.assert_array_equal(buffer, expected)
            image[...] = kept
        kept = image[1].copy()
        np.testing.assert_array_equal(tw.entropy(image[1], 2, out=buffer[1]), tw.entropy(kept, 2))


@pytest.mark.parametrize("name, call", [
    ("expression is a str, not NoneType", lambda a, i: tw.map(a, None)),
    ("expression is a str, not bytes", lambda a, i: tw.map(a, b"v")),
    ("precision is a str, not int", lambda a, i: tw.map(a, "v", precision=1)),
    ("device is a str, not NoneType", lambda a, i: tw.map(a, "v", device=None)),
    ("border is a str, not NoneType", lambda a, i: tw.entropy(i, border=None)),
    ("device is a str, not int", lambda a, i: tw.entropy(i, device=0)),
    ("min_valid is a number, not None", lambda a, i: tw.entropy(i, min_valid=None)),
    ("fill is a number, not 'x'", lambda a, i: tw.entropy(i, fill="x")),
    ("base is a number, not '2'", lambda a, i: tw.entropy(i, base="2")),
])
def test_arguments_of_a_wrong_type_are_named(name, call):
    with pytest.raises(TypeError) as raised:
        call(np.zeros((4, 6), np.float32), np.zeros((4, 6), np.uint8))
    assert str(raised.value) == name


class Elsewhere:
    """A tensor, as packages have them whose types NumPy lacks."""
    dtype, requires_grad = "bfloat16", False

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        raise BufferError("no such type")


def test_tensors_that_numpy_cannot_read_are_refused_in_a_sentence():
    tensor = Elsewhere()
    for call in (lambda: tw.map(tensor, "v"), lambda: tw.entropy(tensor)):
        with pytest.raises(ValueError, match="^a Elsewhere of bfloat16 cannot be read where it lies .no such type.: convert"):
            call()
    tensor.requires_grad = True
    with pytest.raises(ValueError, match="requires gradients would lose them here: give tensor.detach"):
        tw.map(tensor, "v")
    values = np.zeros((4, 6), np.float32)
    for call in (lambda: tw.map(values, "v", out=tensor), lambda: tw.entropy(values.astype(np.uint8), out=tensor)):
        with pytest.raises(ValueError, match="out is a float32 NumPy array where the input lies on the host, not Elsewhere: numpy.asarray"):
            call()
    rows = [[1, 2]]
    with pytest.raises(ValueError, match="not list"):
        tw.map(rows, "v", out=rows)


def test_tensors_of_pytorch_are_refused_in_a_sentence():
    torch = pytest.importorskip("torch")
    for tensor, message in ((torch.zeros(4, 6, dtype=torch.bfloat16), "bfloat16 cannot be read where it lies"),
                            (torch.zeros(4, 6, requires_grad=True), "give tensor.detach"),
                            (torch.zeros(4, 6).to_sparse(), "convert it to a dense array")):
        with pytest.raises(ValueError, match=message) as raised:
            tw.map(tensor, "v")
        assert "\n" not in str(raised.value)


def test_narrow_arrays_have_the_values_of_wide_ones():
    values = np.random.default_rng(5).random(3000, np.float32)
    for width in (1, 2, 3, 1000):
        here = values.reshape(-1, width)
        index = np.arange(3000).reshape(here.shape)
        np.testing.assert_array_equal(tw.map(here, "v * 2 + idx % 7"), here * 2 + (index % 7).astype(np.float32))
        rows, columns = np.indices(here.shape)
        np.testing.assert_array_equal(tw.map(here, "ix * 2 - iy % -3 + idx % (iy + 7)"),
                                      columns * 2 - rows % -3 + (rows * width + columns) % (rows + 7))


@pytest.mark.skipif(tw.built_with_cuda(), reason="this build has the CUDA back end")
def test_devices_are_refused_clearly_without_cuda():
    values = np.ones((4, 4), np.float32)
    for call in (lambda a: tw.entropy(a), lambda a: tw.map(a, "v"), tw.to_host):
        with pytest.raises(ValueError, match="no CUDA back end"):
            call(Foreign(values, (2, 0)))
    circuit = tw.Circuit(2).h(0)
    for call in (lambda: tw.to_device(values), lambda: tw.simulate(circuit, on_device=True),
                 lambda: tw.simulate(circuit, device="cuda"), lambda: tw.sample(circuit, device="cuda:0"),
                 lambda: tw.compile_sampler("M 0", device="cuda").sample(4),
                 lambda: tw.entropy(values.astype(np.uint8), device="cuda")):
        with pytest.raises(ValueError, match="^this build has no CUDA back end: use device=\"cpu\", or build it with CUDA .*"
                                             "pip install . -C cmake.define.TW_CUDA=ON"):
            call()
    with pytest.raises(ValueError, match="the state lies on cpu"):
        tw.simulate(tw.Circuit(2).h(0), device="cpu", on_device=True)


@pytest.mark.skipif(not tw.built_with_cuda(), reason="NOT TESTED: this build has no CUDA back end")
def test_arrays_on_a_cuda_device():
    if not list(Path("/dev").glob("nvidia[0-9]*")):  # where there is a GPU, what fails on it fails here
        with pytest.raises(MemoryError):
            tw.to_device(np.zeros(1, np.float32))
        pytest.skip("NOT TESTED: there is no GPU here")
    rng = np.random.default_rng(2)
    image = rng.integers(0, 16, (3, 70, 90)).astype(np.uint8)
    on_device = tw.to_device(image)
    np.testing.assert_array_equal(tw.to_host(on_device), image)
    np.testing.assert_allclose(tw.to_host(tw.entropy(on_device)), tw.entropy(image), atol=1e-5)
    out = tw.to_device(np.zeros(image.shape, np.float32))
    assert tw.entropy(on_device, 2, out=out, levels=16) is out
    np.testing.assert_allclose(tw.to_host(out), tw.entropy(image, 2), atol=1e-5)
    wide = (image[0] * np.uint16(9)).astype(np.uint16)
    np.testing.assert_allclose(tw.to_host(tw.entropy(tw.to_device(wide), 3, levels=144)), tw.entropy(wide, 3),
                               atol=1e-5)
    for fill in (0.0, -1.5, float("nan")):
        options = {"levels": 6, "border": "valid", "min_valid": 0.3, "fill": fill}
        expected = tw.entropy(image, 2, **options)
        assert np.isnan(fill) or np.count_nonzero(expected == fill) > 1000
        np.testing.assert_allclose(tw.to_host(tw.entropy(on_device, 2, **options)), expected, atol=1e-5)
    with pytest.raises(ValueError, match="needs levels"):
        tw.entropy(tw.to_device(wide))
    values = rng.random((50, 64), np.float32) + 1
    there = tw.to_device(values)
    expected = tw.map(values, "v + sqrt(log(v))", repeat=2)
    np.testing.assert_allclose(tw.to_host(tw.map(there, "v + sqrt(log(v))", repeat=2)), expected, rtol=1e-6)
    np.testing.assert_array_equal(tw.to_host(there), values)
    assert tw.map(there, "v + sqrt(log(v))", repeat=2, out=there) is there
    np.testing.assert_allclose(tw.to_host(there), expected, rtol=1e-6)
    with pytest.raises(ValueError, match="takes no mask"):
        tw.entropy(on_device, mask=image)
    circuit = tw.Circuit(5).h(0).cx(0, 3).rx(0.3, 1).swap(0, 4)
    for precision, kind in (("double", np.complex128), ("single", np.complex64)):
        state = tw.to_host(tw.simulate(circuit, precision=precision, on_device=True))
        assert state.dtype == kind
        np.testing.assert_allclose(state, tw.simulate(circuit, device="cpu"), atol=1e-6)
