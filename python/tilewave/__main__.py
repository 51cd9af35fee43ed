"""``python -m tilewave WORDS``: the commands that need Python's packages, and every other one by the compiled program.

    python -m tilewave collect --circuits codes/*.stim --decoders pymatching --max_shots 1000000 --save_resume_filepath stats.csv
    python -m tilewave plot --in stats.csv --out threshold.svg
"""
from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, Optional

INTERNAL, USAGE, RESOURCES, INPUT, INTERRUPTED = 1, 2, 3, 4, 130  # exit codes, as those of the program


class _Failure(Exception):
    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise _Failure(f"{message}: see {self.prog} --help", USAGE)


def _collect_parser():
    p = _Parser(prog="tilewave collect", allow_abbrev=False, formatter_class=argparse.RawTextHelpFormatter,
                description="Logical error rates: samples circuits, decodes the shots and writes statistics as sinter does.")
    p.add_argument("--circuits", nargs="+", required=True, metavar="FILE", help="circuits in Stim's language")
    p.add_argument("--decoders", nargs="+", default=["pymatching"], metavar="NAME",
                   help="decoders that sinter knows, or of --custom_decoders_module_function (pymatching)")
    p.add_argument("--custom_decoders_module_function", nargs="+", default=[], metavar="MODULE:FUNCTION",
                   help="functions that give a dictionary from names to sinter.Decoder")
    p.add_argument("--max_shots", type=_positive, required=True, metavar="N", help="shots of a circuit and decoder")
    p.add_argument("--max_errors", type=_positive, metavar="N", help="fewer shots where there were so many errors")
    p.add_argument("--processes", default="auto", metavar="N", help="worker processes, auto: one a core")
    p.add_argument("--threads", type=_positive, default=1, metavar="N", help="sampling threads of every process (1)")
    p.add_argument("--device", default="cpu", metavar="DEVICE", help="cpu, cuda or cuda:<index>, which makes the shots")
    p.add_argument("--save_resume_filepath", metavar="FILE.csv",
                   help="statistics are added to this file; what it holds counts, so that a run goes on where one ended")
    p.add_argument("--existing_data_filepaths", nargs="*", default=[], metavar="FILE.csv", help="further files that count")
    p.add_argument("--max_batch_size", type=_positive, metavar="N", help="shots at a time, at most")
    p.add_argument("--metadata", default="auto", metavar="auto|FILE.json",
                   help="what is noted of a circuit. auto: key=value terms of its name (d=5,p=0.001.stim), or its path;\n"
                        "a file: a JSON object from paths, names or names without .stim to what is noted")
    p.add_argument("--postselect_detectors_with_non_zero_4th_coord", action="store_true",
                   help="shots in which such a detector fires are discarded")
    p.add_argument("--postselected_detectors_predicate", metavar="EXPRESSION",
                   help="shots in which a detector fires for which this is true are discarded: a Python expression of\n"
                        "index, coords and metadata, such as \"coords[2] == 0\"")
    p.add_argument("--postselected_observables_predicate", metavar="EXPRESSION",
                   help="shots with a mistake in such an observable are discarded: an expression of index and metadata")
    p.add_argument("--count_observable_error_combos", action="store_true", help="counts every pattern of mistakes")
    p.add_argument("--count_detection_events", action="store_true", help="counts detection events")
    p.add_argument("--plot", metavar="FILE", help="logical error rates over the metadata p, a curve a d (svg, png or pdf)")
    p.add_argument("--quiet", action="store_true", help="no progress on the standard error")
    return p


def _positive(text):
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not positive")
    return value


def _plot_parser():
    p = _Parser(prog="tilewave plot", allow_abbrev=False, formatter_class=argparse.RawTextHelpFormatter,
                description="Logical error rates of statistics that collect or sinter wrote, over the error rate.")
    p.add_argument("--in", dest="inputs", nargs="+", required=True, metavar="FILE.csv", help="statistics")
    p.add_argument("--out", required=True, metavar="FILE", help="svg, png or pdf")
    p.add_argument("--x", default="p", metavar="KEY", help="metadata along the axis (p)")
    p.add_argument("--group", default="d", metavar="KEY", help="metadata of which every value is a curve (d)")
    p.add_argument("--pieces", metavar="KEY", help="metadata that a shot is divided by, such as the number of rounds")
    return p


