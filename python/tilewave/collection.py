"""Logical error rates of many circuits: sinter's collection with shots by Tilewave.

Tasks, batches, the CSV file, its resumption and the workers are sinter's; a row's strong_id is the one sinter gives the same
task, so that files of both go together.
"""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Any, Callable, Optional, Union

from ._optional import need
from ._types import Device, Path, StimCircuit
from .samplers import _text_of

need("sinter", "sinter")
import sinter  # noqa: E402
import stim  # noqa: E402

from .sinter import TilewaveSampler  # noqa: E402

#: A sinter.Task; a circuit; or a circuit and what its rows say of it, which JSON can hold.
AnyTask = Union[sinter.Task, StimCircuit, tuple[StimCircuit, Any]]
Decoders = Union[str, Iterable[str], Mapping[str, Union[str, sinter.Decoder]]]

_MODULES = {"pymatching": "pymatching", "pymatching-correlated": "pymatching", "fusion_blossom": "fusion_blossom",
            "hypergraph_union_find": "mwpf", "mw_parity_factor": "mwpf"}
_KEPT_EVERY_S = 5  # what a worker has found meanwhile is lost where it is ended


def metadata_of(path: Path) -> dict[str, Any]:
    """What the name of a file says: ``d=5,p=0.001.stim`` gives {"d": 5, "p": 0.001}, another name {"path": path}."""
    try:
        return dict(sinter.comma_separated_key_values(os.fspath(path)))
    except ValueError:
        return {"path": os.fspath(path)}


def _task_of(given):
    if isinstance(given, sinter.Task):
        return given
    circuit, metadata = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    text, name = _text_of(circuit)
    if metadata is None and (hasattr(circuit, "__fspath__") or circuit == name):
        metadata = metadata_of(name)
    try:
        return sinter.Task(circuit=stim.Circuit(text), json_metadata=metadata)
    except (ValueError, IndexError) as problem:
        raise ValueError(f"{name}: {problem}") from None


def _samplers_of(named, **options):
    if not named:
        raise ValueError("name at least one decoder, such as 'pymatching'")
    samplers = {name: TilewaveSampler(decoder, **options) for name, decoder in named.items()}
    for decoder in named.values():
        module = _MODULES.get(decoder) if isinstance(decoder, str) else None
        if module is not None and find_spec(module) is None:
            raise ModuleNotFoundError(f"the decoder {decoder} needs the module {module}: pip install {module.replace('_', '-')}",
                                      name=module)
    return samplers


def _with_limit(task, max_errors, max_batch_size):
    """The task, which tells its sampler how many errors are wanted."""
    own = task.collection_options.combine(sinter.CollectionOptions(max_errors=max_errors, max_batch_size=max_batch_size))
    return sinter.Task(circuit=task.circuit, decoder=task.decoder, detector_error_model=task.detector_error_model,
                       postselection_mask=task.postselection_mask,
                       postselected_observables_mask=task.postselected_observables_mask, json_metadata=task.json_metadata,
                       collection_options=own, circuit_path=task.circuit_path)


def collect(tasks: Iterable[AnyTask], *, decoders: Decoders = "pymatching", max_shots: int, max_errors: Optional[int] = None,
            num_workers: Optional[int] = None, save_resume_filepath: Optional[Path] = None,
            existing_data_filepaths: Iterable[Path] = (), max_batch_size: Optional[int] = None,
            count_observable_error_combos: bool = False, count_detection_events: bool = False, print_progress: bool = False,
            progress_callback: Optional[Callable[[sinter.Progress], None]] = None, threads: int = 1,
            device: Device = "cpu") -> list[sinter.TaskStats]:
    """Samples and decodes every task until it has ``max_shots`` shots or ``max_errors`` errors, and returns a
    sinter.TaskStats for each, in the order in which they were finished.

    A task is a circuit (a text, a path or a stim.Circuit), a pair of a circuit and its metadata, or a sinter.Task, whose
    masks are heeded. The metadata of a file are what its name says (`metadata_of`). ``decoders`` are names that sinter
    knows, or a mapping from names to those or to objects of sinter.Decoder; a task that names a decoder has that one.
    ``save_resume_filepath`` is a CSV file: what it holds counts, and what is found is added to it, at least every few
    seconds, so that a run that was ended goes on where it was. ``num_workers`` processes share the work, by default one a
    core, each with ``threads`` sampling threads; ``device`` makes the shots. The other arguments are sinter.collect's. Raises
    ValueError for decoders that are not known or decode files only, and for the same task given twice, ModuleNotFoundError for decoders whose
    package is not installed."""
    if num_workers is None:
        num_workers = len(os.sched_getaffinity(0))
    all_tasks = [_with_limit(_task_of(task), max_errors, max_batch_size) for task in tasks]
    named = dict(decoders) if isinstance(decoders, Mapping) else {
        name: name for name in ([decoders] if isinstance(decoders, str) else decoders)}
    of_tasks = {task.decoder: task.decoder for task in all_tasks if task.decoder is not None}
    samplers = _samplers_of({**of_tasks, **named}, threads=threads, device=device,
                            count_detection_events=count_detection_events,
                            count_observable_error_combos=count_observable_error_combos)
    return sinter.collect(num_workers=num_workers, tasks=all_tasks, decoders=list(named), custom_decoders=samplers,
                          max_shots=max_shots, max_errors=max_errors, max_batch_size=max_batch_size,
                          max_batch_seconds=_KEPT_EVERY_S, save_resume_filepath=save_resume_filepath,
                          existing_data_filepaths=existing_data_filepaths, print_progress=print_progress,
                          progress_callback=progress_callback)
