"""Logical error rates of many circuits: sinter's collection with shots by Tilewave.

Tasks, batches, the CSV file, its resumption and the workers are sinter's; a row's strong_id is the one sinter gives the same
task, so that files of both go together.
"""
from __future__ import annotations

import contextlib
import csv
import io
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Any, Callable, Optional, Union

from . import _core
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
_GRACE_S = 5  # for the end of a run, between the death of its workers and its return


def metadata_of(path: Path) -> dict[str, Any]:
    """What the name of a file says: ``d=5,p=0.001.stim`` gives {"d": 5, "p": 0.001}, another name {"path": path}."""
    try:
        return dict(sinter.comma_separated_key_values(os.fspath(path)))
    except ValueError:
        return {"path": os.fspath(path)}


class CircuitError(ValueError):
    """A circuit that has no error model to decode with."""


class WorkerError(RuntimeError):
    """A worker process that died."""


def statistics_of(path: Path) -> list[sinter.TaskStats]:
    """The statistics in a CSV file that `collect` or sinter wrote, the rows of a task as one. Raises ValueError for another
    file and, with the line, for a row that is not one: sinter's own reader leaves out what stands behind a row in its line."""
    name = os.fspath(path)
    with open(path, newline="") as file:
        text = file.read()
    try:
        stats = sinter.read_stats_from_csv_files(io.StringIO(text))
        problem = None
    except (ValueError, KeyError, TypeError) as caught:
        stats, problem = [], caught
    reader = csv.DictReader(io.StringIO(text))
    fields = [field.strip() for field in reader.fieldnames or []]
    if not {"shots", "errors", "discards", "seconds", "decoder", "strong_id", "json_metadata"} <= set(fields):
        raise ValueError(f"{name} holds no statistics of collect or sinter: its first line is not {sinter.CSV_HEADER!r}")
    reader.fieldnames = fields
    for row in reader:
        last = reader.line_num == text.count("\n") + 1  # nothing ends the line
        if None in row:
            raise ValueError(f"{name}:{reader.line_num}: more than a row stands in this line: begin a line with each row")
        if row["shots"].strip() == "shots":
            raise ValueError(f"{name}:{reader.line_num}: a second header: delete this line, or name the files one by one")
        try:
            if last and None in row.values():
                raise ValueError("it is cut off")
            for number in (int(row["shots"]), int(row["errors"]), int(row["discards"]), float(row["seconds"])):
                if not number >= 0:
                    raise ValueError(f"{number} is below 0")
            json.loads(row["json_metadata"])
            if row.get("custom_counts"):
                json.loads(row["custom_counts"])
        except (ValueError, TypeError) as found:
            why = "it is cut off, as by a program that was killed" if last else str(found)
            raise ValueError(f"{name}:{reader.line_num}: no row of statistics: {why}: delete this line, or mend it") from None
    if problem is not None:
        raise ValueError(f"{name} holds no statistics of collect or sinter: {type(problem).__name__}: {problem}")
    return stats


def _make_ready(path):
    """Checks a file that rows are added to, and ends what an earlier run left unended: rows begin in a line of their own."""
    if not os.path.exists(path):
        return
    with open(path, newline="") as file:
        text = file.read()
    if text:
        statistics_of(path)
    if not text.endswith("\n"):
        with open(path, "a") as file:
            file.write("\n" if text else sinter.CSV_HEADER + "\n")


def _task_of(given):
    if isinstance(given, sinter.Task):
        return given
    circuit, metadata = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    text, name = _text_of(circuit)
    of_file = hasattr(circuit, "__fspath__") or circuit == name
    if metadata is None and of_file:
        metadata = metadata_of(name)
    try:
        return sinter.Task(circuit=stim.Circuit(text), json_metadata=metadata, circuit_path=name if of_file else None)
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


def _source_of(task):
    """The text and name of a task's circuit; a file's own text where there is one, for the numbers of its lines."""
    return _text_of(task.circuit if task.circuit_path is None else task.circuit_path)


