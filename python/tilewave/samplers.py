"""Samplers of circuits in Stim's language, called as Stim's own.

A circuit is a text, the path of a file, or a stim.Circuit. The shots of a sampler are one endless sequence that only
depends on the seed: ``sample(a)`` and then ``sample(b)`` are the shots of ``sample(a + b)``, on any machine and with any
number of threads. Arguments are checked before the first shot is drawn: a call that is refused leaves the sequence where
it was.
"""
from __future__ import annotations

import contextlib
from typing import Any, Literal, NamedTuple, Optional, Sequence, Union

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._types import Bits, Device, Path, Seed, StimCircuit
from .arrays import DeviceArray
from .circuits import read_text
from .runs import _count, _whole, seed_of, threads_of
from .shot_rows import _check_out, _discarding, _host_keeps_all, _into, _pack, _swept, _unpack


ShotEngine = Literal["auto", "frame", "sparse"]
ShotFormat = Literal["01", "b8", "r8", "ptb64", "hits", "dets"]


def _text_of(circuit):
    if isinstance(circuit, str) or hasattr(circuit, "__fspath__"):
        return read_text(circuit)
    # stim.Circuit, and those of packages that extend it: their str() is the text
    if all(hasattr(circuit, name) for name in ("num_measurements", "num_detectors", "append")):
        return str(circuit) + "\n", f"<{type(circuit).__module__.split('.')[0]}.{type(circuit).__name__}>"
    raise TypeError(f"expected a text in Stim's language, a path or a stim.Circuit, not {type(circuit).__name__}")


def _model_text_of(model):
    """The text and name of an error model."""
    if isinstance(model, str) or hasattr(model, "__fspath__"):
        return read_text(model)
    if all(hasattr(model, name) for name in ("num_errors", "num_detectors", "append")):
        return str(model) + "\n", f"<{type(model).__module__.split('.')[0]}.{type(model).__name__}>"
    raise TypeError("expected the text of an error model (.dem), a path or a stim.DetectorErrorModel, not "
                    f"{type(model).__name__}")


def _shots(shots):
    return _count(shots, 2**52 - 1)


