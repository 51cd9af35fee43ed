"""Entropy against scikit-image, maps against numpy."""
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
    (lambda: tw.entropy(np.zeros((4, 4), np.uint8), device="tpu"), "device tpu: unknown device: use cpu"),
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


def test_arrays_on_devices_are_refused_clearly_without_cuda():
    values = np.ones((4, 4), np.float32)
    with pytest.raises(ValueError, match="neither host nor CUDA memory"):
        tw.map(Foreign(values, (10, 0)), "v")  # ROCm
    if tw.built_with_cuda():
        pytest.skip("this build has the CUDA back end")
    for call in (lambda a: tw.entropy(a), lambda a: tw.map(a, "v"), tw.to_host):
        with pytest.raises(ValueError, match="no CUDA back end"):
            call(Foreign(values, (2, 0)))
    with pytest.raises(MemoryError, match="no CUDA back end"):
        tw.to_device(values)
    with pytest.raises(MemoryError, match="no CUDA back end"):
        tw.simulate(tw.Circuit(2).h(0), on_device=True)
    with pytest.raises(ValueError, match="the state lies on cpu"):
        tw.simulate(tw.Circuit(2).h(0), device="cpu", on_device=True)


def device_or_skip():
    try:
        return tw.to_device(np.zeros(1, np.float32))
    except MemoryError as error:
        pytest.skip(f"NOT TESTED: {error}")


def test_arrays_on_a_cuda_device():
    device_or_skip()
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
