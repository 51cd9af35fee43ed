#!/usr/bin/env python3
"""report.py [--check]: puts the tables of the performance pages between their markers.

A document holds `<!-- table: NAME -->`, a table and `<!-- end of table -->`. Each table is printed from a file of
measurements that a bench wrote, so no number is typed twice:

    peers, peers-short   docs/performance.json, by bench/peers/run.py
    first-run            bench/baselines/cpu_first_run.json, by bench/peers/run.py without peers
    h200, h200-questions bench/baselines/h200_statevec.json, the lines of tests/gpu/gpu_bench
    doors, gpu-doors     bench/baselines/cpu_doors.json and h100_doors.json, by bench/doors.py
    gradients            bench/baselines/cpu_gradients.json, by bench/gradients.py
    nvidia-suite         bench/baselines/cpu_nvidia_suite.json, by bench/peers/nvidia_suite.py compare
    h200-first-run       bench/baselines/h200_first_run.json
    h100                 bench/baselines/h100_bench.json, by `tilewave bench --json`
    gpu-peers, gpu-peers-shots
                         bench/baselines/h100_peers.json, by bench/peers/gpu.py
    gpu-gate-peers       bench/baselines/h100_gate_peers.json, by the same
    gpu-delivered, gpu-entropy
                         bench/baselines/h100_array_peers.json, by the same
    gpu-gradients        bench/baselines/h100_gradients.json, by bench/gradients.py
    device-arrays        bench/baselines/h100_device_arrays.json, by bench/device_arrays.py
    h200x2               bench/baselines/h200x2_statevec.json, the lines of tests/gpu/multi_gpu

The picture docs/figures/speed.svg is drawn from docs/performance.json too (bench/speed_figure.py).

With --check nothing is written and the exit code says whether every table is up to date.
"""
import functools
import json
import re
import statistics
import sys
from pathlib import Path

from speed_figure import speed_figure

ROOT = Path(__file__).resolve().parent.parent
BASELINES = ROOT / "bench" / "baselines"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TABLE = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(<!-- end of table -->)", re.S)
PEERS = {"qsim": "qsim FP32", "aer_single": "Aer FP32", "quest": "QuEST FP64", "aer_double": "Aer FP64",
         "qulacs": "Qulacs FP64"}
GPU_PEERS = {"cudaq": "CUDA-Q", "custatevec": "cuStateVec, gate by gate", "custatevec_updater": "cuStateVec, SVUpdater",
             "lightning_gpu": "lightning.gpu"}


def table(titles, rows):
    """Lines of a table; each row holds a cell for each title."""
    assert all(len(row) == len(titles) for row in rows)
    return ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles),
            *("| " + " | ".join(row) + " |" for row in rows)]


