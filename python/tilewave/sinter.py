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
from .shot_rows import _flags

_FIRST_SHOTS, _MOST_SHOTS = 256, 1 << 16  # of a batch
_BATCH_S = 0.25


class TilewaveSampler(sinter.Sampler):
    """Samples each task's circuit with Tilewave and decodes the shots with `decoder`: a name sinter knows, or a
    sinter.Decoder that implements compile_decoder_for_dem. The name "perfectionist" discards every shot with a detection
    event. A task's `postselection_mask` and `postselected_observables_mask` are heeded; discarded shots are not decoded.
    ``threads`` are the sampling threads of each worker. With a ``seed`` every worker draws the same shots: give one where
    a single worker runs only. Raises ValueError for a decoder that is not known, or that decodes files only; its samplers do for
    predictions that are not uint8 [shots, bytes of observables], or one byte more."""

    def __init__(self, decoder: Union[str, sinter.Decoder] = "pymatching", *, seed: Seed = None, threads: int = 1,
                 device: Device = "cpu", count_observable_error_combos: bool = False,
                 count_detection_events: bool = False) -> None:
        _decoder_of(decoder)
        self.decoder, self.seed, self.threads, self.device = decoder, seed, threads, device
        self.count_observable_error_combos = count_observable_error_combos
        self.count_detection_events = count_detection_events

    def compiled_sampler_for_task(self, task: sinter.Task) -> sinter.CompiledSampler:
        return _CompiledTilewaveSampler(self, task)


def _decoder_of(decoder):
    """The sinter.Decoder that is meant."""
    if isinstance(decoder, str):
        if decoder == "perfectionist":
            decoder = "vacuous"
        if decoder not in sinter.BUILT_IN_DECODERS:
            known = sorted([*sinter.BUILT_IN_DECODERS, "perfectionist"])
            raise ValueError(f"sinter has no decoder '{decoder}': use one of {', '.join(known)}, or give a sinter.Decoder")
        decoder = sinter.BUILT_IN_DECODERS[decoder]
    compile = getattr(type(decoder), "compile_decoder_for_dem", None)
    if compile is None or compile is sinter.Decoder.compile_decoder_for_dem:  # sinter's own is of those that read files
        raise ValueError(f"the decoder {type(decoder).__name__} decodes files only: it needs compile_decoder_for_dem")
    return decoder


class _CompiledTilewaveSampler(sinter.CompiledSampler):
    def __init__(self, options, task):
        self._options = options
        self._sampler = compile_detector_sampler(task.circuit, seed=options.seed, threads=options.threads,
                                                 device=options.device)
        self._decoder = _decoder_of(options.decoder).compile_decoder_for_dem(dem=task.detector_error_model)
        self._mask = _mask_of(task.postselection_mask, self._sampler.num_detectors, "postselection_mask")
        if isinstance(options.decoder, str) and options.decoder == "perfectionist":
            self._mask = np.packbits(np.ones(self._sampler.num_detectors, np.uint8), bitorder="little")
        self._obs_mask = _mask_of(task.postselected_observables_mask, self._sampler.num_observables,
                                  "postselected_observables_mask")
        options = task.collection_options
        self._most_errors = None if options is None else options.max_errors
        self._most_shots = (None if options is None else options.max_batch_size) or _MOST_SHOTS
        self._batch = min(_FIRST_SHOTS, self._most_shots)

    def handles_throttling(self) -> bool:
        return True

    def sample(self, suggested_shots: int) -> sinter.AnonTaskStats:
        """As many of the shots as are done in about a quarter of a second and make at most a tenth of the errors that are
        wanted: batches grow where they turn out short."""
        enough = float("inf") if self._most_errors is None else max(0.1, 0.1 * self._most_errors)
        wanted = max(1, min(suggested_shots, self._most_shots))
        stats = sinter.AnonTaskStats()
        while stats.shots < wanted and stats.seconds < _BATCH_S and stats.errors <= enough:
            done = self._sample(min(self._batch, wanted - stats.shots))
            stats += done
            if done.shots == self._batch:
                rate = max(done.seconds / _BATCH_S, done.errors / enough) * 4  # above 1: too much for a batch
                self._batch = max(1, min(self._batch * 2 if rate < 0.5 else self._batch // 2 if rate > 1 else self._batch,
                                         self._most_shots))
        return stats

    def _sample(self, shots):
        start = time.monotonic()
        counts = collections.Counter()
        if self._options.count_detection_events:  # of discarded shots as well
            dets, obs = self._sampler.sample(shots, separate_observables=True, bit_packed=True)
            counts["detectors_checked"] += shots * self._sampler.num_detectors
            counts["detection_events"] += int(np.unpackbits(dets).sum())
            if self._mask is not None:
                kept = ~np.any(dets & self._mask, axis=1)
                dets, obs = np.ascontiguousarray(dets[kept]), obs[kept]
        else:
            dets, obs = self._sampler.sample(shots, separate_observables=True, bit_packed=True, postselection_mask=self._mask)
        discards = shots - len(dets)
        predictions = self._decoder.decode_shots_bit_packed(bit_packed_detection_event_data=dets)
        _check_predictions(predictions, *obs.shape)
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
            for row, times in zip(*np.unique(mistakes[wrong], axis=0, return_counts=True)):
                bits = np.unpackbits(row, count=self._sampler.num_observables, bitorder="little")
                counts["obs_mistake_mask=" + "".join("_E"[bit] for bit in bits)] += int(times)
        return sinter.AnonTaskStats(shots=shots, errors=int(wrong.sum()), discards=discards,
                                    seconds=time.monotonic() - start, custom_counts=counts)


def _check_predictions(predictions, shots, observable_bytes):
    """Raises for what NumPy would stretch over the observables of other shots or bits."""
    if (not isinstance(predictions, np.ndarray) or predictions.dtype != np.uint8 or predictions.ndim != 2
            or predictions.shape[0] != shots or predictions.shape[1] - observable_bytes not in (0, 1)):
        given = (f"{predictions.dtype} {list(predictions.shape)}" if isinstance(predictions, np.ndarray)
                 else type(predictions).__name__)
        raise ValueError(f"the decoder predicts {given}, not uint8 [{shots}, {observable_bytes}]: a row a shot, eight observables a "
                         "byte, with a further byte where it discards shots")


def _mask_of(mask, bits, name):
    return None if mask is None else np.packbits(_flags(mask, bits, name), bitorder="little")
