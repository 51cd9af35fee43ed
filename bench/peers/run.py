#!/usr/bin/env python3
"""Times Tilewave and its peers on the same circuits in one run, and prints the table of docs/performance.md.

    bench/peers/run.py --qubits 24 --json docs/performance.json && bench/report.py
    bench/peers/run.py --quest /opt/quest ...        # with QuEST v4, see below
    bench/peers/run.py --without qsim aer qulacs --json bench/baselines/cpu_first_run.json && bench/report.py

Peers: qsim (qsimcirq), Qiskit Aer and Qulacs, installed with pip into a virtual environment; QuEST v4 where --quest
names an installation (quest.h and libQuEST*): quest_driver.c is compiled against it. Build QuEST
optimised, or the comparison is unfair to it:

    cmake -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="-Ofast -march=native" -DCMAKE_INSTALL_PREFIX=/opt/quest
    cmake --build build --parallel && cmake --install build

How a time is taken. Planning (or fusion) plus execution on a state that exists already; reading the circuit, starting
the program and allocating do not count. qsim: the seconds its simulator reports for fusion and simulation. Qulacs:
optimisation of the circuit plus update_quantum_state. Aer: the experiment's own time_taken, which cannot leave out
allocating the state. QuEST: the loop over its gates. Tilewave: `tilewave bench`, from an arbitrary product state, a
repeated run: its plan is the one that was searched for when the circuit was planned for the second time. Beside it
stand its time from |0...0> and its time in the first run of a process, with the first plan, which includes measuring the
machine's rates for predictions. The peers do the same work for every input. First each peer is tried at every setting (fusion
sizes, all cores) and keeps its best; then the engines take turns, one run each a round, and the median of the rounds
counts. Before anything is timed, every engine's amplitudes are compared on a small circuit of each family.
"""
import argparse
import contextlib
import ctypes
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))
from circuits import FAMILIES, machine_of, read_qasm, today  # noqa: E402
from report import PEERS, peers_table  # noqa: E402
PACKAGES = ["numpy", "cirq-core", "qsimcirq", "qiskit", "qiskit-aer", "qulacs"]
CHECK_QUBITS = 8


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("families", nargs="*", help=f"default: {' '.join(FAMILIES)}")
    parser.add_argument("--qubits", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=7, help="of which the median counts (default 7)")
    parser.add_argument("--slow-rounds", type=int, default=3, help="for runs of more than two seconds (default 3)")
    parser.add_argument("--tilewave", default=str(ROOT / "build" / "release" / "tilewave"))
    parser.add_argument("--quest", help="prefix of a QuEST v4 installation")
    parser.add_argument("--venv", default=str(ROOT / "build" / "peers"), help="where the peers are installed")
    parser.add_argument("--without", nargs="*", default=[], help="peers to leave out: qsim aer qulacs quest")
    parser.add_argument("--json", help="write every number to this file (bench/report.py prints the tables)")
    return parser.parse_args()


def u3_matrix(theta, phi, lam):
    import numpy
    c, s = math.cos(theta / 2), math.sin(theta / 2)
    e = lambda angle: complex(math.cos(angle), math.sin(angle))
    return numpy.array([[c, -e(lam) * s], [e(phi) * s, e(phi + lam) * c]])


# -- engines: run(rounds) -> list of seconds, and the first amplitudes of a small circuit ------------------------------

class Qsim:
    name, precision = "qsim", "single"
    settings = [dict(fusion=f) for f in (2, 3, 4)]

    def load(self, size, gates, path):
        import cirq
        q = cirq.LineQubit.range(size)
        make = {"h": cirq.H, "x": cirq.X, "y": cirq.Y, "z": cirq.Z, "s": cirq.S, "t": cirq.T, "cx": cirq.CNOT,
                "cz": cirq.CZ}
        angled = {"rx": cirq.rx, "ry": cirq.ry, "rz": cirq.rz, "cp": lambda a: cirq.CZPowGate(exponent=a / math.pi),
                  "u3": lambda *p: cirq.MatrixGate(u3_matrix(*p))}
        ops = [(angled[n](*p) if p else make[n]).on(*(q[k] for k in at)) for n, at, p in gates]
        # Qubit 0 is the least significant bit here and the most significant one there.
        self.circuit, self.order = cirq.Circuit(ops), q[::-1]

    def simulate(self, fusion, verbosity):
        import qsimcirq
        options = qsimcirq.QSimOptions(max_fused_gate_size=fusion, cpu_threads=os.cpu_count(), verbosity=verbosity)
        return qsimcirq.QSimSimulator(options).simulate(self.circuit, qubit_order=self.order)

    def run(self, fusion):
        with captured_output() as text:
            self.simulate(fusion, 2)
        times = dict(re.findall(r"(\w+) time is ([0-9.e+-]+) seconds", text()))
        return float(times["fuse"]) + float(times["simu"])

    def amplitudes(self):
        return list(self.simulate(2, 0).final_state_vector[:8])


