"""Arrays and files that samplers put shots into: layouts, arrays to fill, post-selection and arrays on a device."""
import os
import subprocess

import numpy as np
import pytest
import stim

import tilewave as tw
from stim_circuits import surface_code


def test_every_way_of_asking_gives_the_same_bits():
    circuit = surface_code(3, 0.02, 4)
    sampler = lambda **options: tw.compile_detector_sampler(circuit, seed=9, **options)
    shots = 1003
    dets, obs = sampler().sample(shots, separate_observables=True)
    packed = lambda a: np.packbits(a, axis=1, bitorder="little")
    assert dets.any() and obs.any()
    for options in ({}, {"threads": 3}, {"engine": "frame"}, {"engine": "sparse"}):
        if options.get("engine") is None:
            assert np.array_equal(sampler(**options).sample(shots), dets)
        s = sampler(**options)
        first = s.sample(shots, append_observables=True, bit_packed=True)
        assert np.array_equal(first, sampler(**options).sample(shots, append_observables=True, bit_packed=True))
    both = np.concatenate([dets, obs], axis=1)
    assert np.array_equal(sampler().sample(shots, append_observables=True), both)
    assert np.array_equal(sampler().sample(shots, append_observables=True, bit_packed=True), packed(both))
    assert np.array_equal(sampler().sample(shots, prepend_observables=True), np.concatenate([obs, dets], axis=1))
    assert np.array_equal(sampler().sample(shots, prepend_observables=True, bit_packed=True),
                          packed(np.concatenate([obs, dets], axis=1)))
    assert np.array_equal(sampler().sample(shots, bit_packed=True), packed(dets))
    assert np.array_equal(sampler().sample_bit_packed(shots), packed(dets))
    a, b = sampler().sample(shots, separate_observables=True, bit_packed=True)
    assert np.array_equal(a, packed(dets)) and np.array_equal(b, packed(obs))
    mine = np.zeros_like(dets), np.zeros_like(obs)
    out = sampler().sample(shots, dets_out=mine[0], obs_out=mine[1])
    assert out is mine[0] and np.array_equal(mine[0], dets) and np.array_equal(mine[1], obs)


CERTAIN = """X_ERROR(1) 0
M 0 1 0
DETECTOR rec[-3]
DETECTOR rec[-2]
OBSERVABLE_INCLUDE(0) rec[-1]
OBSERVABLE_INCLUDE(1) rec[-2]
"""
ABSENT = object()


@pytest.mark.parametrize("packed", [False, True])
def test_where_observables_go_is_as_with_stim(packed):
    """All combinations: what Stim returns, fills and refuses."""
    rows = lambda bits: np.packbits([bits] * 3, axis=1, bitorder="little") if packed else np.array([bits] * 3, dtype=bool)
    dets, obs = [1, 0], [1, 0]
    for append, prepend, separate, fill in np.ndindex(2, 2, 2, 2):
        sampler = tw.compile_detector_sampler(CERTAIN)
        options = {"append_observables": bool(append), "prepend_observables": bool(prepend),
                   "separate_observables": bool(separate), "bit_packed": packed}
        if fill:
            options["obs_out"] = np.zeros_like(rows(obs))
        if separate and (append or prepend):
            with pytest.raises(ValueError, match="separate_observables"):
                sampler.sample(3, **options)
            continue
        out = sampler.sample(3, **options)
        if separate:
            assert isinstance(out, tuple) and np.array_equal(out[1], rows(obs))
            out = out[0]
        assert out.dtype == rows(dets).dtype and np.array_equal(out, rows(obs * prepend + dets + obs * append)), options
        if fill:
            assert np.array_equal(options["obs_out"], rows(obs)), options
    buffer = np.zeros((3, 3), dtype=bool)
    with pytest.raises(ValueError, match="obs_out must be"):
        tw.compile_detector_sampler(CERTAIN).sample(3, obs_out=buffer)