def _need(module, extra):
    from ._optional import need
    try:
        need(module, extra)
    except ModuleNotFoundError as missing:
        raise _Failure(str(missing), RESOURCES) from None


def _described(path, noted):
    from .collection import metadata_of
    if noted is None:
        return metadata_of(path)
    name = os.path.basename(path)
    for key in (path, name, os.path.splitext(name)[0]):
        if key in noted:
            return noted[key]
    raise _Failure(f"--metadata says nothing of {path}", INPUT)


def _predicate(expression, names):
    if expression is None:
        return None
    try:
        return eval(compile(f"lambda {names}: {expression}", "<predicate>", "eval"), {})
    except SyntaxError as problem:
        raise _Failure(f"'{expression}' is no Python expression: {problem.msg}", USAGE) from None


def _tasks(a):
    import numpy as np
    import sinter
    import stim
    noted = None
    if a.metadata != "auto":
        with open(a.metadata, encoding="utf-8") as file:
            try:
                noted = json.load(file)
            except json.JSONDecodeError as problem:
                raise _Failure(f"{a.metadata}:{problem.lineno}:{problem.colno}: {problem.msg}", INPUT) from None
        if not isinstance(noted, dict):
            raise _Failure(f"{a.metadata}: expected an object from circuits to what is noted of them", INPUT)
    of_detectors = _predicate(a.postselected_detectors_predicate, "index, metadata, coords")
    of_observables = _predicate(a.postselected_observables_predicate, "index, metadata")
    if a.postselect_detectors_with_non_zero_4th_coord:
        if of_detectors is not None:
            raise _Failure("give one of --postselected_detectors_predicate and "
                           "--postselect_detectors_with_non_zero_4th_coord", USAGE)
        of_detectors = lambda index, metadata, coords: len(coords) > 3 and coords[3]
    for path in a.circuits:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        try:
            circuit = stim.Circuit(text)
        except ValueError as problem:
            raise _Failure(f"{path}: {problem}", INPUT) from None
        metadata = _described(path, noted)
        mask = obs_mask = None
        try:
            if of_detectors is not None:
                flags = np.zeros(circuit.num_detectors, np.bool_)
                for k, coords in circuit.get_detector_coordinates().items():
                    flags[k] = bool(of_detectors(k, metadata, coords))
                mask = np.packbits(flags, bitorder="little")
            if of_observables is not None:
                flags = [bool(of_observables(k, metadata)) for k in range(circuit.num_observables)]
                obs_mask = np.packbits(flags, bitorder="little")
        except Exception as problem:  # whatever the expression of the command line does
            raise _Failure(f"a predicate of post-selection fails for {path}: {type(problem).__name__}: {problem}", USAGE) from None
        yield sinter.Task(circuit=circuit, json_metadata=metadata, circuit_path=path,
                          postselection_mask=mask if mask is not None and mask.any() else None,
                          postselected_observables_mask=obs_mask if obs_mask is not None and obs_mask.any() else None)


def _custom(functions):
    from importlib import import_module
    found = {}
    sys.path.insert(0, os.getcwd())
    for place in functions:
        module, colon, function = place.partition(":")
        if not colon:
            raise _Failure(f"'{place}' is not of the form MODULE:FUNCTION", USAGE)
        try:
            found.update(getattr(import_module(module), function)())
        except Exception as problem:  # whatever the module of the command line does
            raise _Failure(f"{place} gives no dictionary of decoders: {type(problem).__name__}: {problem}", USAGE) from None
    return found


def _statistics(paths):
    from .collection import statistics_of
    try:
        return [stats for path in paths for stats in statistics_of(path)]
    except ValueError as problem:
        raise _Failure(str(problem), INPUT) from None


def _check_picture(path, tasks):
    """Fails where the picture of a long run could not be drawn at its end."""
    from matplotlib.figure import Figure
    ending, known = os.path.splitext(path)[1][1:].lower(), Figure().canvas.get_supported_filetypes()
    if ending and ending not in known:
        raise _Failure(f"{path}: matplotlib draws no {ending}: use one of {', '.join(sorted(known))}", USAGE)
    if not any(isinstance(task.json_metadata, dict) and "p" in task.json_metadata for task in tasks):
        raise _Failure("--plot draws rates over the metadata p, which no circuit has: name files as in d=5,p=0.001.stim, or give "
                       "--metadata", USAGE)


