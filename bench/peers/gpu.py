#!/usr/bin/env python3
"""Times Tilewave and other packages on one GPU in one run: state vectors, shots and local entropy.

    bench/peers/gpu.py --qubits 30 --json bench/baselines/h100_peers.json && bench/report.py
    bench/peers/gpu.py --only shots --codes 11:0.001 31:0.01
    bench/peers/gpu.py --only states --without cudaq --json bench/baselines/h100_gate_peers.json
    bench/peers/gpu.py --only delivered tableau entropy --json bench/baselines/h100_array_peers.json
    bench/peers/gpu.py --only leakage

Peers come from PyPI (`cuda-quantum-cu13`; `cuquantum-python-cu13`, `custabilizer-cu13`, `custatevec-cu13`,
`cupy-cuda13x`, `stim`; `pennylane-lightning-gpu`; `quasarq`; `cucim-cu13`; NumPy), and one that cannot be imported is
left out and named. Before anything is timed, results are compared: amplitudes of every family on a small circuit, up
to one phase, of every code how often each detector fires, outcomes of tableaus that are certain, and entropies to
5e-5 bits.

State vectors, from |0...0>. Tilewave: `tilewave bench`, medians, once before and once after the peer; both are in the
JSON, the table has the slower. CUDA-Q: target nvidia, `get_state` of a kernel that has run before, less what the same
gates take on 14 qubits, which is the time of its host code; the median of the rounds. cuStateVec's Ex interface and
lightning.gpu: gpu_states.py.

Shots, left on the device. Tilewave: `tilewave detect --out_format counts`, whole commands of two sizes; their difference
leaves start-up out. cuStabilizer: FrameSimulator.apply and DEMSampler.sample, synchronised, the median of the rounds, at the
best of several batch sizes.

Shots with leakage, counted by the same commands, beside LeakageFrameSimulator: the surface code of docs/leakage.md in
deltakit's words, which the peer runs as `tilewave convert --to custabilizer` writes it, and in the words of
cuStabilizer, one LEAKAGE_PROPAGATE and one LEAKAGE1 a gate, which the peer gets with probabilities as decimals. Rates
of every record and of every detector are compared before.

Shots delivered: bit-packed NumPy arrays that `CompiledDetectorSampler.sample` of the Python package and QuaSARQ's
sampler fill, medians at the best of several batch sizes. Tableaus: one run of a random Clifford circuit from its text.
Entropy: a CuPy array in, one out (gpu_arrays.py).

--json keeps what an older file of that name holds of other circuits and parts; a row has its date and command.
"""
import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from circuits import gpu_name, read_qasm, today  # noqa: E402
from gpu_arrays import CuCim, QuaSarq, measure_delivered, measure_entropy, measure_tableaus  # noqa: E402
from gpu_leakage import CuStabilizerLeakage, measure_leakage  # noqa: E402
from gpu_shots import CuStabilizer, code_file, measure_shots, output_of  # noqa: E402
from gpu_states import PEERS as GATE_PEERS, folded  # noqa: E402
from run import geometric_mean, same_up_to_phase  # noqa: E402

FAMILIES = ["qft", "ghz", "random", "supremacy", "quantum_volume", "ising", "qaoa"]
CODES = ["11:0.001", "31:0.001", "11:0.01", "31:0.01"]
PRECISIONS = ["single", "double"]
TABLEAUS = ["200:100", "1000:100", "5000:20"]
PARTS = ["states", "shots", "leakage", "delivered", "tableau", "entropy"]
LEAKS = ["11:1e-4:1", "11:1e-5:1", "11:1e-3:1", "11:1e-4:0.1"]
# Arguments that choose rows: of which parts, and what stands for all.
CHOICES = [("precision", ["states"], PRECISIONS), ("codes", ["shots", "delivered"], CODES), ("leaks", ["leakage"], LEAKS),
           ("tableaus", ["tableau"], TABLEAUS)]
CHECK_QUBITS, HOST_QUBITS = 8, 14


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("families", nargs="*", help=f"default: {' '.join(FAMILIES)}")
    parser.add_argument("--qubits", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=7, help="of which the median counts (default 7)")
    parser.add_argument("--precision", choices=PRECISIONS, nargs="*", default=PRECISIONS)
    parser.add_argument("--codes", nargs="*", default=CODES, help="distance:p, rotated surface codes")
    parser.add_argument("--tableaus", nargs="*", default=TABLEAUS, help="qubits:layers of random Clifford circuits")
    parser.add_argument("--tilewave", default=str(ROOT / "build" / "cuda" / "tilewave"))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", choices=PARTS, nargs="*", default=PARTS, metavar="PART",
                        help=f"of {' '.join(PARTS)} (all)")
    parser.add_argument("--seconds", type=float, default=3.0,
                        help="no further round of a gate-by-gate peer, a tableau or an entropy after so long (default 3)")
    parser.add_argument("--without", nargs="*", default=[], metavar="PEER",
                        help="of cudaq custatevec custatevec_updater lightning_gpu custabilizer quasarq cucim; "
                             "lightning_gpu:single leaves out one precision of one")
    parser.add_argument("--leaks", nargs="*", default=LEAKS, help="distance:p:relax of codes with leakage")
    parser.add_argument("--json", help="write every number to this file (bench/report.py prints the tables)")
    return parser.parse_args()


