"""Detector error models: shots of their errors.

A model is a text in Stim's .dem language, the path of a file, or a stim.DetectorErrorModel.
"""
from __future__ import annotations

import contextlib
from typing import Any, Optional

import numpy as np

from . import _core
from ._types import Bits, Device, Path, Seed, StimModel
from .samplers import Faults, ShotFormat, _check_format, _DetectionSampler, _fault_words, _model_text_of, _on_device, _shots
from .shot_rows import _discarding, _pack


def _on_host(sampler, shots, parts, bit_packed, discard):
    return sampler.sample(shots, parts, bit_packed, None, discard)


class CompiledDemSampler(_DetectionSampler):
    """Samples the errors of a detector error model, and with them its detectors and observables."""
    _make = staticmethod(_core._Sampler._of_model)
    _with_errors = None  # the sampler whose rows have the errors too, once they are asked for

    def __init__(self, model: StimModel, *, seed: Seed = None, threads: Optional[int] = None, device: Device = "cpu",
                 faults: Optional[Faults] = None) -> None:
        self._start(_model_text_of(model), seed=seed, threads=threads, device=device, with_errors=False,
                    faults=_fault_words(faults))

    @property
    def num_errors(self) -> int:
        """Of the unrolled model, in the order of its text."""
        return int(self._sampler.num_errors)

    def sample(self, shots: int, *, bit_packed: bool = False, return_errors: bool = False,
               recorded_errors_to_replay: Optional[Bits] = None, postselection_mask: Optional[Bits] = None,
               postselected_observables_mask: Optional[Bits] = None, on_device: bool = False) -> tuple[Any, Any, Any]:
        """Three arrays (detectors, observables, errors): bool [shots, num_detectors], [shots, num_observables] and [shots,
        num_errors]; with ``bit_packed`` uint8 with eight bits a byte, the lowest first. The third is None without
        ``return_errors``; with it, shots of the same seed are other ones. ``recorded_errors_to_replay``: the errors of each
        shot, bool [shots, num_errors] or packed, in the place of drawn ones. The masks are those of
        `CompiledDetectorSampler.sample`: shots that they discard are left out. With ``on_device`` each array is a
        `DeviceArray` in the memory of the sampler's GPU. Raises ValueError for arrays of another shape or type, and for
        ``on_device`` without one GPU or with recorded errors."""
        shots, num_dets, num_obs = _shots(shots), self.num_detectors, self.num_observables
        parts = [(0, num_dets), (num_dets, num_obs)]
        masks = postselection_mask, postselected_observables_mask
        if recorded_errors_to_replay is not None:
            if on_device:
                raise ValueError("recorded errors are replayed on the host: leave on_device out")
            return self._replay(shots, recorded_errors_to_replay, parts, bit_packed, return_errors, masks)
        sample = _on_device if on_device else _on_host
        if not return_errors:
            return (*sample(self._sampler, shots, parts, bit_packed, _discarding(num_dets, num_obs, *masks)), None)
        if self._with_errors is None:
            self._with_errors = self._make(**{**self._arguments, "seed": self.seed, "with_errors": True})
        parts.append((num_dets + num_obs, self.num_errors))
        self._with_errors.go_to(self._sampler.next_shot)
        out = sample(self._with_errors, shots, parts, bit_packed,
                     _discarding(num_dets, num_obs, *masks, further_bits=self.num_errors))
        self._sampler.go_to(self._with_errors.next_shot)
        return tuple(out)

    def _replay(self, shots, errors, parts, bit_packed, return_errors, masks):
        packed = _pack(errors, self.num_errors, "recorded_errors_to_replay")
        if len(packed) != shots:
            raise ValueError(f"recorded_errors_to_replay has {len(packed)} rows for {shots} shots: give a row a shot")
        discard = _discarding(*(bits for _, bits in parts), *masks)
        if discard is not None:
            rows = self._sampler.replay(packed, [(0, sum(bits for _, bits in parts))], True)[0]
            packed = np.ascontiguousarray(packed[~np.any(rows & discard, axis=1)])
        dets, obs = self._sampler.replay(packed, parts, bit_packed)
        if not return_errors:
            return dets, obs, None
        if bit_packed:
            return dets, obs, packed
        return dets, obs, np.unpackbits(packed, axis=1, count=self.num_errors, bitorder="little").view(np.bool_)

    def sample_bit_packed(self, shots: int, **options: Any) -> tuple[Bits, Bits, Optional[Bits]]:
        return self.sample(shots, bit_packed=True, **options)

    def sample_write(self, shots: int, *, det_out_file: Optional[Path], det_out_format: ShotFormat = "01",
                     obs_out_file: Optional[Path] = None, obs_out_format: ShotFormat = "01",
                     err_out_file: Optional[Path] = None, err_out_format: ShotFormat = "01") -> None:
        """Writes the detectors, the observables and the errors of shots to the files that are named, in Stim's formats: 01,
        b8, r8, ptb64, hits or dets."""
        shots = _shots(shots)
        outputs = [(det_out_file, det_out_format, 0, (0, self.num_detectors, 0)),
                   (obs_out_file, obs_out_format, 1, (0, 0, self.num_observables)),
                   (err_out_file, err_out_format, 2, (self.num_errors, 0, 0))]
        outputs = [output for output in outputs if output[0] is not None]
        for _, form, _, layout in outputs:
            _check_format(form, shots, layout)
        with contextlib.ExitStack() as stack:
            outputs = [(stack.enter_context(open(path, "wb")), *rest) for path, *rest in outputs]
            chunk = max(64, min(1 << 16, (1 << 29) // max(1, self.num_detectors + self.num_errors))) // 64 * 64
            while shots > 0:
                now = min(chunk, shots)
                rows = self.sample(now, bit_packed=True, return_errors=err_out_file is not None)
                for file, form, which, layout in outputs:
                    file.write(_core._format_shots(rows[which], *layout, form))
                shots -= now

    def __repr__(self) -> str:
        return (f"<tilewave.CompiledDemSampler: {_core._counted(self.num_errors, 'error')}, "
                f"{_core._counted(self.num_detectors, 'detector')}, {_core._counted(self.num_observables, 'observable')}>")


def compile_dem_sampler(model: StimModel, *, seed: Seed = None, threads: Optional[int] = None,
                        device: Device = "cpu", faults: Optional[Faults] = None) -> CompiledDemSampler:
    """A sampler of a detector error model: a text, a path or a stim.DetectorErrorModel; see compile_sampler. ``faults``: shots
    in which so many errors of the unrolled model happen."""
    return CompiledDemSampler(model, seed=seed, threads=threads, device=device, faults=faults)


def shortest_graphlike_error(model: StimModel, *, ignore_ungraphlike_errors: bool = True) -> str:
    """The fewest errors that flip an observable and no detector, among those that flip at most two detectors: as a model
    of errors that happen, the text of a `.dem`. Their number is the distance that a matching decoder sees. By default the
    model's errors of more than two detectors, and decomposed ones, are left out, and the number bounds the distance for
    every decoder; with ``ignore_ungraphlike_errors=False`` the parts of decomposed errors count one by one. ``model``: a
    text, a path or a stim.DetectorErrorModel; that of a circuit is ``detector_error_model(circuit)``. Raises ValueError where
    there are no such errors, and for errors or parts of more than two detectors that are not left out."""
    return _core._shortest_graphlike_error(*_model_text_of(model), ignore_ungraphlike_errors)
