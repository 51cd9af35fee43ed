#!/usr/bin/env python3
"""Tilewave as back ends of NVIDIA's public benchmark package, nv-quantum-benchmarks (version 0.6.1, of
github.com/NVIDIA/cuQuantum).

    bench/peers/nvidia_suite.py circuit --frontend cirq --backend cirq-tilewave --benchmark qft --nqubits 20
    bench/peers/nvidia_suite.py compare --nqubits 20 --peers cirq aer
    bench/peers/nvidia_suite.py compare --nqubits 30 --device cuda --peers qsim-cusv aer-cusv

The first is the package's own command, `nv-quantum-benchmarks`, to which four back ends are added: cirq-tilewave
and qiskit-tilewave on the CPU, cirq-tilewave-cuda and qiskit-tilewave-cuda on one GPU (--ngpus 1). They take the
package's options --precision, --ncputhreads and --nshots, and the compute modes statevector, sampling,
expectation and amplitude.

`compare` holds them against back ends of the package that have the same front end, on every benchmark of the
package. Results are compared before anything is timed: all amplitudes of the final state, the expectation of a
random Pauli string, and how often each bit is one in a sample, which the peer's state tells. Times are those that
the package measures, means of --repeats runs after --warmups; both take turns, --rounds times, and the median of
the rounds counts. As in the package's back ends, what is converted or transpiled before a circuit runs is not in
them; what a back end does anew for every run is, planning too. On a GPU the state stays there, as CUDA-Q's does.

The package is installed from its repository (`pip install ./benchmarks`, which needs cupy and nvtx to be
importable, a GPU only for back ends on one), peers from PyPI: cirq-core, qiskit-aer, qsimcirq.
"""

import argparse
import json
import logging
import os
import statistics
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import tilewave as tw

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from circuits import cpu_name, today  # noqa: E402

MODES = ["statevector", "sampling", "expectation", "amplitude"]
FRONT_ENDS = {
    "cirq": "cirq",
    "qsim": "cirq",
    "qsim-cuda": "cirq",
    "qsim-cusv": "cirq",
    "aer": "qiskit",
    "aer-cuda": "qiskit",
    "aer-cusv": "qiskit",
}
MOST_APART = {"single": 2e-5, "double": 1e-11}  # the norm of the difference of two states
SHOTS = 1 << 14


def package(name):
    """A module of the package."""
    import importlib

    try:
        return importlib.import_module("nv_quantum_benchmarks" + name)
    except ImportError as problem:
        sys.exit(
            f"error: nv_quantum_benchmarks is not usable: {problem}. Install it: "
            "git clone https://github.com/NVIDIA/cuQuantum && pip install --no-deps ./cuQuantum/benchmarks, "
            "and psutil, scipy, networkx, nvtx and cupy"
        )


# Which of n qubits of a tilewave.Circuit is qubit k of the package, for each front end.
PLACES = {"cirq": lambda k, n: n - 1 - k, "qiskit": lambda k, n: k}


class TilewaveBackend:
    """What the package calls: `preprocess_circuit` once, `run` for every repetition. `convert` makes a
    tilewave.Circuit of the front end's; `place` is that front end's of PLACES."""

    def __init__(self, ngpus, ncpu_threads, precision, *, convert, place, on_gpu, **_):
        if ngpus != (1 if on_gpu else 0):
            raise ValueError(f"this back end runs on {'one GPU: --ngpus 1' if on_gpu else 'the CPU: --ngpus 0'}")
        if on_gpu and not tw.built_with_cuda():
            raise RuntimeError(
                "this build of tilewave has no CUDA back end: install tilewave where nvcc is found, or a wheel with it"
            )
        self.version = tw.__version__
        self._convert, self._place = convert, place
        self._how = {"precision": precision, "device": "cuda" if on_gpu else "cpu", "threads": ncpu_threads}
        self._stays = {"on_device": True} if on_gpu else {}

    def preprocess_circuit(self, circuit, *, compute_mode, pauli=None, **_):
        if compute_mode not in MODES:
            raise ValueError(f"no compute mode '{compute_mode}': use {', '.join(MODES)}")
        self._mode, self._circuit = compute_mode, self._convert(circuit)
        n = self._circuit.num_qubits
        self._observable = (
            " ".join(f"{letter}{self._place(k, n)}" for k, letter in enumerate((pauli or [])[:n]) if letter != "I")
            or "I"
        )
        return {"compute-mode": f"{compute_mode}()", "ncputhreads": self._how["threads"]}

    def pre_run(self, circuit, *args, **kwargs):
        pass

    def run(self, circuit, nshots=1024):
        results = samples = None
        if self._mode == "sampling":
            samples = tw.sample_bits(self._circuit, nshots, **self._how)
        elif self._mode == "statevector":
            results = tw.simulate(self._circuit, **self._how, **self._stays)
        elif self._mode == "expectation":
            results = tw.expectation(self._circuit, self._observable, **self._how)
        else:
            results = tw.amplitudes(self._circuit, [0], **self._how)
        return {"results": results, "post_results": samples, "run_data": {}}