def digits(value):
    """Three digits, without an exponent."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def ms(entry):
    return digits(1e3 * entry["median_s"])


def machine_line(report):
    machine = report["machine"]
    return (f"{machine['cpu']}, {machine['cores']} cores, {', '.join(machine['simd'])}; an in-place pass moves "
            f"{machine['in_place_bytes_per_s'] / 1e9:.1f} GB/s; {report['date']}.")


def repeat_line(report):
    return f"Repeat with `{report['command']}`."


def mean_row(report, peers, empty):
    return ["geometric mean", *[""] * empty, *(f"**{report['geometric_means'][p]:.1f}x**" for p in peers)]


def first_over_later(name, precision):
    """How many times longer the first run of a process takes than later ones, measured apart from the peers."""
    rows = {r["circuit"]: r["times"] for r in read(BASELINES / "cpu_first_run.json")["circuits"]}
    return rows[name][f"tilewave_{precision}_first"]["median_s"] / rows[name][f"tilewave_{precision}"]["median_s"]


def peers_table(report, short=False):
    """Tilewave beside its peers: all columns, or the short table of the README."""
    rows = report["circuits"]
    peers = [p for p in PEERS if any(p in r["times"] for r in rows)]
    versions = ", ".join(f"{k} {v}" for k, v in report["versions"].items())
    if short:
        head = (f"{machine_line(report)} Medians of repeated runs of the gates alone, without questions, from an arbitrary state; for the peers how many times slower "
                f"than Tilewave they are in the same precision ({versions}). First run: that of a process, how many times longer.")
        cells = [[r["circuit"], str(r["times"]["tilewave_double"]["passes"]), f"{ms(r['times']['tilewave_single'])} ms",
                  f"{ms(r['times']['tilewave_double'])} ms", f"{first_over_later(r['circuit'], 'double'):.1f}x",
                  *(f"{r['ratios'][p]:.1f}x" if p in r["times"] else "-" for p in peers)] for r in rows]
        titles = ["circuit", "passes", "Tilewave FP32", "Tilewave FP64", "its first run", *(PEERS[p] for p in peers)]
        return [head, "", repeat_line(report), "", *table(titles, [*cells, mean_row(report, peers, 4)])]
    head = (f"{machine_line(report)} Milliseconds, medians of repeated runs; in brackets how many times slower than Tilewave in "
            f"the same precision ({versions}).")
    cells = []
    for r in rows:
        t = r["times"]
        cells.append([r["circuit"], str(r["gates"]), f"{t['tilewave_single']['passes']} / {t['tilewave_double']['passes']}",
                      f"**{ms(t['tilewave_single'])}**", ms(t["tilewave_single_zeros"]), f"**{ms(t['tilewave_double'])}**",
                      ms(t["tilewave_double_zeros"]),
                      *(f"{ms(t[p])} ({r['ratios'][p]:.1f}x)" if p in t else "-" for p in peers)])
    titles = ["circuit", "gates", "passes FP32 / FP64", "**FP32**", "from zeros", "**FP64**", "from zeros",
              *(PEERS[p] for p in peers)]
    return [head, "", repeat_line(report), "", *table(titles, [*cells, mean_row(report, peers, 6)])]


def first_run_table(report):
    """The first run of a process beside its later runs."""
    cells = []
    for r in report["circuits"]:
        row = [r["circuit"]]
        for precision in ("single", "double"):
            first, later = (r["times"][f"tilewave_{precision}{name}"] for name in ("_first", ""))
            row += [f"{first['passes']} / {later['passes']}", ms(first), ms(later),
                    f"{first['median_s'] / later['median_s']:.2f}x"]
        cells.append(row)
    titles = ["circuit", "FP32 passes, first / repeated", "first", "repeated", "ratio",
              "FP64 passes, first / repeated", "first", "repeated", "ratio"]
    return [f"{machine_line(report)} Milliseconds, medians.", "", repeat_line(report), "", *table(titles, cells)]


def doors_table(report):
    """Later runs through every door over those of `tilewave bench`, and the first and second run of the command."""
    cells = []
    for r in report["circuits"]:
        d = r["doors"]
        command = d["run --repeat"]
        cells.append([r["circuit"], digits(d["bench"]["later_ms"]), digits(command["first_ms"]), digits(command["second_ms"]),
                      *(f"{d[name]['over_bench']:.2f}x" for name in ("run --repeat", "Python", "QuEST API"))])
    machine = report["machine"].get("gpu") or report["machine"]["cpu"]
    return [f"{machine}; {report['date']}. Double precision from zeros, milliseconds, medians; the last three columns are later "
            "runs over those of `bench`.", "", f"Repeat with `{report['command']}`.", "",
            *table(["circuit", "bench", "command, first run", "second run, which searches", "command", "Python", "QuEST API"], cells)]


def gradients_table(report):
    """Value and gradient beside other packages."""
    peers = list(dict.fromkeys(name for row in report["rows"] for name in row["peers"]))
    cells = []
    for r in report["rows"]:
        name = r["circuit"] + (f", {r['sets']} sets" if "sets" in r else "")
        own, run = r["value_and_grad_ms"], r.get("forward_run_ms")
        beside = [f"{digits(t['value_and_grad_ms'])} ({digits(t['value_and_grad_ms'] / own)}x)" if (t := r["peers"].get(peer)) else "-" for peer in peers]
        cells.append([name, digits(r["value_ms"]), f"**{digits(own)}**", *beside, digits(run) if run else "", f"{own / run:.1f}" if run else ""])
    threads = f"{report['threads']} thread" + ("s" if report["threads"] != 1 else "") if report["threads"] else "all threads"
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    dates = " to ".join(sorted({row["date"] for row in report["rows"]}))
    machine = report["machine"].get("gpu") or f"{report['machine']['cpu']}, {threads}"
    return [f"{machine}; {dates}; {versions}. Double precision, {report['clock']} milliseconds, medians; of the peers value and gradient, "
            "in brackets over ours. The last columns are a run of the bound circuit by `tw.State`, and value and gradient over it.", "",
            f"Repeat with `{report['command']}`.", "",
            *table(["circuit", "value", "**value and gradient**", *peers, "run", "ratio"], cells)]


def nvidia_suite_table(report):
    """The benchmarks of NVIDIA's package, by its own times."""
    peers = list(report["rows"][0]["apart"])
    cells = []
    for row in report["rows"]:
        line = [f"{row['benchmark']}_{row['qubits']}"]
        for peer in peers:
            times = row["times"]["statevector"]
            [own] = [t for name, t in times.items() if name.endswith(f"for {peer}")]
            line += [ms(times[peer]), f"**{ms(own)}**", f"{times[peer]['median_s'] / own['median_s']:.0f}x"]
        cells.append(line)
    versions = ", ".join(f"{k} {v}" for k, v in report["versions"].items())
    titles = ["benchmark", *(title for peer in peers for title in (peer, "tilewave", "times slower"))]
    return [f"{report['machine']['cpu']}, {report['threads']} thread{'s' if report['threads'] > 1 else ''}; {report['date']}; {versions}. {report['precision'].capitalize()} precision, final states, "
            "milliseconds, medians of rounds.", "", f"Repeat with `{report['command']}`.", "", *table(titles, cells)]