def collect(words: list[str]) -> None:
    a = _collect_parser().parse_args(words)
    _need("sinter", "sinter")
    if a.plot:
        _need("matplotlib", "plot")
    import sinter
    from .collection import CircuitError, WorkerError, collect as run
    custom = _custom(a.custom_decoders_module_function)
    if a.processes != "auto" and not (a.processes.isdigit() and int(a.processes) > 0):
        raise _Failure(f"--processes is a number or auto, not '{a.processes}'", USAGE)
    tasks = list(_tasks(a))
    if a.plot:
        _check_picture(a.plot, tasks)
    resumed = a.save_resume_filepath
    holds_rows = resumed is not None and os.path.exists(resumed) and os.path.getsize(resumed) > 0
    _statistics([*a.existing_data_filepaths, *([resumed] if holds_rows else [])])
    to_output = a.save_resume_filepath is None
    if to_output:
        print(sinter.CSV_HEADER, flush=True)

    def tell(progress):
        for stats in progress.new_stats:
            if to_output:
                print(stats.to_csv_line(), flush=True)

    try:
        stats = run(tasks, decoders={name: custom.get(name, name) for name in a.decoders}, max_shots=a.max_shots,
                    max_errors=a.max_errors, num_workers=None if a.processes == "auto" else int(a.processes),
                    save_resume_filepath=a.save_resume_filepath, existing_data_filepaths=a.existing_data_filepaths,
                    max_batch_size=a.max_batch_size, count_observable_error_combos=a.count_observable_error_combos,
                    count_detection_events=a.count_detection_events, print_progress=not a.quiet, progress_callback=tell,
                    threads=a.threads, device=a.device)
    except ModuleNotFoundError as missing:
        raise _Failure(str(missing), RESOURCES) from None
    except CircuitError as problem:
        raise _Failure(str(problem), INPUT) from None
    except WorkerError as problem:
        raise _Failure(str(problem), INTERNAL) from None
    except (RuntimeError, ValueError) as problem:  # sinter's, whose text is the traceback of a worker
        if problem.__cause__ is None:
            raise
        raise _Failure(f"a worker failed: {type(problem.__cause__).__name__}: {problem.__cause__}", INTERNAL) from None
    except KeyboardInterrupt:
        kept = f": what was found is in {a.save_resume_filepath}, the same command goes on" if not to_output else ""
        raise _Failure(f"interrupted{kept}", INTERRUPTED) from None
    if a.plot:
        _plot(stats, a.plot)


def _plot(stats, path, **options):
    import matplotlib
    matplotlib.use("Agg")
    from .plots import plot_error_rates
    ax = plot_error_rates(stats, **options)
    try:
        ax.figure.savefig(path)
    except ValueError as problem:  # an ending that matplotlib does not know
        raise _Failure(f"{path}: {problem}", USAGE) from None


def plot(words: list[str]) -> None:
    a = _plot_parser().parse_args(words)
    _need("sinter", "sinter")
    _need("matplotlib", "plot")
    _plot(_statistics(a.inputs), a.out, x=a.x, group=a.group, pieces=a.pieces)


def main(words: Optional[list[str]] = None) -> int:
    words = sys.argv[1:] if words is None else words
    commands = {"collect": collect, "plot": plot}
    if words[:1] and words[0] in commands:
        try:
            commands[words[0]](words[1:])
        except _Failure as failure:
            print(f"error: {failure}", file=sys.stderr)
            return failure.code
        except OSError as problem:
            print(f"error: {problem.filename or ''}: {problem.strerror or problem}", file=sys.stderr)
            return INPUT
        except ValueError as problem:
            print(f"error: {problem}", file=sys.stderr)
            return USAGE
        return 0
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "tilewave")
    if not os.path.exists(program):
        print("error: this installation has no compiled program; python -m tilewave knows " + " and ".join(commands),
              file=sys.stderr)
        return USAGE
    os.execv(program, [program, *words])


if __name__ == "__main__":
    sys.exit(main())