def back_ends():
    """{name: (what makes the back end, its default configuration)}."""

    def from_cirq(circuit):
        from tilewave.cirq import from_cirq

        return from_cirq(circuit)

    made = {}
    for front_end, convert in (("cirq", from_cirq), ("qiskit", tw.Circuit.from_qiskit)):
        for on_gpu in (False, True):

            def make(*arguments, convert=convert, place=PLACES[front_end], on_gpu=on_gpu, **options):
                return TilewaveBackend(*arguments, convert=convert, place=place, on_gpu=on_gpu, **options)

            made[f"{front_end}-tilewave{'-cuda' if on_gpu else ''}"] = make, {
                "nshots": 1024,
                "nfused": None,
                "ngpus": int(on_gpu),
                "ncputhreads": os.cpu_count(),
                "precision": "single",
                "compute_mode": "sampling",
            }
    return made


def register():
    """Adds the back ends to the package's tables, before its command line is made of them. It tells by the
    beginning of a back end's name which front ends go with it."""
    backends, configurations = package(".backends").backends, package(".config").backends
    on_cpu = package(".run_interface").CPU_BACKENDS
    for name, (make, configuration) in back_ends().items():
        backends[name], configurations[name] = make, {"config": configuration}
        if not configuration["ngpus"]:
            on_cpu.add(name)


# -- comparison ------------------------------------------------------------------------------------------------------


def state_of(peer, circuit):
    """The final state of one of the package's back ends that is set up for statevector, by the simulator that it
    holds. The front end's first qubit is the highest bit of an index for Cirq, the lowest for Qiskit."""
    if not hasattr(peer, "transpiled_qc"):
        return np.asarray(peer.backend.simulate(peer.updated_circuit).final_state_vector)
    import qiskit

    # the package has the circuit optimised for its outcomes, which may exchange qubits and change phases
    whole = qiskit.transpile(circuit.remove_final_measurements(inplace=False), peer.backend, optimization_level=0)
    whole.save_statevector(label="statevector")
    return np.asarray(peer.backend.run(whole, shots=1).result().data()["statevector"])


def expected(state, pauli, place):
    """<state|P|state> with a letter of P for every qubit of the package."""
    n = state.size.bit_length() - 1
    other = state.astype(np.complex128).reshape((2,) * n)
    matrices = {"X": [[0, 1], [1, 0]], "Y": [[0, -1j], [1j, 0]], "Z": [[1, 0], [0, -1]]}
    for k, letter in enumerate(pauli[:n]):
        if letter != "I":
            axis = n - 1 - place(k, n)
            other = np.moveaxis(np.tensordot(np.array(matrices[letter]), other, (1, axis)), 0, axis)
    return np.vdot(state, other.reshape(-1)).real