def _check_format(form, shots, layout, observables_first=False):
    """Raises what writing so many shots would raise; `layout` is (measurements, detectors, observables)."""
    rest = shots % 64 if form == "ptb64" else 0  # behind its groups of 64
    _core._format_shots(np.zeros((rest, (sum(layout) + 7) // 8), np.uint8), *layout, form, observables_first)


def _write(path, sampler, shots, layout, first_bits, formats, observables_first=False):
    """Samples in chunks into files; `layout` is (measurements, detectors, observables) for each file."""
    shots = _shots(shots)
    for counts, form in zip(layout, formats):
        _check_format(form, shots, counts, observables_first)
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(open(name, "wb")) for name in path]
        parts = [(first, sum(counts)) for first, counts in zip(first_bits, layout)]
        row = max(1, sum((bits + 7) // 8 for _, bits in parts))
        chunk = max(64, min(1 << 16, (1 << 26) // row)) // 64 * 64
        while shots > 0:
            now = min(chunk, shots)
            for file, rows, counts, form in zip(files, sampler.sample(now, parts, True), layout, formats):
                file.write(_core._format_shots(rows, *counts, form, observables_first))
            shots -= now


class KeptShots(NamedTuple):
    """What post-selection left: shots attempted, shots kept, and how many of these have each observable set."""

    attempted: int
    kept: int
    errors: NDArray[np.uint64]


#: A number of faults: exactly so many, from and up to (None: no limit), or words: "3", "3-8", "3+".
Faults = Union[int, str, tuple[int, Optional[int]]]


def _fault_number(number):
    number = _whole("faults", number)
    if not 0 <= number < 2**63:
        raise ValueError(f"a number of faults is at least 0 and below 2^63, not {number}")
    return number


def _fault_words(faults):
    if faults is None or isinstance(faults, str):
        return faults
    if isinstance(faults, tuple) and len(faults) == 2:
        first, last = faults
        return f"{_fault_number(first)}+" if last is None else f"{_fault_number(first)}-{_fault_number(last)}"
    return str(_fault_number(faults))


class _ShotSampler:
    """A sampler of the engine and the arguments that it was made of: another process makes it again, where it goes on with
    the same shots."""
    _make = _core._Sampler

    def _start(self, text_and_name, *, seed, threads, device, **others):
        text, name = text_and_name
        self._arguments = dict(text=text, name=name, seed=seed_of(seed), threads=_shot_threads(threads, device), device=device,
                               **others)
        self._sampler = self._make(**self._arguments)

    def __getstate__(self) -> Any:
        return {**self._arguments, "seed": self.seed}, self._sampler.next_shot

    def __setstate__(self, state: Any) -> None:
        self._arguments, next_shot = state
        self._sampler = self._make(**self._arguments)
        self._sampler.go_to(next_shot)

    @property
    def seed(self) -> int:
        """Of the sequence of shots."""
        return int(self._sampler.seed)

    @property
    def weight(self) -> float:
        """The probability that a shot has as many faults as those of this sampler; 1 where any number will do."""
        return float(self._sampler.weight)

    def explain(self) -> str:
        """The chosen engine and its program."""
        return self._sampler.explain()


def _on_device(sampler, shots, parts, bit_packed, discard=None):
    """The parts of the next shots in the memory of the GPU that makes them."""
    made = sampler.sample_on_device(shots, parts, "packed" if bit_packed else "bytes", discard)
    return [DeviceArray(*array, "u1" if bit_packed else "?") for array, in made]


class CompiledSampler(_ShotSampler):
    """Samples the measurements of a circuit."""

    def __init__(self, circuit: StimCircuit, *, skip_reference_sample: bool = False, seed: Seed = None,
                 reference_sample: None = None, threads: Optional[int] = None, device: Device = "cpu",
                 engine: ShotEngine = "auto", faults: Optional[Faults] = None) -> None:
        if reference_sample is not None:
            raise ValueError("reference_sample is not supported: leave it out, it is computed")
        self._start(_text_of(circuit), seed=seed, threads=threads, device=device, detectors=False,
                    reference=not skip_reference_sample, engine=engine, faults=_fault_words(faults))

    @property
    def num_measurements(self) -> int:
        return int(self._sampler.num_measurements)

    @property
    def num_qubits(self) -> int:
        return int(self._sampler.num_qubits)

    @property
    def num_sweep_bits(self) -> int:
        return int(self._sampler.num_sweep_bits)

    def sample(self, shots: int, *, bit_packed: bool = False, sweep_bits: Optional[Bits] = None,
               on_device: bool = False) -> Any:
        """bool [shots, num_measurements]; with ``bit_packed`` uint8 [shots, ceil(num_measurements / 8)], the lowest bit
        first. ``sweep_bits``: bool [shots, num_sweep_bits] or the same packed, or one row for all shots; zeros when left
        out. With ``on_device`` the array is a `DeviceArray` in the memory of the sampler's GPU. Raises ValueError for an
        array of another shape, for ``on_device`` without one GPU, and for ``on_device`` with ``sweep_bits``."""
        if on_device:
            if sweep_bits is not None:
                raise ValueError("sweep_bits are added on the host: leave out on_device or sweep_bits")
            return _on_device(self._sampler, _shots(shots), [(0, self.num_measurements)], bit_packed)[0]
        return self._sampler.sample(_shots(shots), [(0, self.num_measurements)], bit_packed,
                                    _swept(sweep_bits, self.num_sweep_bits))[0]

    def sample_bit_packed(self, shots: int) -> NDArray[np.uint8]:
        return self.sample(shots, bit_packed=True)

    def sample_write(self, shots: int, *, filepath: Path, format: ShotFormat = "01") -> None:
        """Writes shots to a file in one of Stim's formats: 01, b8, r8, ptb64, hits or dets."""
        _write([filepath], self._sampler, shots, [(self.num_measurements, 0, 0)], [0], [format])

    def __repr__(self) -> str:
        return (f"<tilewave.CompiledSampler: {_core._counted(self.num_measurements, 'measurement')} on "
                f"{_core._counted(self.num_qubits, 'qubit')}>")


class ShotLists(NamedTuple):
    """The ones of shots as lists: those of shot s are ``hits[offsets[s]:offsets[s + 1]]``, ascending; the rows and columns of
    a sparse matrix in CSR form."""
    offsets: Any  # int64 [shots + 1], of NumPy or a DeviceArray
    hits: Any  # uint32


class _DetectionSampler(_ShotSampler):
    """A sampler whose bits are the detectors, then the observables."""

    @property
    def num_detectors(self) -> int:
        return int(self._sampler.num_detectors)

    @property
    def num_observables(self) -> int:
        return int(self._sampler.num_observables)

    def _discarding(self, detectors, observables=None):
        return _discarding(self.num_detectors, self.num_observables, detectors, observables)

    def sample_detector_major(self, shots: int, *, on_device: bool = False, postselection_mask: Optional[Bits] = None
                              ) -> tuple[Any, Any]:
        """The next shots as two arrays, a row a detector and a row an observable: uint8 [num_detectors, ceil(shots / 8)] and
        [num_observables, ceil(shots / 8)], eight shots a byte, the first in the lowest bit, zeros behind the last. With
        ``on_device`` each is a `DeviceArray` in the memory of the sampler's GPU, and ``postselection_mask`` leaves out shots as
        it does for `sample`; ValueError for ``on_device`` without one GPU, and for the mask without ``on_device``."""
        if on_device:
            parts = [(0, self.num_detectors), (self.num_detectors, self.num_observables)]
            made = self._sampler.sample_on_device(_shots(shots), parts, "bit_rows", self._discarding(postselection_mask))
            detectors, observables = (DeviceArray(*array, "u1") for array, in made)
            return detectors, observables
        _host_keeps_all(postselection_mask)
        rows = self._sampler.sample_bit_rows(_shots(shots))
        return rows[:self.num_detectors], rows[self.num_detectors:]

    def sample_lists(self, shots: int, *, on_device: bool = False, postselection_mask: Optional[Bits] = None) -> ShotLists:
        """The next shots as lists of ones: detector d has the number d, observable k the number num_detectors + k. A shot
        costs its ones, not its detectors. ``on_device`` and ``postselection_mask`` as for `sample_detector_major`."""
        if on_device:
            bits = self.num_detectors + self.num_observables
            offsets, hits = self._sampler.sample_on_device(_shots(shots), [(0, bits)], "lists",
                                                           self._discarding(postselection_mask))[0]
            return ShotLists(DeviceArray(*offsets, "i8"), DeviceArray(*hits, "u4"))
        _host_keeps_all(postselection_mask)
        return ShotLists(*self._sampler.sample_lists(_shots(shots), self.num_detectors + self.num_observables))


class CompiledDetectorSampler(_DetectionSampler):
    """Samples the detection events and observable flips of a circuit."""

    def __init__(self, circuit: StimCircuit, *, seed: Seed = None, threads: Optional[int] = None, device: Device = "cpu",
                 engine: ShotEngine = "auto", faults: Optional[Faults] = None) -> None:
        self._start(_text_of(circuit), seed=seed, threads=threads, device=device, detectors=True, reference=True, engine=engine,
                    faults=_fault_words(faults))

    def sample(self, shots: int, *, prepend_observables: bool = False, append_observables: bool = False,
               separate_observables: bool = False, bit_packed: bool = False, dets_out: Optional[Bits] = None,
               obs_out: Optional[Bits] = None, postselection_mask: Optional[Bits] = None,
               postselected_observables_mask: Optional[Bits] = None, on_device: bool = False) -> Any:
        """bool [shots, num_detectors]; with ``bit_packed`` uint8 [shots, ceil(num_detectors / 8)], the lowest bit first.
        ``separate_observables`` gives a pair with the observables' array second; ``append_observables`` and
        ``prepend_observables`` put them behind or before the detectors, or both. ``dets_out`` and ``obs_out``, NumPy arrays of
        these shapes and types in any memory order, are filled and take the place of new ones; ``obs_out`` alone does not
        change what is returned.

        ``postselection_mask`` (bool [num_detectors], or packed as sinter's) leaves out every shot in which one of these
        detectors fires, ``postselected_observables_mask`` those in which one of these observables flips: the arrays have
        the kept shots only, in order, and `shots` minus their number were discarded. ``dets_out`` and ``obs_out`` have room for
        all `shots` then: the kept ones are written into their first rows, of which a view is returned, and the rows behind stay
        what they were. With ``on_device`` each array is a `DeviceArray` in the memory of the sampler's GPU, where the shots are
        made and discarded: nothing is copied to the host.

        Raises ValueError for observables both separate and within, for arrays of another shape or type, that cannot be written
        or that share memory, and for ``on_device`` without one GPU, or with arrays to fill or observables that come first,
        TypeError for what is no NumPy array; no shot is drawn then."""
        if separate_observables and (prepend_observables or append_observables):
            raise ValueError("separate_observables cannot be combined with append_observables or prepend_observables")
        num_dets, num_obs, shots = self.num_detectors, self.num_observables, _shots(shots)
        wishes = None, _discarding(num_dets, num_obs, postselection_mask, postselected_observables_mask)
        if on_device:
            if prepend_observables or dets_out is not None or obs_out is not None:
                raise ValueError("on a device the arrays are new ones, with the observables behind or separate: leave out "
                                 "prepend_observables, dets_out and obs_out, or on_device")
            parts = [(0, num_dets), (num_dets, num_obs)] if separate_observables else [
                (0, num_dets + num_obs if append_observables else num_dets)]
            made = _on_device(self._sampler, shots, parts, bit_packed, wishes[1])
            return tuple(made) if separate_observables else made[0]
        bits = num_dets + num_obs * (bool(prepend_observables) + bool(append_observables))
        _check_out(dets_out, shots, bits, bit_packed, "dets_out")
        _check_out(obs_out, shots, num_obs, bit_packed, "obs_out")
        if dets_out is not None and obs_out is not None and np.shares_memory(dets_out, obs_out):
            raise ValueError("dets_out and obs_out share memory: each needs its own")
        if separate_observables or prepend_observables or obs_out is not None:
            packed = bit_packed and not prepend_observables and not append_observables
            dets, obs = self._sampler.sample(shots, [(0, num_dets), (num_dets, num_obs)], packed, *wishes)
            if prepend_observables or append_observables:
                parts = [obs] * prepend_observables + [dets] + [obs] * append_observables
                dets = np.concatenate(parts, axis=1)
                if bit_packed:
                    dets = np.packbits(dets, axis=1, bitorder="little")
                    obs = np.packbits(obs, axis=1, bitorder="little")
            dets, obs = _into(dets_out, dets), _into(obs_out, obs)
            return (dets, obs) if separate_observables else dets
        return _into(dets_out, self._sampler.sample(shots, [(0, bits)], bit_packed, *wishes)[0])

    def sample_bit_packed(self, shots: int, **options: Any) -> Any:
        return self.sample(shots, bit_packed=True, **options)

    def count_kept(self, shots: int, postselect: Union[Literal["all"], Sequence[int]] = "all") -> KeptShots:
        """Makes the next ``shots`` shots and counts those in which the detectors of ``postselect`` are silent; no shot is
        stored, and one is given up as soon as it fails. Raises ValueError for a detector that the circuit has not."""
        words = postselect if isinstance(postselect, str) else ",".join(str(int(d)) for d in postselect)
        attempted, kept, errors = self._sampler.count_kept(_shots(shots), words)
        return KeptShots(attempted, kept, np.array(errors, dtype=np.uint64))

    def sample_write(self, shots: int, *, filepath: Path, format: ShotFormat = "01",
                     obs_out_filepath: Optional[Path] = None, obs_out_format: ShotFormat = "01",
                     prepend_observables: bool = False, append_observables: bool = False) -> None:
        """Writes shots to a file in one of Stim's formats: 01, b8, r8, ptb64, hits or dets. The observables come behind
        or before the detectors, or in a file of their own where ``obs_out_filepath`` names one. Raises ValueError for more
        than one of these."""
        if prepend_observables + append_observables + (obs_out_filepath is not None) > 1:
            raise ValueError("use one of append_observables, prepend_observables and obs_out_filepath")
        num_dets, num_obs = self.num_detectors, self.num_observables
        if prepend_observables:
            _write([filepath], self._sampler, shots, [(0, num_dets, num_obs)], [0], [format], observables_first=True)
            return
        paths, layout, first = [filepath], [(0, num_dets, num_obs if append_observables else 0)], [0]
        if obs_out_filepath is not None:
            paths, layout, first = [filepath, obs_out_filepath], [*layout, (0, 0, num_obs)], [0, num_dets]
        _write(paths, self._sampler, shots, layout, first, [format, obs_out_format])

    def __repr__(self) -> str:
        return (f"<tilewave.CompiledDetectorSampler: {_core._counted(self.num_detectors, 'detector')}, "
                f"{_core._counted(self.num_observables, 'observable')}>")


class CompiledMeasurementsToDetectionEventsConverter:
    """Turns measured shots into detection events."""

    def __init__(self, circuit: StimCircuit, *, skip_reference_sample: bool = False) -> None:
        self._arguments = (*_text_of(circuit), not skip_reference_sample)
        self._converter = _core._Converter(*self._arguments)

    def __reduce__(self) -> Any:
        return _restored_converter, (type(self), self._arguments)

    @property
    def num_measurements(self) -> int:
        return int(self._converter.num_measurements)

    @property
    def num_sweep_bits(self) -> int:
        return int(self._converter.num_sweep_bits)

    @property
    def num_detectors(self) -> int:
        return int(self._converter.num_detectors)

    @property
    def num_observables(self) -> int:
        return int(self._converter.num_observables)

    def convert(self, *, measurements: Bits, sweep_bits: Optional[Bits] = None,
                separate_observables: Optional[bool] = None, append_observables: Optional[bool] = None,
                bit_packed: bool = False) -> Any:
        """``measurements``: bool [shots, num_measurements] or the same packed as uint8 [shots, bytes]; the result is
        packed with ``bit_packed``. The observables come behind the detectors with ``append_observables``, as the second of
        a pair with ``separate_observables``, and not at all where one of them is False and the other not True. Raises
        ValueError where neither is given."""
        if separate_observables is None and append_observables is None:
            raise ValueError("say where the observables go: append_observables or separate_observables, True or False")
        packed = self._converter.convert(_pack(measurements, self.num_measurements, "measurements"),
                                         None if sweep_bits is None else _pack(sweep_bits, self.num_sweep_bits, "sweep_bits"))
        num_dets, num_obs = self.num_detectors, self.num_observables
        both = _unpack(packed, num_dets + num_obs)
        parts = [both if append_observables else both[:, :num_dets]]
        if separate_observables:
            parts.append(both[:, num_dets:])
        if bit_packed:
            parts = [np.packbits(part, axis=1, bitorder="little") for part in parts]
        return tuple(parts) if separate_observables else parts[0]


def _shot_threads(threads, device):
    if threads is None:
        return 1 if isinstance(device, str) and device.lower() in ("cpu", "auto") else 0
    return threads_of(threads)


def _restored_converter(kind, arguments):
    converter = kind.__new__(kind)
    converter._arguments, converter._converter = arguments, _core._Converter(*arguments)
    return converter


def compile_sampler(circuit: StimCircuit, *, skip_reference_sample: bool = False, seed: Seed = None,
                    reference_sample: None = None, threads: Optional[int] = None, device: Device = "cpu",
                    engine: ShotEngine = "auto", faults: Optional[Faults] = None) -> CompiledSampler:
    """A sampler of the circuit's measurements. ``threads``: of the CPU, 0 for all; by default one, but all where a GPU
    makes the shots; ``device``: "cpu", "cuda", "cuda:<index>" or "cuda:0-3" for several; ``engine``: "auto", "frame" or
    "sparse". The shots do not depend on them.

    ``faults``: shots in which so many places of noise fire, drawn given that they do: 3, (3, 8), "3-8", or "3+" for three or
    more; `weight` of the sampler is how probable that is. A place is a channel on one of its targets, or a chain of E and
    ELSE_CORRELATED_ERROR. Raises ValueError for a number that no shot has, for leakage and for a GPU."""
    return CompiledSampler(circuit, skip_reference_sample=skip_reference_sample, seed=seed,
                           reference_sample=reference_sample, threads=threads, device=device, engine=engine, faults=faults)


def compile_detector_sampler(circuit: StimCircuit, *, seed: Seed = None, threads: Optional[int] = None, device: Device = "cpu",
                             engine: ShotEngine = "auto", faults: Optional[Faults] = None) -> CompiledDetectorSampler:
    """A sampler of the circuit's detectors and observables; see compile_sampler."""
    return CompiledDetectorSampler(circuit, seed=seed, threads=threads, device=device, engine=engine, faults=faults)


def compile_m2d_converter(circuit: StimCircuit, *,
                          skip_reference_sample: bool = False) -> CompiledMeasurementsToDetectionEventsConverter:
    """A converter of measurements into detection events."""
    return CompiledMeasurementsToDetectionEventsConverter(circuit, skip_reference_sample=skip_reference_sample)


def detector_error_model(circuit: StimCircuit, *, decompose_errors: bool = False, flatten_loops: bool = False,
                         allow_gauge_detectors: bool = False, approximate_disjoint_errors: Union[bool, float] = False,
                         ignore_decomposition_failures: bool = False,
                         block_decomposition_from_introducing_remnant_edges: bool = False) -> str:
    """The detector error model as text in Stim's .dem language. Loops stay loops, unless ``flatten_loops`` writes out
    every turn."""
    approximate = 1.0 if approximate_disjoint_errors is True else float(approximate_disjoint_errors)
    return _core._error_model(*_text_of(circuit), decompose_errors, flatten_loops, allow_gauge_detectors, approximate,
                              ignore_decomposition_failures, block_decomposition_from_introducing_remnant_edges)


#: Tools whose dialects of Stim's language `convert_circuit` writes.
Dialect = Literal["tilewave", "stim", "clifft", "symft", "tsim", "deltakit", "custabilizer"]


def convert_circuit(circuit: StimCircuit, to: Dialect) -> str:
    """A circuit in Stim's language as text in another tool's dialect of it. Instructions that the tool lacks are written
    exactly with those that it has: records keep their order and their joint distribution. Some rewritings use a qubit of their own,
    behind those of the circuit. Raises ValueError with line, instruction and reason for what the dialect cannot say."""
    return _core._convert_circuit(*_text_of(circuit), to)
