"""A sampler for sinter: shots by Tilewave, decoded by any of sinter's decoders.

    import sinter
    from tilewave.sinter import TilewaveSampler

    sinter.collect(num_workers=4, tasks=tasks, decoders=["tilewave"],
                   custom_decoders={"tilewave": TilewaveSampler(decoder="pymatching")}, max_shots=10**6)
"""
from __future__ import annotations

import collections
import time
from typing import Union

import numpy as np
import sinter

from ._types import Device, Seed
from .samplers import compile_detector_sampler

_SHOTS_AT_ONCE = 1 << 16


class TilewaveSampler(sinter.Sampler):
    """Samples each task's circuit with Tilewave and decodes the shots with `decoder`: a name sinter knows, or a
    sinter.Decoder that implements compile_decoder_for_dem. ``threads`` are the sampling threads of each worker."""

    def __init__(self, decoder: Union[str, sinter.Decoder] = "pymatching", *, seed: Seed = None, threads: int = 1,
                 device: Device = "cpu", count_observable_error_combos: bool = False,
                 count_detection_events: bool = False) -> None:
        self.decoder, self.seed, self.threads, self.device = decoder, seed, threads, device
        self.count_observable_error_combos = count_observable_error_combos
        self.count_detection_events = count_detection_events

    def compiled_sampler_for_task(self, task: sinter.Task) -> sinter.CompiledSampler:
        return _CompiledTilewaveSampler(self, task)


def _find_decoder(decoder):
    if not isinstance(decoder, str):
        return decoder
    if decoder not in sinter.BUILT_IN_DECODERS:
        raise ValueError(f"sinter has no decoder '{decoder}': use one of {', '.join(sorted(sinter.BUILT_IN_DECODERS))}, "
                         "or give a sinter.Decoder")
    return sinter.BUILT_IN_DECODERS[decoder]


class _CompiledTilewaveSampler(sinter.CompiledSampler):
    def __init__(self, options, task):
        self._options = options
        self._sampler = compile_detector_sampler(task.circuit, seed=options.seed, threads=options.threads,
                                                 device=options.device)
        self._decoder = _find_decoder(options.decoder).compile_decoder_for_dem(dem=task.detector_error_model)
        self._mask = _mask_of(task.postselection_mask, self._sampler.num_detectors, "postselection_mask")
        self._obs_mask = _mask_of(task.postselected_observables_mask, self._sampler.num_observables,
                                  "postselected_observables_mask")

    def sample(self, suggested_shots: int) -> sinter.AnonTaskStats:
        start = time.monotonic()
        shots = max(1, min(suggested_shots, _SHOTS_AT_ONCE))
        dets, obs = self._sampler.sample(shots, separate_observables=True, bit_packed=True)
        counts = collections.Counter()
        if self._options.count_detection_events:
            counts["detectors_checked"] += shots * self._sampler.num_detectors
            counts["detection_events"] += int(np.unpackbits(dets).sum())
        kept = np.ones(shots, np.bool_)
        if self._mask is not None:
            kept = ~np.any(dets & self._mask, axis=1)
            dets, obs = np.ascontiguousarray(dets[kept]), obs[kept]
        discards = shots - int(kept.sum())
        predictions = self._decoder.decode_shots_bit_packed(bit_packed_detection_event_data=dets)
        if predictions.shape[1] == obs.shape[1] + 1:  # a further byte that is not zero discards the shot
            keep = predictions[:, -1] == 0
            discards += int((~keep).sum())
            obs, predictions = obs[keep], predictions[keep, :-1]
        mistakes = obs ^ predictions
        if self._obs_mask is not None:
            keep = ~np.any(mistakes & self._obs_mask, axis=1)
            discards += int((~keep).sum())
            mistakes = mistakes[keep]
        wrong = np.any(mistakes, axis=1)
        if self._options.count_observable_error_combos:
            for row in mistakes[wrong]:
                bits = np.unpackbits(row, count=self._sampler.num_observables, bitorder="little")
                counts["obs_mistake_mask=" + "".join("_E"[bit] for bit in bits)] += 1
        return sinter.AnonTaskStats(shots=shots, errors=int(wrong.sum()), discards=discards,
                                    seconds=time.monotonic() - start, custom_counts=counts)


def _mask_of(mask, bits, name):
    if mask is None:
        return None
    mask = np.asarray(mask, np.uint8)
    if mask.shape != ((bits + 7) // 8,):
        raise ValueError(f"{name} has {mask.shape} bytes, the circuit's {bits} bits need {(bits + 7) // 8}")
    return mask