class Comparison:
    def __init__(self, arguments):
        self.a = arguments
        self.benchmarks = package(".config").benchmarks
        self.rng = np.random.default_rng(1)

    def options(self, name, precision, threads):
        """What the package passes to its back ends."""
        on_gpu = name.endswith(("-cuda", "-cusv"))
        return (int(on_gpu), threads, precision), {
            "nqubits": self.a.nqubits,
            "nfused": 2 if name.startswith("qsim") else None,
            "nhypersamples": 32,
            "cusvaer_global_index_bits": -1,
            "cusvaer_p2p_device_bits": -1,
            "cusvaer_data_transfer_buffer_bits": 26,
            "cusvaer_comm_plugin_type": "mpi_auto",
            "cusvaer_comm_plugin_soname": "",
        }

    def made(self, name, circuit, mode, pauli=None):
        arguments, options = self.options(name, self.a.precision, self.a.threads)
        backend = package(".backends").createBackend(name, *arguments, **options)
        backend.preprocess_circuit(circuit, circuit_filename="", compute_mode=mode, pauli=pauli)
        return backend

    def check(self, benchmark, peer_name, own_name):
        """Exits where the two disagree; returns how far their states are apart."""
        config = {**self.benchmarks[benchmark]["config"], "precision": self.a.precision}
        package("._utils").reseed(1234)
        try:
            gates = self.benchmarks[benchmark]["benchmark"].generateGatesSequence(self.a.nqubits, config)
        except ValueError as problem:  # simon has an even number of qubits
            sys.exit(f"error: {problem}: choose another --nqubits, or --benchmarks")
        circuit = (
            package(".frontends").createFrontend(FRONT_ENDS[peer_name], self.a.nqubits, config).generateCircuit(gates)
        )
        what = f"{benchmark}_{self.a.nqubits}: {own_name} and {peer_name}"
        theirs = state_of(self.made(peer_name, circuit, "statevector"), circuit)
        ours = self.made(own_name, circuit, "statevector").run(circuit)["results"]
        ours = np.asarray(tw.to_host(ours)).reshape(-1)
        if ours.shape != theirs.shape:
            sys.exit(f"error: {what}: states of {ours.size} and {theirs.size} amplitudes")
        apart = float(np.linalg.norm(ours - theirs))
        if not apart <= MOST_APART[self.a.precision]:
            sys.exit(f"error: {what}: the states are {apart:.1e} apart")

        place = PLACES[FRONT_ENDS[peer_name]]
        pauli = list(self.rng.choice(list("IXYZ"), self.a.nqubits))
        mean = self.made(own_name, circuit, "expectation", pauli).run(circuit)["results"]
        if not abs(mean - expected(theirs, pauli, place)) <= 2 * MOST_APART[self.a.precision]:
            sys.exit(
                f"error: {what}: the expectation of {''.join(pauli)} is {mean}, and {expected(theirs, pauli, place)}"
            )

        bits = self.made(own_name, circuit, "sampling").run(circuit, SHOTS)["post_results"]
        measured = gates[-1].targets
        if bits.shape != (SHOTS, len(measured)):
            sys.exit(f"error: {what}: samples of the shape {bits.shape}, of {len(measured)} measured qubits")
        probabilities = (abs(theirs) ** 2).reshape((2,) * (theirs.size.bit_length() - 1))
        for column, qubit in enumerate(measured):
            axis = probabilities.ndim - 1 - place(qubit, probabilities.ndim)
            p = float(np.take(probabilities, 1, axis).sum())
            if abs(bits[:, column].mean() - p) > 6 * (max(p * (1 - p), 1 / SHOTS) / SHOTS) ** 0.5:
                sys.exit(
                    f"error: {what}: qubit {qubit} is one in {bits[:, column].mean()} of {SHOTS} shots, "
                    f"its probability {p}"
                )
        return apart

    def seconds(self, benchmark, backend, mode):
        """What the package's command measures and writes into its folder."""
        front_end = FRONT_ENDS.get(backend) or backend.split("-")[0]
        with tempfile.TemporaryDirectory() as folder:
            words = [
                "circuit",
                "--frontend",
                front_end,
                "--backend",
                backend,
                "--benchmark",
                benchmark,
                "--nqubits",
                self.a.nqubits,
                "--precision",
                self.a.precision,
                "--compute-mode",
                mode,
                "--nwarmups",
                self.a.warmups,
                "--nrepeats",
                self.a.repeats,
                "--cachedir",
                folder,
            ]
            if self.a.device == "cpu":
                words += ["--ncputhreads", self.a.threads]
            package(".run").run([str(word) for word in words])
            [measured] = json.loads((Path(folder) / "data" / f"{benchmark}.json").read_text())[
                str(self.a.nqubits)
            ].values()
        return measured["cpu_time"] if self.a.device == "cpu" else max(measured["cpu_time"], measured["gpu_time"])

    def row(self, benchmark):
        row = {"benchmark": benchmark, "qubits": self.a.nqubits, "times": {}, "apart": {}}
        for peer in self.a.peers:
            own = FRONT_ENDS[peer] + "-tilewave" + ("-cuda" if self.a.device == "cuda" else "")
            row["apart"][peer] = self.check(benchmark, peer, own)
            for mode in self.a.modes:
                taken = {name: [] for name in (peer, own)}
                for _ in range(self.a.rounds):
                    for name, times in taken.items():
                        times.append(self.seconds(benchmark, name, mode))
                for name, times in taken.items():
                    row["times"].setdefault(mode, {})[f"{name}, for {peer}" if name == own else name] = {
                        "median_s": statistics.median(times),
                        "times_s": times,
                    }
        return row