def title_of(row):
    """A circuit's name with its number of qubits."""
    name = row["circuit"].removesuffix(".qasm")
    return name if name.endswith(f"_{row['qubits']}") else f"{name}_{row['qubits']}"


def by_circuit(report):
    """{circuit: {(precision, input): row}} in the order of the file."""
    found = {}
    for row in report["rows"]:
        if "circuit" in row:
            found.setdefault(title_of(row), {})[row["precision"], row["input"]] = row
    return found


def gpu_table(report):
    cells = []
    for name, rows in by_circuit(report).items():
        at = lambda precision, source: digits(rows[precision, source]["total_ms"])
        cells.append([name, str(rows["double", "arbitrary"]["gates"]),
                      " / ".join(str(rows[p, "arbitrary"]["passes"]) for p in ("single", "double")),
                      f"**{at('single', 'arbitrary')}**", at("single", "zeros"),
                      f"**{at('double', 'arbitrary')}**", at("double", "zeros")])
    titles = ["circuit", "gates", "passes FP32 / FP64", "**FP32**", "from zeros", "**FP64**", "from zeros"]
    return [f"{report['machine']}; {report['date']}. Milliseconds, medians of seven repeated runs.", "",
            *table(titles, cells)]


def bench_table(report):
    """What `tilewave bench` measured: the first run of each circuit, repeated runs, and the plan's prediction of them."""
    found = {}
    for row in report["results"]:
        found.setdefault(row["circuit"], {})[row["precision"], row["input"]] = row
    cells = []
    for name, rows in found.items():
        row = [name, " / ".join(str(rows[p, "arbitrary"]["passes"]) for p in ("single", "double"))]
        for precision in ("single", "double"):
            arbitrary, zeros = rows[precision, "arbitrary"], rows[precision, "zeros"]
            row += [digits(1e3 * arbitrary["first_s"]), f"**{ms(arbitrary)}**", digits(1e3 * zeros["first_s"]), ms(zeros),
                    f"{arbitrary['predicted_s'] / arbitrary['median_s']:.2f}"]
        cells.append(row)
    titles = ["circuit", "passes FP32 / FP64",
              *(f"{p}{what}" for p in ("FP32", "FP64") for what in (" first run", "", " from zeros, first run", " from zeros", " predicted"))]
    return [f"{report['machine']}; {report['date']}. Milliseconds: the first run, medians of seven repeated runs, and the predicted time of a "
            "repeated run over the measured one.", "", f"Repeat with `{report['command']}`.", "", *table(titles, cells)]


def gpu_questions_table(report):
    found = {}
    for row in report["rows"]:
        if "observation" in row:
            found.setdefault(row["observation"], {})[row["precision"]] = row
    return table(["question", "FP32 ms", "FP64 ms"],
                 [[name, digits(rows["single"]["ms"]), digits(rows["double"]["ms"])] for name, rows in found.items()])


def gpu_first_run_table(report):
    kinds = ["first_ms", "interpreted_ms", "compiled_ms"]
    cells = [[title_of(row), *(digits(row[p][kind]) for p in ("single", "double") for kind in kinds)]
             for row in report["rows"]]
    titles = ["circuit", *(f"{p} {kind}" for p in ("FP32", "FP64") for kind in ("first run", "interpreted", "compiled"))]
    return [f"{report['machine']}; {report['date']}. Milliseconds.", "", *table(titles, cells)]