def test_arrays_to_fill_are_checked_before_shots_are_drawn():
    circuit = surface_code(3, 0.02, 4)
    shots, (dets, obs) = 40, (a[:40] for a in tw.compile_detector_sampler(circuit, seed=9).sample(80, separate_observables=True))
    num_dets, num_obs = dets.shape[1], obs.shape[1]
    good = lambda bits: np.zeros((shots, bits), bool)
    read_only = good(num_dets)
    read_only.flags.writeable = False
    shared = np.zeros((shots, num_dets + num_obs), bool)
    silent = np.ones(num_dets, bool)
    sampler = tw.compile_detector_sampler(circuit, seed=9)
    for error, match, options in (
            (ValueError, "dets_out must be bool", {"dets_out": good(num_dets + 1)}),
            (ValueError, "dets_out must be bool", {"dets_out": good(num_dets)[1:]}),
            (ValueError, "dets_out must be bool", {"dets_out": good(num_dets)[0]}),
            (ValueError, "dets_out must be bool .* not uint8", {"dets_out": np.zeros((shots, num_dets), np.uint8)}),
            (ValueError, "dets_out must be uint8", {"dets_out": good(num_dets), "bit_packed": True}),
            (ValueError, "dets_out must be bool", {"dets_out": good(num_dets), "append_observables": True}),
            (ValueError, "dets_out must be bool", {"dets_out": good(num_dets), "prepend_observables": True}),
            (ValueError, "obs_out must be bool", {"dets_out": good(num_dets), "obs_out": good(num_obs + 1)}),
            (ValueError, "dets_out is read-only", {"dets_out": read_only}),
            (ValueError, "obs_out is read-only", {"obs_out": np.broadcast_to(np.zeros((1, num_obs), bool), (shots, num_obs))}),
            (ValueError, "share memory", {"dets_out": shared[:, :num_dets], "obs_out": shared[:, num_dets - 1:][:, :num_obs]}),
            (TypeError, "dets_out must be a NumPy array, not list", {"dets_out": good(num_dets).tolist()}),
            (ValueError, "dets_out must be bool", {"dets_out": good(num_dets)[1:], "postselection_mask": silent}),
            (ValueError, "postselection_mask is bool", {"dets_out": good(num_dets), "postselection_mask": silent[1:]})):
        with pytest.raises(error, match=match):
            sampler.sample(shots, **options)
    # the sequence is where it was; arrays may have any memory order
    into = np.asfortranarray(good(num_dets)), shared[::-1, num_dets:]
    sampler.sample(shots, dets_out=into[0], obs_out=into[1])
    assert np.array_equal(into[0], dets) and np.array_equal(into[1], obs)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("where", [{}, {"append_observables": True}, {"prepend_observables": True},
                                   {"separate_observables": True}])
def test_kept_shots_fill_the_first_rows(packed, where):
    circuit = surface_code(3, 0.02, 4)
    mask = np.zeros(tw.compile_detector_sampler(circuit).num_detectors, bool)
    mask[::5] = True
    wishes = {"bit_packed": packed, "postselection_mask": mask, **where}
    shots = 500
    new = tw.compile_detector_sampler(circuit, seed=9).sample(shots, **wishes)
    dets, obs = new if "separate_observables" in where else (new, None)
    if obs is None:
        obs = tw.compile_detector_sampler(circuit, seed=9).sample(
            shots, bit_packed=packed, postselection_mask=mask, separate_observables=True)[1]
    kept = len(dets)
    assert 0 < kept < shots
    into = [np.full((shots, a.shape[1]), 1, a.dtype) for a in (dets, obs)]
    out = tw.compile_detector_sampler(circuit, seed=9).sample(shots, dets_out=into[0], obs_out=into[1], **wishes)
    for given, filled, wanted in zip(out if isinstance(out, tuple) else (out,), into, (dets, obs)):
        assert given.base is filled and np.array_equal(given, wanted)
    for filled, wanted in zip(into, (dets, obs)):
        assert np.array_equal(filled[:kept], wanted) and (filled[kept:] == 1).all()


