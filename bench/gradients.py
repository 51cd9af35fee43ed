#!/usr/bin/env python3
"""gradients.py [--qubits 8 12 16 20 24] [--layers 2] [--threads N] [--device cuda] [--peers NAME...] [--json FILE]:
values and gradients, beside other packages.

Strongly entangling layers (RZ RY RZ on every qubit, a ring of CX whose range grows with the layer) and the
Hamiltonian of an Ising chain in a field, in double precision. Peers are lightning.qubit, Qulacs, scaluq,
MindQuantum and TensorCircuit-NG on JAX, and with --device cuda lightning.gpu (bench/peers/gradient_peers.py); one
that is not installed is named and left out. Every package computes the same numbers first, to 1e-9; then each is
timed in this process, the median of several calls: wall-clock time, and the time of the processor where --cpu is
given (on a machine that others use). A batch of 100 sets of values at 8 qubits comes last: peers that have no batches take one set after the
other.

--json replaces the rows of the circuits measured now in a file that is there, and keeps its others.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import numpy as np  # noqa: E402
import tilewave as tw  # noqa: E402

from circuits import cpu_name, gpu_name, today  # noqa: E402
from gradient_peers import PEERS, gates, terms  # noqa: E402

MOST_OFF = 1e-9


def our_circuit(n, layers):
    theta = tw.parameters("w", 3 * n * layers)
    circuit = tw.Circuit(n)
    for name, qubits, at in gates(n, layers):
        getattr(circuit, name)(*([] if at is None else [theta[at]]), *qubits)
    return circuit


def hamiltonian(n):
    return {" ".join(f"{letter}{q}" for q, letter in term.items()): coefficient for coefficient, term in terms(n)}


def median_ms(call, clock, seconds):
    times, begin = [], time.perf_counter()
    while (
        not times
        or (len(times) < 3 and time.perf_counter() < begin + 5 * seconds)
        or (time.perf_counter() < begin + seconds and len(times) < 200)
    ):
        start = clock()
        call()
        times.append(1e3 * (clock() - start))
    return statistics.median(times)


def check(what, peer, off):
    if not off <= MOST_OFF:
        sys.exit(f"error: {what}: {peer.name} and Tilewave differ by {off:.1e}")


class Bench:
    def __init__(self, arguments, peers):
        self.a, self.peers = arguments, list(peers)
        self.clock = time.process_time if arguments.cpu else time.perf_counter

    def ms(self, call):
        return median_ms(call, self.clock, self.a.seconds)

    def made(self, n):
        """The peers that are there and take so many qubits."""
        for kind in list(self.peers):
            if n > kind.most_qubits:
                continue
            try:
                yield kind(n, self.a.layers, self.a.threads)
            except ImportError as problem:
                print(f"{kind.name} is left out: {problem} (pip install {kind.package})", file=sys.stderr)
                self.peers.remove(kind)

    def row(self, n):
        circuit, values = our_circuit(n, self.a.layers), np.random.default_rng(1).normal(size=3 * n * self.a.layers)
        f = circuit.compile(hamiltonian(n), threads=self.a.threads, device=self.a.device)
        row = {
            "circuit": f"strongly_entangling_{n}x{self.a.layers}",
            "qubits": n,
            "parameters": len(values),
            "date": today(),
            "peers": {},
        }
        energy, gradient = f.value_and_grad(values)
        for peer in self.made(n):
            ready = peer.prepare(values)
            other, other_gradient = peer.value_and_grad(ready)
            check(
                row["circuit"],
                peer,
                max(abs(energy - other), abs(energy - peer.value(ready)), np.abs(gradient - other_gradient).max()),
            )
            row["peers"][peer.name] = {
                "value_ms": self.ms(lambda: peer.value(ready)),
                "value_and_grad_ms": self.ms(lambda: peer.value_and_grad(ready)),
            }
        bound = circuit.bind(values)
        tw.State(bound, threads=self.a.threads, device=self.a.device)
        row["forward_run_ms"] = self.ms(lambda: tw.State(bound, threads=self.a.threads, device=self.a.device))
        row["value_ms"] = self.ms(lambda: f.expectation(values))
        row["value_and_grad_ms"] = self.ms(lambda: f.value_and_grad(values))
        return row

    def batch_row(self, n=8):
        sets = self.a.sets
        circuit, values = our_circuit(n, self.a.layers), np.random.default_rng(2).normal(
            size=(sets, 3 * n * self.a.layers)
        )
        f = circuit.compile(hamiltonian(n), threads=self.a.threads, device=self.a.device)
        row = {
            "circuit": f"strongly_entangling_{n}x{self.a.layers}",
            "qubits": n,
            "sets": sets,
            "date": today(),
            "peers": {},
        }
        energies, gradients = f.value_and_grad(values)
        for peer in self.made(n):
            ready = peer.prepare_batch(values)
            found = peer.batch_value_and_grad(ready)
            check(
                f"{sets} sets at {n} qubits",
                peer,
                max(max(abs(e - energies[k]), np.abs(g - gradients[k]).max()) for k, (e, g) in enumerate(found)),
            )
            times = row["peers"][peer.name] = {"value_and_grad_ms": self.ms(lambda: peer.batch_value_and_grad(ready))}
            if hasattr(peer, "broadcast"):
                check(f"{sets} sets at {n} qubits", peer, np.abs(np.asarray(peer.broadcast(values)) - energies).max())
                times["broadcast_value_ms"] = self.ms(lambda: peer.broadcast(values))
        row["value_ms"] = self.ms(lambda: f.expectation(values))
        row["value_and_grad_ms"] = self.ms(lambda: f.value_and_grad(values))
        return row


def show(row):
    own = row["value_and_grad_ms"]
    name = row["circuit"] + (f", {row['sets']} sets" if "sets" in row else "")
    run = f", run {row['forward_run_ms']:.3g} ms" if "forward_run_ms" in row else ""
    print(
        f"{name}: value {row['value_ms']:.3g} ms, with gradient {own:.3g} ms{run}; with gradient "
        + ", ".join(
            f"{peer} {times['value_and_grad_ms']:.3g} ms ({times['value_and_grad_ms'] / own:.1f}x)"
            for peer, times in row["peers"].items()
        ),
        flush=True,
    )


def write(path, report):
    """Rows of other circuits stay."""
    key = lambda row: (row["circuit"], row.get("sets", 0))
    path = Path(path)
    kept = json.loads(path.read_text()) if path.exists() else {"rows": []}
    now = {key(row) for row in report["rows"]}
    report["rows"] = sorted(
        report["rows"] + [row for row in kept["rows"] if key(row) not in now],
        key=lambda row: ("sets" in row, row["qubits"]),
    )
    report["versions"] = {**kept.get("versions", {}), **report["versions"]}
    path.write_text(json.dumps(report, indent=1) + "\n")


def versions_of(packages):
    """Of those that are installed: a run leaves out the others."""
    found = {}
    for package in packages:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def main(words=None):
    names = [kind.name for kind in PEERS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qubits", type=int, nargs="*", default=[8, 12, 16, 20, 24])
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=0, help="of all packages (0: all)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=2.0,
        help="until so long; three calls at least, but no more than five times as long",
    )
    parser.add_argument("--cpu", action="store_true", help="time of the processor instead of wall-clock time")
    parser.add_argument("--device", default="cpu", help="ours: cpu, cuda or cuda:<index>")
    parser.add_argument(
        "--peers",
        nargs="*",
        choices=names,
        metavar="NAME",
        help=f"of {', '.join(names)} (all that run on the kind of device)",
    )
    parser.add_argument("--sets", type=int, default=100, help="of the batch; 0: no batch")
    parser.add_argument("--json", help="write the rows here")
    a = parser.parse_args(words)
    if a.threads:
        os.environ["OMP_NUM_THREADS"] = str(a.threads)  # read when a peer starts its first thread
    os.environ.setdefault("OMP_PROC_BIND", "false")  # of which scaluq would speak otherwise
    warnings.filterwarnings("ignore", module="tensorcircuit|jax")
    settings = {
        "machine": {"cpu": cpu_name(), **({"gpu": gpu_name()} if a.device.startswith("cuda") else {})},
        "threads": a.threads,
        "device": a.device,
        "clock": "processor" if a.cpu else "wall-clock",
        "seconds": a.seconds,
    }
    if a.json and Path(a.json).exists():  # rows stand side by side there
        kept = json.loads(Path(a.json).read_text())
        other = {k: kept[k] for k, mine in settings.items() if k in kept and kept[k] != mine}
        if other:
            parser.error(f"{a.json} was measured with {json.dumps(other)}: name another file")
    on_gpu = a.device.startswith("cuda")
    asked = lambda kind: kind.on_gpu == on_gpu if a.peers is None else kind.name in a.peers
    bench, rows = Bench(a, [kind for kind in PEERS if asked(kind)]), []
    machine = gpu_name() if on_gpu else cpu_name()
    print(f"{machine}; {'processor' if a.cpu else 'wall-clock'} milliseconds, medians", flush=True)
    for n in a.qubits:
        rows.append(bench.row(n))
        show(rows[-1])
    if a.sets:
        rows.append(bench.batch_row())
        show(rows[-1])
    if a.json:
        command = " ".join(["bench/gradients.py", *(sys.argv[1:] if words is None else map(str, words))])
        versions = versions_of(kind.package for kind in bench.peers)
        write(a.json, {"command": command, **settings, "versions": versions, "rows": rows})


if __name__ == "__main__":
    main()