def gpu_peers_head(report, rows, packages=()):
    """The lines in front of a table of these rows, about these packages (all)."""
    versions = ", ".join(f"{k} {v}" for k, v in report["versions"].items() if not packages or k in packages)
    dates = " to ".join(sorted({row["date"] for row in rows}))
    commands = " and ".join(f"`{command}`" for command in dict.fromkeys(row["command"] for row in rows))
    return [f"{report['machine']}; {dates}; {versions}.", "", f"Repeat with {commands}.", ""]


def gpu_peers_table(report):
    """Tilewave beside packages for state vectors, from |0...0>."""
    means, cells = report["geometric_means"], []
    peers = {precision: [name for name in GPU_PEERS if name in found] for precision, found in means.items()}
    for row in report["circuits"]:
        line = [row["circuit"]]
        for precision in ("single", "double"):
            times = row["times"][precision]
            line.append(f"**{ms(times['tilewave'])}**")
            line += [f"{ms(times[p])} ({digits(times['ratios'][p])}x)" if p in times else "-" for p in peers[precision]]
        cells.append(line)
    mean = lambda precision: [f"**{means[precision][p]:.1f}x**" for p in peers[precision]]
    cells.append(["geometric mean", "", *mean("single"), "", *mean("double")])
    packages = [k for k in report["versions"] if k not in ("quasarq", "cucim-cu13", "cupy-cuda13x")]
    titles = ["circuit"]
    for title, precision in (("FP32", "single"), ("FP64", "double")):
        titles += [f"**{title}**", *(f"{GPU_PEERS[p]} {title}" for p in peers[precision])]
    return [*gpu_peers_head(report, report["circuits"], packages), *table(titles, cells)]


def gpu_delivered_table(report):
    """Bit-packed NumPy arrays of detection events."""
    cells = []
    for row in report["delivered"]:
        own, other = (digits(row["times"][name]["shots_per_s"] / 1e6) for name in ("tilewave", "quasarq"))
        cells.append([str(row["distance"]), f"{row['p']:g}", f"**{own}**", other, f"{row['ratio']:.1f}x"])
    head = gpu_peers_head(report, report["delivered"], ["quasarq"])
    return [*head, *table(["distance", "p", "Tilewave", "QuaSARQ", "over it"], cells)]


def gpu_entropy_table(report):
    cells = [[f"{row['window']}x{row['window']}", str(row["classes"]), f"**{ms(row['times']['tilewave'])}**",
              f"{ms(row['times']['cucim'])} ({row['times']['cucim']['backend']})", f"{row['ratio']:.1f}x"]
             for row in report["entropy"]]
    head = gpu_peers_head(report, report["entropy"], ["cucim-cu13", "cupy-cuda13x"])
    return [*head, *table(["window", "classes", "Tilewave", "cuCIM", "times slower"], cells)]


def gpu_shots_table(report):
    """Tilewave beside both samplers of cuStabilizer, shots that stay on the device."""
    millions = lambda entry: digits(entry["shots_per_s"] / 1e6) if "shots_per_s" in entry else "-"
    cells = [[str(row["distance"]), f"{row['p']:g}", f"**{millions(row['times']['tilewave'])}**",
              millions(row["times"]["frames"]), millions(row["times"]["dem"]), f"{row['ratio']:.1f}x"]
             for row in report["codes"]]
    titles = ["distance", "p", "Tilewave", "cuStabilizer, frames", "cuStabilizer, error model", "over the faster"]
    return [*gpu_peers_head(report, report["codes"]), *table(titles, cells)]


def two_gpus_table(report):
    cells = [[title_of(r), str(r["exchanges"]), digits(r["one_ms"]), digits(r["two_ms"]),
              f"{r['one_ms'] / r['two_ms']:.2f}x"] for r in report["rows"]]
    return [f"{report['machine']}; {report['date']}. Milliseconds, medians of repeated runs in double precision from an arbitrary "
            "state.", "", f"Repeat with `{report['command']}`.", "",
            *table(["circuit", "exchanges", "one GPU", "two GPUs", "ratio"], cells)]