def test_files_are_checked_before_shots_are_drawn(tmp_path):
    circuit, path = surface_code(3, 0.02, 4), tmp_path / "shots"
    path.write_bytes(b"mine")
    other = tmp_path / "observables"
    for sampler in (tw.compile_sampler(circuit, seed=4), tw.compile_detector_sampler(circuit, seed=4)):
        first = type(sampler)(circuit, seed=4).sample(10)
        for shots, options, match in ((10, {"format": "b9"}, "unknown format"), (70, {"format": "ptb64"}, "multiples of 64"),
                                      (10, {"format": "counts"}, "no format of shots"),
                                      (70000, {"obs_out_filepath": other, "obs_out_format": "b9"}, "unknown format")):
            if "obs_out_format" in options and isinstance(sampler, tw.CompiledSampler):
                continue
            with pytest.raises(ValueError, match=match):
                sampler.sample_write(shots, filepath=path, **options)
            assert path.read_bytes() == b"mine" and not other.exists()
        assert np.array_equal(sampler.sample(10), first)


@pytest.mark.parametrize("form, expected", [
    ("01", b"1010\n"), ("hits", b"0,2\n"), ("dets", b"shot L0 D0\n"), ("b8", b"\x05"), ("r8", b"\x00\x01\x01"),
])
def test_observables_first_in_files(tmp_path, form, expected):
    path = tmp_path / "shots"
    tw.compile_detector_sampler(CERTAIN).sample_write(2, filepath=path, format=form, prepend_observables=True)
    assert path.read_bytes() == 2 * expected
    with pytest.raises(ValueError, match="one of"):
        tw.compile_detector_sampler(CERTAIN).sample_write(2, filepath=path, prepend_observables=True,
                                                          append_observables=True)


def test_converters_say_where_observables_go():
    converter = tw.compile_m2d_converter(CERTAIN)
    measurements = np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)
    dets, obs = measurements[:, :2], measurements[:, [2, 1]]
    for append, separate in [(a, s) for a in (ABSENT, None, False, True) for s in (ABSENT, None, False, True)]:
        options = {k: v for k, v in (("append_observables", append), ("separate_observables", separate)) if v is not ABSENT}
        if not any(v is not None for v in options.values()):
            with pytest.raises(ValueError, match="append_observables or separate_observables"):
                converter.convert(measurements=measurements, **options)
            continue
        out = converter.convert(measurements=measurements, **options)
        if separate is True:
            assert np.array_equal(out[1], obs)
            out = out[0]
        assert np.array_equal(out, np.concatenate([dets, obs], axis=1) if append is True else dets), options


def test_packed_rows_are_those_of_the_command_line(tmp_path):
    """Rows of every length, whole arrays and pieces of blocks: the bytes that `detect` and `sample` write."""
    for distance, rounds in ((3, 1), (3, 4), (5, 3), (7, 2)):
        circuit = stim.Circuit.generated("surface_code:rotated_memory_x", distance=distance, rounds=rounds,
                                         after_clifford_depolarization=0.01)
        path = tmp_path / "code.stim"
        circuit.to_file(path)
        for word, make in (("detect", tw.compile_detector_sampler), ("sample", tw.compile_sampler)):
            out = tmp_path / "shots.b8"
            subprocess.run([os.environ["TILEWAVE"], word, "--in", path, "--shots", "5000", "--seed", "7", "--out_format", "b8",
                            "--out", out], check=True)
            sampler = make(circuit, seed=7)
            rows = [sampler.sample(shots, bit_packed=True) for shots in (1, 7, 992, 3000, 1000)]
            assert np.concatenate(rows).tobytes() == out.read_bytes()


