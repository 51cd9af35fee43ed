#!/usr/bin/env python3
"""gradients.py [--qubits 8 12 16 20 24] [--layers 2] [--threads N] [--device cuda] [--json FILE]: values and gradients, beside PennyLane's lightning.qubit.

Strongly entangling layers (RZ RY RZ on every qubit, a ring of CX whose range grows with the layer) and the Hamiltonian of an Ising chain in a
field. Both packages compute the same numbers first, to 1e-9; then each is timed in this process, the median of several calls: wall-clock time, and
the time of the processor where --cpu is given (on a machine that others use). Lightning is called at the level of its device, without the QNode around
it. Without PennyLane only our own columns are filled. A batch of 100 sets of values at 8 qubits comes last.
"""
import argparse
import json
import os
import platform
import statistics
import sys
import time

import numpy as np
import tilewave as tw


def ranges(n, layers):
    return [layer % (n - 1) + 1 for layer in range(layers)]


def our_circuit(n, layers):
    theta = iter(tw.parameters("w", 3 * n * layers))
    circuit = tw.Circuit(n)
    for reach in ranges(n, layers):
        for q in range(n):
            circuit.rz(next(theta), q).ry(next(theta), q).rz(next(theta), q)
        for q in range(n):
            circuit.cx(q, (q + reach) % n)
    return circuit


def hamiltonian(n):
    return {**{f"Z{k} Z{k + 1}": 1.0 for k in range(n - 1)}, **{f"X{k}": 0.5 for k in range(n)}}


class Lightning:
    def __init__(self, n, layers):
        import pennylane as qml
        from pennylane.devices import ExecutionConfig
        self.qml, self.n, self.layers = qml, n, layers
        self.device = qml.device("lightning.qubit", wires=n)
        self.config = ExecutionConfig(gradient_method="adjoint", use_device_jacobian_product=False)
        self.sum = qml.Hamiltonian([1.0] * (n - 1) + [0.5] * n,
                                   [qml.Z(k) @ qml.Z(k + 1) for k in range(n - 1)] + [qml.X(k) for k in range(n)])

    def tape(self, values):
        qml, w, operations = self.qml, iter(values), []
        for reach in ranges(self.n, self.layers):
            for q in range(self.n):
                operations += [qml.RZ(next(w), q), qml.RY(next(w), q), qml.RZ(next(w), q)]
            operations += [qml.CNOT([q, (q + reach) % self.n]) for q in range(self.n)]
        tape = qml.tape.QuantumScript(operations, [qml.expval(self.sum)])
        tape.trainable_params = list(range(len(values)))
        return tape

    def value(self, tape):
        return float(self.device.execute([tape], self.config)[0])

    def value_and_grad(self, tape):
        (value,), (gradient,) = self.device.execute_and_compute_derivatives([tape], self.config)
        return float(np.squeeze(value)), np.array([float(g) for g in gradient])

    def batch(self, values):
        """Forward values by broadcasting, through a QNode as people write it."""
        qml = self.qml

        @qml.qnode(self.device, diff_method="adjoint")
        def energy(w):
            at = 0
            for reach in ranges(self.n, self.layers):
                for q in range(self.n):
                    qml.RZ(w[:, at], q), qml.RY(w[:, at + 1], q), qml.RZ(w[:, at + 2], q)
                    at += 3
                for q in range(self.n):
                    qml.CNOT([q, (q + reach) % self.n])
            return qml.expval(self.sum)

        return energy(values)


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