def device_arrays_table(report):
    """Shots that stay on a GPU over the same shots counted there: a row a layout and batch."""
    cells = [["counted, M shots/s", "", *(f"{statistics.mean(r['counted']) / 1e6:.0f}" for r in report["rows"])]]
    for layout, batch in dict.fromkeys((a["layout"], a["batch"]) for r in report["rows"] for a in r["arrays"]):
        found = [{(a["layout"], a["batch"]): a for a in r["arrays"]}.get((layout, batch)) for r in report["rows"]]
        cells.append([layout, f"2^{batch.bit_length() - 1}", *(f"{f['of_counted']:.2f}" if f else "" for f in found)])
    columns = [f"{r['engine']}, d={r['distance']}, p={r['p']:g}" for r in report["rows"]]
    return [f"{report['machine']}, {report['package']}; {report['date']}. Tensors over the arrays of a call, warm: their rate over the "
            "one counted.", "", f"Repeat with `{report['command']}`.", "", *table(["layout", "shots a call", *columns], cells)]


@functools.cache
def read(path):
    return json.loads(path.read_text())


TABLES = {
    "peers": lambda: peers_table(read(ROOT / "docs" / "performance.json")),
    "peers-short": lambda: peers_table(read(ROOT / "docs" / "performance.json"), short=True),
    "first-run": lambda: first_run_table(read(BASELINES / "cpu_first_run.json")),
    "doors": lambda: doors_table(read(BASELINES / "cpu_doors.json")),
    "gpu-doors": lambda: doors_table(read(BASELINES / "h100_doors.json")),
    "gradients": lambda: gradients_table(read(BASELINES / "cpu_gradients.json")),
    "nvidia-suite": lambda: nvidia_suite_table(read(BASELINES / "cpu_nvidia_suite.json")),
    "h200": lambda: gpu_table(read(BASELINES / "h200_statevec.json")),
    "h200-questions": lambda: gpu_questions_table(read(BASELINES / "h200_statevec.json")),
    "h200-first-run": lambda: gpu_first_run_table(read(BASELINES / "h200_first_run.json")),
    "h100": lambda: bench_table(read(BASELINES / "h100_bench.json")),
    "gpu-peers": lambda: gpu_peers_table(read(BASELINES / "h100_peers.json")),
    "gpu-peers-shots": lambda: gpu_shots_table(read(BASELINES / "h100_peers.json")),
    "gpu-gate-peers": lambda: gpu_peers_table(read(BASELINES / "h100_gate_peers.json")),
    "gpu-delivered": lambda: gpu_delivered_table(read(BASELINES / "h100_array_peers.json")),
    "gpu-entropy": lambda: gpu_entropy_table(read(BASELINES / "h100_array_peers.json")),
    "gpu-gradients": lambda: gradients_table(read(BASELINES / "h100_gradients.json")),
    "device-arrays": lambda: device_arrays_table(read(BASELINES / "h100_device_arrays.json")),
    "h200x2": lambda: two_gpus_table(read(BASELINES / "h200x2_statevec.json")),
}


def main():
    check = "--check" in sys.argv[1:]
    missing, stale = set(TABLES), 0
    for document in DOCUMENTS:
        text = document.read_text()

        def fresh(match):
            nonlocal stale
            if match["name"] not in TABLES:
                sys.exit(f"error: {document.name} asks for a table '{match['name']}': use {', '.join(TABLES)}")
            missing.discard(match["name"])
            body = "\n".join(TABLES[match["name"]]()) + "\n"
            if body != match["body"]:
                stale += 1
                print(f"{document.relative_to(ROOT)}: the table '{match['name']}' "
                      f"{'is not what bench/report.py prints' if check else 'is renewed'}")
            return match[1] + body + match[4]

        new = TABLE.sub(fresh, text)
        if not check and new != text:
            document.write_text(new)
    figure, picture = ROOT / "docs" / "figures" / "speed.svg", speed_figure(read(ROOT / "docs" / "performance.json"))
    if not figure.exists() or figure.read_text() != picture:
        stale += 1
        print(f"{figure.relative_to(ROOT)} {'is not what bench/report.py draws' if check else 'is renewed'}")
        if not check:
            figure.write_text(picture)
    for name in sorted(missing):
        print(f"no document holds the table '{name}'")
    print(f"{len(TABLES)} tables, {stale} {'out of date' if check else 'renewed'}")
    return 1 if missing or (check and stale) else 0


if __name__ == "__main__":
    sys.exit(main())