class Aer:
    settings = [dict(fusion=f) for f in (0, 2, 3, 4, 5)]  # 0: off

    def __init__(self, precision):
        self.precision, self.name = precision, f"aer_{precision}"

    def load(self, size, gates, path):
        from qiskit import QuantumCircuit
        self.circuit = QuantumCircuit(size)
        for name, at, params in gates:
            if name == "u3":
                self.circuit.u(*params, *at)
            else:
                getattr(self.circuit, name)(*params, *at)

    def result(self, fusion, save):
        import qiskit_aer.library  # noqa: F401  (adds the save instructions)
        from qiskit_aer import AerSimulator
        simulator = AerSimulator(method="statevector", precision=self.precision, fusion_enable=fusion > 0,
                                 fusion_max_qubit=max(fusion, 1), max_parallel_threads=os.cpu_count())
        circuit = self.circuit.copy()
        save(circuit)
        result = simulator.run(circuit, shots=1).result()
        assert result.success, result.status
        return result

    def run(self, fusion):
        result = self.result(fusion, lambda c: c.save_amplitudes([0]))
        return result.results[0].time_taken

    def amplitudes(self):
        return list(self.result(0, lambda c: c.save_amplitudes(list(range(8)))).data()["amplitudes"])


class Qulacs:
    name, precision = "qulacs", "double"
    settings = [dict(fusion=f) for f in (0, 1, 2, 3, 4)]  # 0: off, 1: light

    def load(self, size, gates, path):
        import qulacs
        self.size = size
        c = self.circuit = qulacs.QuantumCircuit(size)
        for name, at, p in gates:
            if name in ("rx", "ry", "rz"):
                getattr(c, f"add_{name.upper()}_gate")(at[0], -p[0])  # its rotations turn the other way
            elif name == "u3":
                c.add_U3_gate(at[0], *p)
            elif name == "cx":
                c.add_CNOT_gate(*at)
            elif name == "cz":
                c.add_CZ_gate(*at)
            elif name == "cp":
                gate = qulacs.gate.U1(at[1], p[0])
                gate = qulacs.gate.to_matrix_gate(gate)
                gate.add_control_qubit(at[0], 1)
                c.add_gate(gate)
            else:
                getattr(c, f"add_{name.upper()}_gate")(at[0])

    def evolve(self, state, fusion):
        from qulacs.circuit import QuantumCircuitOptimizer
        circuit = self.circuit.copy()
        start = time.perf_counter()
        if fusion == 1:
            QuantumCircuitOptimizer().optimize_light(circuit)
        elif fusion > 1:
            QuantumCircuitOptimizer().optimize(circuit, fusion)
        circuit.update_quantum_state(state)
        return time.perf_counter() - start

    def run(self, fusion):
        from qulacs import QuantumState
        if not hasattr(self, "state") or self.state.get_qubit_count() != self.size:
            self.state = QuantumState(self.size)
        self.state.set_zero_state()
        return self.evolve(self.state, fusion)

    def amplitudes(self):
        from qulacs import QuantumState
        state = QuantumState(self.size)
        self.evolve(state, 0)
        return list(state.get_vector()[:8])