def test_large_arrays_hold_what_small_ones_do():
    """Arrays past 4 MiB are written past the caches, in whole lines, which the parts of threads share at their ends."""
    circuit = stim.Circuit.generated("surface_code:rotated_memory_x", distance=5, rounds=5,
                                     after_clifford_depolarization=0.02, before_measure_flip_probability=0.01)
    for packed, shots in ((True, 400_001), (False, 60_001)):
        large = tw.compile_detector_sampler(circuit, seed=3, threads=2).sample(shots, bit_packed=packed)
        assert large.nbytes > 4 << 20
        small = tw.compile_detector_sampler(circuit, seed=3)
        pieces = [small.sample(min(20_011, shots - first), bit_packed=packed) for first in range(0, shots, 20_011)]
        assert max(piece.nbytes for piece in pieces) < 4 << 20
        np.testing.assert_array_equal(large, np.concatenate(pieces))
        one = tw.compile_detector_sampler(circuit, seed=3).sample(shots, bit_packed=packed, append_observables=True)
        bits = circuit.num_detectors
        np.testing.assert_array_equal(one[:, :bits // 8] if packed else one[:, :bits], large[:, :bits // 8] if packed
                                      else large)


@pytest.mark.parametrize("text", [
    str(surface_code()), "R 0 1\nR_X(0.3) 0\nCX 0 1\nDEPOLARIZE2(0.2) 0 1\nM 0 1\nDETECTOR rec[-1]\n"
    "DETECTOR rec[-1] rec[-2]\nOBSERVABLE_INCLUDE(1) rec[-2]\n"])
def test_kept_shots_are_those_of_silent_detectors(text):
    shots = 20_000
    dets, obs = tw.compile_detector_sampler(text, seed=3).sample(shots, separate_observables=True)
    sampler = tw.compile_detector_sampler(text, seed=3)
    first = sampler.count_kept(shots // 2)
    second = sampler.count_kept(shots // 2, postselect=[1])  # the shots that follow
    for found, part, silent in ((first, slice(0, shots // 2), ~dets.any(1)), (second, slice(shots // 2, None), ~dets[:, 1])):
        kept = silent[part]
        assert (found.attempted, found.kept) == (shots // 2, kept.sum())
        assert np.array_equal(found.errors, obs[part][kept].sum(0))
    with pytest.raises(ValueError, match="no detector"):
        sampler.count_kept(10, postselect=[dets.shape[1]])


# What a sampler of the CPU says to arrays on a device; the arrays themselves are tested by tests/gpu/device_shots_test.py.
def test_shots_stay_on_a_gpu_where_one_makes_them():
    circuit = "X_ERROR(0.5) 0\nM 0\nDETECTOR rec[-1]\nOBSERVABLE_INCLUDE(0) rec[-1]\n"
    detectors, mask = tw.compile_detector_sampler(circuit, seed=1), np.ones(1, bool)
    calls = [lambda: detectors.sample(9, on_device=True), lambda: detectors.sample_detector_major(9, on_device=True),
             lambda: detectors.sample_lists(9, on_device=True, postselection_mask=mask),
             lambda: tw.compile_sampler(circuit).sample(9, on_device=True),
             lambda: tw.compile_dem_sampler("error(0.5) D0\n").sample(9, on_device=True)]
    for call in calls:
        with pytest.raises(ValueError, match="lie on the host: take one GPU as the device"):
            call()
    assert np.array_equal(detectors.sample(99), tw.compile_detector_sampler(circuit, seed=1).sample(99))  # none was lost
    with pytest.raises(ValueError, match="leave out prepend_observables"):
        detectors.sample(9, on_device=True, prepend_observables=True)
    with pytest.raises(ValueError, match="sweep_bits are added on the host"):
        tw.compile_sampler("CX sweep[0] 0\nM 0\n").sample(1, on_device=True, sweep_bits=np.ones((1, 1), bool))
    with pytest.raises(ValueError, match="replayed on the host"):
        tw.compile_dem_sampler("error(0.5) D0\n").sample(1, on_device=True, recorded_errors_to_replay=np.ones((1, 1), bool))
    for call in (detectors.sample_lists, detectors.sample_detector_major):
        with pytest.raises(ValueError, match=r"for on_device=True here"):
            call(9, postselection_mask=mask)


def test_device_arrays_tell_what_they_are():
    host = np.arange(6, dtype=np.uint8).reshape(2, 3)  # stands for memory of a device
    array = tw.DeviceArray(host, host.ctypes.data, (2, 3), "u1")
    assert (array.shape, array.ndim, array.size, array.nbytes, len(array), array.dtype) == ((2, 3), 2, 6, 6, 2, np.uint8)
    assert np.shares_memory(np.from_dlpack(array), host)
    interface = array.__cuda_array_interface__
    assert interface["typestr"] == "|u1" and interface["data"] == (host.ctypes.data, False) and interface["shape"] == (2, 3)
    with pytest.raises(TypeError, match=r"tilewave.to_host\(array\)"):
        np.asarray(array)
    assert repr(array) == "<tilewave.DeviceArray: uint8 [2, 3] on cuda:0>"