def median_ms(call, clock, seconds):
    times, begin = [], time.perf_counter()
    while not times or (len(times) < 3 and time.perf_counter() < begin + 5 * seconds) or (
            time.perf_counter() < begin + seconds and len(times) < 200):
        start = clock()
        call()
        times.append(1e3 * (clock() - start))
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qubits", type=int, nargs="+", default=[8, 12, 16, 20, 24])
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=0, help="of both packages (0: all)")
    parser.add_argument("--seconds", type=float, default=2.0, help="until so long; three calls at least, but no more than five times as long")
    parser.add_argument("--cpu", action="store_true", help="time of the processor instead of wall-clock time")
    parser.add_argument("--device", default="cpu", help="ours: cpu, cuda or cuda:<index>")
    parser.add_argument("--sets", type=int, default=100, help="of the batch")
    parser.add_argument("--json", help="write the rows here")
    a = parser.parse_args()
    if a.threads:
        os.environ["OMP_NUM_THREADS"] = str(a.threads)  # read when lightning starts its first thread
    clock = time.process_time if a.cpu else time.perf_counter
    try:
        import pennylane  # noqa: F401
        has_lightning = True
    except ImportError:
        has_lightning = False
        print("PennyLane is not installed: only our own times", file=sys.stderr)
    rows = []
    print(f"{platform.machine()}, {os.cpu_count()} processors, {'processor' if a.cpu else 'wall-clock'} milliseconds, medians")
    print(f"{'':28}{'value':>12}{'value+grad':>12}{'lightning':>12}{'and grad':>12}{'gain':>8}{'forward run':>13}{'ratio':>7}")
    for n in a.qubits:
        circuit, values = our_circuit(n, a.layers), np.random.default_rng(1).normal(size=3 * n * a.layers)
        f = circuit.compile(hamiltonian(n), threads=a.threads, device=a.device)
        row = {"circuit": f"strongly_entangling_{n}x{a.layers}", "qubits": n, "parameters": len(values)}
        energy, gradient = f.value_and_grad(values)
        if has_lightning:
            peer = Lightning(n, a.layers)
            tape = peer.tape(values)
            other, other_gradient = peer.value_and_grad(tape)
            off = max(abs(energy - other), np.abs(gradient - other_gradient).max())
            if off > 1e-9:
                sys.exit(f"{row['circuit']}: the packages differ by {off}")
            row["lightning_value_ms"] = median_ms(lambda: peer.value(tape), clock, a.seconds)
            row["lightning_value_and_grad_ms"] = median_ms(lambda: peer.value_and_grad(tape), clock, a.seconds)
        bound = circuit.bind(values)
        tw.State(bound, threads=a.threads, device=a.device)
        row["forward_run_ms"] = median_ms(lambda: tw.State(bound, threads=a.threads, device=a.device), clock, a.seconds)
        row["value_ms"] = median_ms(lambda: f.expectation(values), clock, a.seconds)
        row["value_and_grad_ms"] = median_ms(lambda: f.value_and_grad(values), clock, a.seconds)
        own, theirs = row["value_and_grad_ms"], row.get("lightning_value_and_grad_ms", float("nan"))
        print(f"{row['circuit']:28}{row['value_ms']:12.3f}{own:12.3f}{row.get('lightning_value_ms', float('nan')):12.3f}{theirs:12.3f}"
              f"{theirs / own:7.1f}x{row['forward_run_ms']:13.3f}{own / row['forward_run_ms']:7.2f}")
        rows.append(row)
    n, sets = 8, a.sets
    circuit, values = our_circuit(n, a.layers), np.random.default_rng(2).normal(size=(sets, 3 * n * a.layers))
    f = circuit.compile(hamiltonian(n), threads=a.threads, device=a.device)
    row = {"circuit": f"strongly_entangling_{n}x{a.layers}", "qubits": n, "sets": sets}
    energies, gradients = f.value_and_grad(values)
    if has_lightning:
        peer = Lightning(n, a.layers)
        tapes = [peer.tape(v) for v in values]
        checked = [peer.value_and_grad(tape) for tape in tapes[:5]]
        off = max(max(abs(e - energies[k]), np.abs(g - gradients[k]).max()) for k, (e, g) in enumerate(checked))
        off = max(off, np.abs(np.asarray(peer.batch(values)) - energies).max())
        if off > 1e-9:
            sys.exit(f"batch: the packages differ by {off}")
        row["lightning_broadcast_value_ms"] = median_ms(lambda: peer.batch(values), clock, a.seconds)
        row["lightning_value_ms"] = median_ms(lambda: [peer.value(tape) for tape in tapes], clock, a.seconds)
        row["lightning_value_and_grad_ms"] = median_ms(lambda: [peer.value_and_grad(tape) for tape in tapes], clock, a.seconds)
    row["value_ms"] = median_ms(lambda: f.expectation(values), clock, a.seconds)
    row["value_and_grad_ms"] = median_ms(lambda: f.value_and_grad(values), clock, a.seconds)
    rows.append(row)
    print(f"{sets} sets at {n} qubits: " + ", ".join(f"{k[:-3]} {v:.3f}" for k, v in row.items() if k.endswith("_ms")))
    if a.json:
        with open(a.json, "w", encoding="utf-8") as file:
            json.dump({"command": " ".join(["bench/gradients.py", *sys.argv[1:]]), "machine": {"cpu": cpu_name()},
                       "date": time.strftime("%Y-%m-%d"), "threads": a.threads, "device": a.device, "clock": "processor" if a.cpu else "wall-clock",
                       "rows": rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