class Quest:
    name, precision = "quest", "double"
    settings = [{}]

    def __init__(self, prefix, folder):
        prefix = Path(prefix)
        self.driver = Path(folder) / "quest_driver"
        libraries, headers = sorted(prefix.rglob("libQuEST*")), sorted(prefix.rglob("quest.h"))
        if not libraries or not headers:
            sys.exit(f"error: --quest {prefix}: no quest.h and libQuEST* below it")
        include = headers[0].parent
        subprocess.run(["cc", "-std=gnu11", "-O3", "-march=native", f"-I{include}", f"-I{include.parent}",
                        str(HERE / "quest_driver.c"), "-o", str(self.driver), str(libraries[0]),
                        f"-Wl,-rpath,{libraries[0].parent}", "-lm", "-lstdc++"], check=True)

    def load(self, size, gates, path):
        self.gates = path.with_suffix(".gates")
        lines = [str(size)] + [" ".join([n, *map(str, at), *(repr(p) for p in params)]) for n, at, params in gates]
        self.gates.write_text("\n".join(lines) + "\n")

    def output(self, repeats):
        return subprocess.run([self.driver, self.gates, str(repeats)], capture_output=True, text=True,
                              check=True).stdout.splitlines()

    def run(self):
        return float(self.output(1)[0])

    def amplitudes(self):
        rows = [line.split() for line in self.output(0) if line.startswith("amplitude")]
        return [complex(float(r[2]), float(r[3])) for r in rows]


class Tilewave:
    settings = [{}]

    def __init__(self, program, precision, source="arbitrary", first=False):
        self.program, self.precision, self.source = program, precision, source
        self.warmup = "0" if first else "1"
        self.name = f"tilewave_{precision}" + ("_zeros" if source == "zeros" else "_first" if first else "")
        self.last = None

    def load(self, size, gates, path):
        self.path, self.size = path, size

    def run(self):
        done = subprocess.run([self.program, "bench", self.path, "--repeats", "1", "--warmup", self.warmup,
                               "--precision", self.precision, "--input", self.source, "--device", "cpu", "--no-limit", "--json",
                               "-"], capture_output=True, check=True)
        self.last = json.loads(done.stdout)["results"][0]
        return self.last["median_s"]

    def amplitudes(self):
        done = subprocess.run([self.program, "run", self.path, "--amplitudes", "first:8", "--precision",
                               self.precision, "--json"], capture_output=True, check=True)
        return [complex(a["re"], a["im"]) for a in json.loads(done.stdout)["amplitudes"]]


@contextlib.contextmanager
def captured_output():
    """What the process writes to its standard output, by whatever library, as a function to call afterwards."""
    libc = ctypes.CDLL(None)
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file:
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        text = []
        try:
            yield lambda: text[0]
        finally:
            libc.fflush(None)
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            text.append(file.read().decode(errors="replace"))


# -- the run -----------------------------------------------------------------------------------------------------------

def same_up_to_phase(want, got):
    """The largest amplitude fixes the phase; where all of them vanish nothing is compared."""
    k = max(range(len(want)), key=lambda i: abs(want[i]))
    if abs(want[k]) < 1e-6:
        return True
    phase = got[k] / want[k]
    return abs(abs(phase) - 1) <= 1e-4 and max(abs(g - phase * w) for g, w in zip(got, want)) <= 1e-4


def check_engines(engines, circuits):
    """Every engine gives the same amplitudes, up to one phase."""
    for family, (size, gates, path) in circuits.items():
        want = None
        for engine in engines:
            engine.load(size, gates, path)
            got = engine.amplitudes()
            want = want or got
            if not same_up_to_phase(want, got):
                sys.exit(f"error: {engine.name} disagrees on {family}_{size}: {got} against {want}")
    print(f"all engines agree on {len(circuits)} circuits of {CHECK_QUBITS} qubits", flush=True)


def best_setting(engine):
    if len(engine.settings) == 1:
        engine.run(**engine.settings[0])  # warm-up
        return engine.settings[0]
    engine.run(**engine.settings[0])  # warm-up
    return min(engine.settings, key=lambda setting: engine.run(**setting))


def time_family(engines, size, gates, path, rounds, slow_rounds):
    chosen, times = {}, {engine.name: [] for engine in engines}
    for engine in engines:
        engine.load(size, gates, path)
        chosen[engine.name] = best_setting(engine)
    for k in range(rounds):
        for engine in engines[k % len(engines):] + engines[:k % len(engines)]:
            mine = times[engine.name]
            if len(mine) >= slow_rounds and statistics.median(mine) > 2:
                continue
            mine.append(engine.run(**chosen[engine.name]))
    row = {}
    for engine in engines:
        row[engine.name] = {"median_s": statistics.median(times[engine.name]), "times_s": times[engine.name],
                            **chosen[engine.name]}
        if isinstance(engine, Tilewave):
            row[engine.name]["passes"] = engine.last["passes"]
            row[engine.name]["bytes"] = engine.last["bytes"]
    return row


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