def _check_different(tasks):
    """Raises for a task that is given twice, by the names of both: sinter would print the circuit."""
    seen = {}
    for task in tasks:
        masks = [None if mask is None else bytes(mask) for mask in (task.postselection_mask, task.postselected_observables_mask)]
        circuit = str(task.circuit) if task.circuit is not None else _source_of(task)[0]
        key = circuit, str(task.detector_error_model), task.decoder, json.dumps(task.json_metadata, sort_keys=True), *masks
        if key in seen:
            names = sorted({_source_of(seen[key])[1], _source_of(task)[1]})
            raise ValueError(f"the same task is given twice, as {' and '.join(names)}: the circuit, masks and metadata are the "
                             "same, leave one out or note something else of it")
        seen[key] = task


def _check_models(tasks):
    """Raises for a circuit without an error model, by its name: sinter's message is the traceback of a worker."""
    for task in tasks:
        if task.detector_error_model is None:
            text, name = _source_of(task)
            try:
                _core._error_model(text, name, False, False, False, 1.0, False, False)
            except ValueError as problem:
                raise CircuitError(str(problem) if str(problem).startswith(name) else f"{name}: {problem}") from None


@contextlib.contextmanager
def _watched_workers():
    """Ends the run, by WorkerError, where a worker process died without a word: sinter waits for its answer for ever. What
    waits is a read in the main thread, which a signal interrupts; a call in another thread is not watched."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    main, others = threading.get_ident(), set(multiprocessing.active_children())
    done, begun, died = threading.Event(), time.monotonic(), []

    def watch():
        workers = set()
        while not done.wait(0.02 if time.monotonic() < begun + 10 else 0.5):  # one that dies as it starts is seen before
            alive = set(multiprocessing.active_children()) - others
            workers |= {child for child in alive if child.name.startswith("Process-")}  # pools name theirs otherwise
            ended = [worker.exitcode for worker in workers - alive if worker.exitcode != 0]
            if ended and not done.wait(_GRACE_S):  # sinter kills its workers itself, and then returns
                died.extend(ended)
                signal.pthread_kill(main, signal.SIGINT)
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except KeyboardInterrupt:
        if not died:
            raise
        code = died[0]
        how = (f"was killed by signal {-code}, perhaps for want of memory: use fewer processes" if code is not None and code < 0
               else f"ended with exit code {code}: in a script, call collect under if __name__ == \"__main__\", since workers "
               "import the script")
        raise WorkerError(f"a worker process {how}") from None
    finally:
        done.set()
        watcher.join()


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
    ValueError for decoders that are not known or decode files only, for the same task given twice, for circuits whose detectors
    or observables are random without noise, and for a file with a row that is none, ModuleNotFoundError for decoders whose
    package is not installed. A decoder that fails, or whose predictions are not uint8 [shots, bytes], ends the run with RuntimeError, and so does a worker process that dies."""
    if num_workers is None:
        num_workers = len(os.sched_getaffinity(0))
    all_tasks = [_with_limit(_task_of(task), max_errors, max_batch_size) for task in tasks]
    named = dict(decoders) if isinstance(decoders, Mapping) else {
        name: name for name in ([decoders] if isinstance(decoders, str) else decoders)}
    of_tasks = {task.decoder: task.decoder for task in all_tasks if task.decoder is not None}
    samplers = _samplers_of({**of_tasks, **named}, threads=threads, device=device,
                            count_detection_events=count_detection_events,
                            count_observable_error_combos=count_observable_error_combos)
    _check_different(all_tasks)
    existing = list(existing_data_filepaths)
    for path in existing:
        statistics_of(path)
        if save_resume_filepath is not None and os.path.exists(save_resume_filepath) and os.path.samefile(path, save_resume_filepath):
            raise ValueError(f"{os.fspath(path)} is save_resume_filepath, what it holds counts already: leave it out of "
                             "existing_data_filepaths")
    if save_resume_filepath is not None:
        _make_ready(save_resume_filepath)
    try:
        with _watched_workers():
            return sinter.collect(num_workers=num_workers, tasks=all_tasks, decoders=list(named), custom_decoders=samplers,
                                  max_shots=max_shots, max_errors=max_errors, max_batch_size=max_batch_size,
                                  max_batch_seconds=_KEPT_EVERY_S, save_resume_filepath=save_resume_filepath,
                                  existing_data_filepaths=existing, print_progress=print_progress,
                                  progress_callback=progress_callback)
    except (RuntimeError, ValueError) as problem:
        if problem.__cause__ is not None:  # a worker's
            _check_models(all_tasks)
        raise
