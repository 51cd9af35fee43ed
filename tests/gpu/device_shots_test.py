"""Shots that stay on a GPU, through DLPack and the CUDA array interface, against those that the CPU makes; skipped (exit code 77)
without a GPU. With PyTorch or CuPy installed their arrays are compared as well.

Usage: device_shots_test.py FOLDER_OF_CIRCUITS, with tilewave importable
"""
import ctypes
import gc
import pathlib
import sys

import numpy as np

import tilewave as tw

CIRCUITS = pathlib.Path(sys.argv[1])
SURFACE = "".join(line.strip() + "\n" for line in """
    R 0 1 2 3 4
    REPEAT 9 {
        X_ERROR(0.05) 0 2 4
        DEPOLARIZE2(0.02) 0 1
        CX 0 1 2 3
        CX 2 1 4 3
        MR(0.03) 1 3
        DETECTOR rec[-1]
        DETECTOR rec[-2] rec[-1]
        DETECTOR rec[-2]
    }
    M 0 2 4
    OBSERVABLE_INCLUDE(0) rec[-1]
    OBSERVABLE_INCLUDE(1) rec[-2]
    OBSERVABLE_INCLUDE(2) rec[-3]
    """.strip().splitlines())

try:
    tw.compile_detector_sampler(SURFACE, device="cuda")
except (MemoryError, RuntimeError, ValueError) as error:
    print(f"SKIPPED, NOT TESTED: {error}")
    sys.exit(77)

driver = ctypes.CDLL("libcuda.so.1")


def through_interface(array):
    """What lies at the address that the CUDA array interface tells, copied by the driver."""
    interface = array.__cuda_array_interface__
    assert interface["version"] == 3 and interface["strides"] is None and interface["stream"] is None
    out = np.empty(interface["shape"], np.dtype(interface["typestr"]))
    address, writable = interface["data"][0], not interface["data"][1]
    assert writable
    if out.nbytes:
        assert driver.cuMemcpyDtoH_v2(ctypes.c_void_p(out.ctypes.data), ctypes.c_uint64(address), ctypes.c_size_t(out.nbytes)) == 0
    return out


def same(array, want, what):
    assert isinstance(array, tw.DeviceArray), what
    assert array.__dlpack_device__() == (2, 0) and array.device == "cuda:0", what
    assert array.shape == want.shape and array.dtype == want.dtype and array.nbytes == want.nbytes, (what, array, want.shape)
    assert np.array_equal(through_interface(array), want), what
    if want.size:
        assert np.array_equal(tw.to_host(array), want), what
    for name in ("torch", "cupy"):
        try:
            package = __import__(name)
        except ImportError:
            continue
        theirs = package.from_dlpack(array)
        host = theirs.cpu().numpy() if name == "torch" else package.asnumpy(theirs)
        assert np.array_equal(host, want), (what, name)


def samplers(circuit):
    return [tw.compile_detector_sampler(circuit, seed=3, device=device) for device in ("cuda:0", "cpu")]


LEAKY = SURFACE.replace("CX 2 1", "LEAKAGE(0.03) 0 1 2\nCX(0.2, 0.1, 0.3, 0.1) 2 1").replace("REPEAT", "LEAKAGE(0.1) 4\nREPEAT")
mask_of = {SURFACE: np.arange(27) % 5 == 0, LEAKY: np.arange(27) % 9 == 0}
for name in ("msc_d3_inject_cultivate_p1e-3", "distillation", "coherent_d3_r1"):
    text = (CIRCUITS / (name + ".stim")).read_text()
    mask_of[text] = np.arange(tw.compile_detector_sampler(text).num_detectors) % 2 == 0
for circuit, mask in mask_of.items():
    gpu, cpu = samplers(circuit)
    for shots in (1, 1000, 65537):  # the sequence goes on
        for packed in (True, False):
            same(gpu.sample(shots, bit_packed=packed, on_device=True), cpu.sample(shots, bit_packed=packed), "rows")
        both = [s.sample(shots, separate_observables=True, postselection_mask=mask, on_device=s is gpu) for s in (gpu, cpu)]
        same(both[0][0], both[1][0], "kept detectors")
        same(both[0][1], both[1][1], "kept observables")
        same(gpu.sample(shots, append_observables=True, on_device=True), cpu.sample(shots, append_observables=True), "appended")
        for mine, want in zip(gpu.sample_detector_major(shots, on_device=True), cpu.sample_detector_major(shots)):
            same(mine, want, "detector-major")
        lists = gpu.sample_lists(shots, on_device=True), cpu.sample_lists(shots)
        same(lists[0].offsets, lists[1].offsets, "offsets")
        same(lists[0].hits, lists[1].hits, "hits")
    kept = [s.count_kept(300_000, np.flatnonzero(mask)) for s in (gpu, cpu)]
    assert kept[0][:2] == kept[1][:2] and np.array_equal(kept[0].errors, kept[1].errors), kept

# Measurements, and a model with its errors.
for circuit in (SURFACE, LEAKY + "HERALD_LEAKAGE_EVENT(0.1, 0.01) 0 1 2 3 4\n"):
    pair = [tw.compile_sampler(circuit, seed=4, device=device) for device in ("cuda", "cpu")]
    same(pair[0].sample(777, on_device=True, bit_packed=True), pair[1].sample(777, bit_packed=True), "measurements")
model = tw.detector_error_model(SURFACE, flatten_loops=True)
pair = [tw.compile_dem_sampler(model, seed=4, device=device) for device in ("cuda", "cpu")]
for mine, want in zip(pair[0].sample(999, return_errors=True, on_device=True), pair[1].sample(999, return_errors=True)):
    same(mine, want, "model")

# An array outlives its sampler, and its capsule outlives the array; memory comes back.
gpu, cpu = samplers(SURFACE)
array, want = gpu.sample(4096, on_device=True), cpu.sample(4096)
del gpu
gc.collect()
same(array, want, "without its sampler")
capsule = array.__dlpack__(stream=1)
del array, capsule
gc.collect()
gpu, _ = samplers(SURFACE)
free, total = ctypes.c_size_t(), ctypes.c_size_t()
gpu.sample(1 << 22, on_device=True)
assert driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
before = free.value
for _ in range(50):
    gpu.sample(1 << 22, on_device=True)
gc.collect()
assert driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
assert before - free.value < 1 << 27, (before, free.value)
try:
    np.asarray(gpu.sample(10, on_device=True))
    raise AssertionError("no array of the host")
except TypeError as error:
    assert "to_host" in str(error)
print("ok")