def versions():
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("nv-quantum-benchmarks", "cirq-core", "qiskit", "qiskit-aer", "qsimcirq"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            pass
    return found


def compare(words):
    parser = argparse.ArgumentParser(
        prog="nvidia_suite.py compare", description="Our back ends beside those of the package, results first."
    )
    parser.add_argument("--benchmarks", nargs="*", help="of the package (all)")
    parser.add_argument("--nqubits", type=int, default=20)
    parser.add_argument(
        "--peers",
        nargs="+",
        choices=FRONT_ENDS,
        default=["cirq"],
        metavar="PEER",
        help=f"of {', '.join(FRONT_ENDS)} (cirq)",
    )
    parser.add_argument("--modes", nargs="+", choices=["statevector", "sampling"], default=["statevector"])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="ours")
    parser.add_argument(
        "--precision", choices=["single", "double"], default="single", help="cirq and qsim have single only"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warmups", type=int, default=3, help="a plan is searched for in the first runs of a circuit")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", help="write every number here")
    a = parser.parse_args(words)
    logging.disable(
        logging.INFO
    )  # a line of the package's for every number, and a warning for each of its Cirq back ends
    warnings.filterwarnings("ignore", "cannot set the number of CPU threads")
    comparison, rows = Comparison(a), []
    for benchmark in a.benchmarks or comparison.benchmarks:
        if benchmark not in comparison.benchmarks:
            parser.error(f"no benchmark '{benchmark}': use {', '.join(comparison.benchmarks)}")
        rows.append(comparison.row(benchmark))
        row = rows[-1]
        print(
            f"{benchmark}_{a.nqubits}: states apart by "
            + ", ".join(f"{apart:.0e} ({peer})" for peer, apart in row["apart"].items()),
            flush=True,
        )
        for mode, times in row["times"].items():
            for peer in a.peers:
                [own] = [t["median_s"] for name, t in times.items() if name.endswith(f"for {peer}")]
                theirs = times[peer]["median_s"]
                print(
                    f"  {mode:12} {peer} {1e3 * theirs:.3g} ms, tilewave {1e3 * own:.3g} ms: {theirs / own:.1f}x",
                    flush=True,
                )
    if a.json:
        report = {
            "command": "bench/peers/nvidia_suite.py compare " + " ".join(map(str, words)),
            "machine": {"cpu": cpu_name()},
            "date": today(),
            "versions": versions(),
            "threads": a.threads,
            "precision": a.precision,
            "device": a.device,
            "rows": rows,
        }
        Path(a.json).write_text(json.dumps(report, indent=1) + "\n")


def main():
    if sys.argv[1:2] in ([], ["-h"], ["--help"]):
        print(__doc__.strip())
        return
    register()
    if sys.argv[1] == "compare":
        compare(sys.argv[2:])
    else:
        package(".run").run(sys.argv[1:])


if __name__ == "__main__":
    main()