# -- state vectors -----------------------------------------------------------------------------------------------------

class CudaQ:
    name = "cudaq"

    def __init__(self):
        import cudaq
        self.cudaq = cudaq

    def use(self, precision):
        self.cudaq.set_target("nvidia", option="fp32" if precision == "single" else "fp64")

    def kernel(self, size, gates):
        kernel = self.cudaq.make_kernel()
        register = kernel.qalloc(size)
        at = [register[size - 1 - k] for k in range(size)]  # its index has the first qubit at the top
        for name, qubits, parameters in gates:
            targets = [at[k] for k in qubits]
            if name == "cp":
                kernel.cr1(parameters[0], *targets)
            else:
                getattr(kernel, name)(*parameters, *targets)
        return kernel

    def amplitudes(self, size, gates):
        state = self.cudaq.get_state(self.kernel(size, gates))
        return [complex(state[k]) for k in range(1 << size)]

    def measure(self, size, gates, small, rounds, budget_s):
        whole = self.seconds(self.kernel(size, gates), rounds)
        host = self.seconds(self.kernel(*small), rounds)
        return {"median_s": statistics.median(whole) - statistics.median(host), "times_s": whole, "host_s": host}

    def seconds(self, kernel, rounds):
        self.cudaq.get_state(kernel)  # compiled here
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            state = self.cudaq.get_state(kernel)
            times.append(time.perf_counter() - start)
            del state
        return times


def tilewave_states(arguments, family):
    text = output_of([arguments.tilewave, "bench", family, "--qubits", arguments.qubits, "--device", arguments.device,
                      "--input", "zeros", "--repeats", arguments.rounds, "--no-limit", "--json", "-"])
    return {r["precision"]: r for r in json.loads(text)["results"]}


def written(arguments, family, qubits, folder):
    output_of([arguments.tilewave, "bench", family, "--qubits", qubits, "--write", folder])
    return Path(folder) / f"{family}_{qubits}.qasm"


def compare_states(arguments, peer, path):
    ours = json.loads(output_of([arguments.tilewave, "run", path, "--device", arguments.device, "--amplitudes",
                                 f"first:{1 << CHECK_QUBITS}", "--json"]))
    if not same_up_to_phase([complex(a["re"], a["im"]) for a in ours["amplitudes"]], peer.amplitudes(*read_qasm(path))):
        sys.exit(f"error: {peer.name} and Tilewave disagree on {path.name}")


def measure_states(arguments, peers, folder):
    """Yields a row a family."""
    for family in arguments.families or FAMILIES:
        row = {"circuit": f"{family}_{arguments.qubits}", "times": {}}
        small_path = written(arguments, family, CHECK_QUBITS, folder)
        size, gates = read_qasm(written(arguments, family, arguments.qubits, folder))
        small = HOST_QUBITS, folded(gates, HOST_QUBITS)
        before = tilewave_states(arguments, family)
        for precision in arguments.precision:
            times = row["times"][precision] = {}
            for peer in peers:
                if f"{peer.name}:{precision}" in arguments.without:
                    continue
                peer.use(precision)
                compare_states(arguments, peer, small_path)
                times[peer.name] = peer.measure(size, gates, small, arguments.rounds, arguments.seconds)
        after = tilewave_states(arguments, family)
        for precision in arguments.precision:
            both = [before[precision]["median_s"], after[precision]["median_s"]]
            times = row["times"][precision]
            times["tilewave"] = {"median_s": max(both), "before_and_after_s": both,
                                 "passes": after[precision]["passes"]}
            times["ratios"] = {p.name: times[p.name]["median_s"] / times["tilewave"]["median_s"]
                               for p in peers if p.name in times}
        print(row["circuit"], {p: {k: round(v["median_s"] * 1e3, 2) for k, v in t.items() if k != "ratios"}
                                  for p, t in row["times"].items()}, flush=True)
        yield row


def peer_or_none(name, make, arguments, report):
    if name in arguments.without:
        return None
    try:
        peer = make()
    except Exception as problem:
        print(f"{name} is left out: {problem}", file=sys.stderr)
        report.setdefault("left_out", {})[name] = str(problem)
        return None
    return peer