RATIOS = [(peer, "tilewave_single" if title.endswith("FP32") else "tilewave_double") for peer, title in PEERS.items()]


def ratios_of(row):
    return {peer: row[peer]["median_s"] / row[ours]["median_s"] for peer, ours in RATIOS if peer in row}


def versions_of(arguments):
    from importlib.metadata import version
    packages = {"qsim": "qsimcirq", "aer": "qiskit-aer", "qulacs": "qulacs"}
    found = {package: version(package) for peer, package in packages.items() if peer not in arguments.without}
    if arguments.quest and "quest" not in arguments.without:
        found["QuEST"] = "v4"
    return found


def repeat_command(arguments):
    """The command without what is only true of this machine."""
    words = ["bench/peers/run.py", *arguments.families, "--qubits", str(arguments.qubits), "--rounds",
             str(arguments.rounds)]
    if arguments.slow_rounds != 3:
        words += ["--slow-rounds", str(arguments.slow_rounds)]
    if arguments.without:
        words += ["--without", *arguments.without]
    return " ".join(words + (["--quest", "PREFIX"] if arguments.quest else []))


def inside_venv(arguments):
    """Installs the peers once and goes on inside their environment, where any of them is asked for."""
    if {"qsim", "aer", "qulacs"} <= set(arguments.without):
        return
    folder = Path(arguments.venv)
    python = folder / "bin" / "python"
    if Path(sys.prefix).resolve() == folder.resolve():
        return
    if not (folder / ".ready").exists():
        print(f"installing {' '.join(PACKAGES)} into {folder}", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (folder / ".ready").touch()
    os.execv(python, [str(python), __file__, *sys.argv[1:]])


def main():
    arguments = parse_arguments()
    if not Path(arguments.tilewave).exists():
        sys.exit(f"error: {arguments.tilewave} is not there: build it with ./tw --version")
    inside_venv(arguments)
    os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))
    families = arguments.families or FAMILIES
    with tempfile.TemporaryDirectory() as folder:
        circuits = {}
        for size in (CHECK_QUBITS, arguments.qubits):
            subprocess.run([arguments.tilewave, "bench", *families, "--qubits", str(size), "--write", folder],
                           check=True, stdout=subprocess.DEVNULL)
            for family in families:
                path = Path(folder) / f"{family}_{size}.qasm"
                circuits[family, size] = (*read_qasm(path), path)
        ours = [Tilewave(arguments.tilewave, p, s) for p in ("single", "double") for s in ("arbitrary", "zeros")]
        ours += [Tilewave(arguments.tilewave, p, first=True) for p in ("single", "double")]
        peers = [Qsim(), Aer("single"), Aer("double"), Qulacs()]
        if arguments.quest:
            peers.append(Quest(arguments.quest, folder))
        engines = ours + [p for p in peers if p.name.split("_")[0] not in arguments.without]
        check_engines(engines, {f: circuits[f, CHECK_QUBITS] for f in families})
        report = {"machine": machine_of(arguments.tilewave), "date": today(),
                  "command": repeat_command(arguments),
                  "versions": versions_of(arguments), "circuits": []}
        for family in families:
            size, gates, path = circuits[family, arguments.qubits]
            times = time_family(engines, size, gates, path, arguments.rounds, arguments.slow_rounds)
            row = {"circuit": f"{family}_{size}", "gates": len(gates), "times": times, "ratios": ratios_of(times)}
            report["circuits"].append(row)
            print(row["circuit"], {k: round(v["median_s"], 4) for k, v in times.items()},
                  {k: round(v, 1) for k, v in row["ratios"].items()}, flush=True)
        report["machine_after"] = machine_of(arguments.tilewave)
        report["geometric_means"] = {
            peer: geometric_mean([r["ratios"][peer] for r in report["circuits"] if peer in r["ratios"]])
            for peer, _ in RATIOS if any(peer in r["ratios"] for r in report["circuits"])}
    print("geometric means:", {k: round(v, 2) for k, v in report["geometric_means"].items()})
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")
    print("\n".join(peers_table(report)))


if __name__ == "__main__":
    main()