def versions():
    from importlib.metadata import PackageNotFoundError, version
    found = {}
    for package in ("cuda-quantum-cu13", "custatevec-cu13", "custabilizer-cu13", "cuquantum-python-cu13",
                    "pennylane-lightning-gpu", "quasarq", "cucim-cu13", "cupy-cuda13x"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            pass
    return found


def means_of(rows):
    """{precision: {peer: geometric mean of its ratios}} over the circuits that have it."""
    means = {}
    for precision in dict.fromkeys(precision for row in rows for precision in row["times"]):
        ratios = [row["times"][precision]["ratios"] for row in rows if precision in row["times"]]
        peers = dict.fromkeys(peer for found in ratios for peer in found)
        means[precision] = {peer: geometric_mean([r[peer] for r in ratios if peer in r]) for peer in peers}
    return means


KEYS = {"circuits": ("circuit",), "codes": ("distance", "p"), "leakage": ("distance", "p", "relax"),
        "delivered": ("distance", "p"), "tableaus": ("qubits", "layers"), "entropy": ("width", "window", "classes")}


def merged(kept, report):
    """The report with the rows of an older one that it does not measure again."""
    for part, names in KEYS.items():
        key = lambda row: tuple(row[name] for name in names)
        now = {key(row) for row in report.get(part, [])}
        if rows := [row for row in kept.get(part, []) if key(row) not in now] + report.get(part, []):
            report[part] = rows
    report["versions"] = {**kept.get("versions", {}), **report.get("versions", {})}
    if report.get("circuits"):
        report["geometric_means"] = means_of(report["circuits"])
    return report


def shown_command(arguments, part):
    """What measures the rows of a part again."""
    words = [*arguments.families] if part == "states" else []
    words += ["--only", part]
    words += ["--without", *arguments.without] if arguments.without else []
    words += ["--qubits", arguments.qubits] if part == "states" else []
    words += ["--rounds", arguments.rounds]
    words += ["--seconds", f"{arguments.seconds:g}"] if part in ("states", "tableau", "entropy") else []
    for name, parts, all_of_them in CHOICES:
        chosen = getattr(arguments, name)
        words += [f"--{name}", *chosen] if part in parts and chosen != all_of_them else []
    return " ".join(map(str, ["bench/peers/gpu.py", *words]))


def main():
    arguments = parse_arguments()
    if not Path(arguments.tilewave).exists():
        sys.exit(f"error: {arguments.tilewave} is not there: build it with cmake --preset cuda")
    name = gpu_name()
    report = {"machine": name, "versions": versions()}
    print(name, report["versions"], flush=True)
    kept = json.loads(Path(arguments.json).read_text()) if arguments.json and Path(arguments.json).exists() else {}
    if kept.get("machine", name) != name:
        sys.exit(f"error: {arguments.json} holds what {kept['machine']} measured: name another file")

    def keep(key, part, rows):
        """Adds rows and writes the file after each: a peer may end the process."""
        for row in rows:
            report.setdefault(key, []).append({**row, "date": today(), "command": shown_command(arguments, part)})
            if arguments.json:
                Path(arguments.json).write_text(json.dumps(merged(kept, dict(report)), indent=1) + "\n")

    with tempfile.TemporaryDirectory() as folder:
        if "states" in arguments.only:
            made = [peer_or_none(kind.name, kind, arguments, report) for kind in [CudaQ, *GATE_PEERS]]
            keep("circuits", "states", measure_states(arguments, [peer for peer in made if peer], folder))
            print("geometric means:", means_of(report["circuits"]), flush=True)
        if "shots" in arguments.only:
            peer = peer_or_none("custabilizer", CuStabilizer, arguments, report)
            keep("codes", "shots", measure_shots(arguments, peer, folder))
        if "leakage" in arguments.only:
            peer = peer_or_none("custabilizer", CuStabilizerLeakage, arguments, report)
            keep("leakage", "leakage", measure_leakage(arguments, peer, folder))
        if {"delivered", "tableau"} & set(arguments.only):
            peer = peer_or_none("quasarq", QuaSarq, arguments, report)
            if "delivered" in arguments.only:
                codes = [code_file(arguments, code, folder) for code in arguments.codes]
                texts = [(distance, p, path.read_text()) for distance, p, path in codes]
                keep("delivered", "delivered", measure_delivered(arguments, peer, texts))
            if "tableau" in arguments.only:
                sizes = [tuple(map(int, word.split(":"))) for word in arguments.tableaus]
                keep("tableaus", "tableau", measure_tableaus(arguments, peer, sizes))
        if "entropy" in arguments.only:
            keep("entropy", "entropy", measure_entropy(arguments, peer_or_none("cucim", CuCim, arguments, report)))


if __name__ == "__main__":
    main()
