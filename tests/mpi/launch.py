"""Starts the program as several processes. Scripts are called as `script.py TILEWAVE MPIEXEC ...`;
with the word `tcp` for MPIEXEC there is no launcher, and the processes find each other by variables."""
import os
import random
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))
from patience import PATIENCE  # noqa: E402

TILEWAVE, MPIEXEC = sys.argv[1], sys.argv[2]
HEAD = 'OPENQASM 2.0;\ninclude "qelib1.inc";\n'
counts = {True: 0, False: 0}  # of checks that passed and failed
ENV = {**os.environ, "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
for name in [n for n in ENV if n.startswith(("OMPI_COMM", "PMIX_", "PMI_", "SLURM_", "TILEWAVE_"))]:
    del ENV[name]


def check(good, what):
    counts[bool(good)] += 1
    if not good:
        print("FAILED:", what)


def end():
    """Says how many checks passed, and ends: 1 where one failed or there was none."""
    print(f"{counts[True]} checks passed, {counts[False]} failed")
    sys.exit(1 if counts[False] or not counts[True] else 0)


def start(words, env=None):
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**ENV, **(env or {})})


def finish(process, timeout=120):
    out, err = process.communicate(timeout=PATIENCE * timeout)
    return process.returncode, out, err


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_by_variables(ranks, *words, env=None, root=None, only=None):
    """Processes of a run without a launcher, in order of ranks: all, or some of them."""
    root = root or f"127.0.0.1:{free_port()}"
    return [start([TILEWAVE, *map(str, words)],
                  {"TILEWAVE_PROCESSES": str(ranks), "TILEWAVE_PROCESS": str(r), "TILEWAVE_ROOT": root,
                   **(env or {})}) for r in only or range(ranks)]


def mpirun(ranks, *words, env=None):
    if MPIEXEC == "tcp":
        done = [finish(p) for p in start_by_variables(ranks, *words, env=env)]
        return max(code for code, _, _ in done), "".join(d[1] for d in done), "".join(d[2] for d in done)
    return finish(start([MPIEXEC, "-np", str(ranks), TILEWAVE, *map(str, words)], env))


def is_lost_goodbye(code, err):
    """Whether all that is wrong with a run is that Open MPI's launcher did not hear of an MPI_Finalize:
    on a starved machine it may see a process end before it reads the notice, and interrupts the others
    (processes linger where it is slow to answer, but not for ever). Whoever says more, fails."""
    rule, notice = "-" * 74, err.strip().removeprefix("interrupted").strip()
    return code == 1 and notice.count(rule) == 2 and re.fullmatch(
        rf"{rule}\n\S+ has exited due to process rank \d+ with PID \d+ on\nnode \S+ exiting improperly\. .*"
        rf"\n{rule}", notice, re.DOTALL) is not None


def mpirun_well(ranks, *words, env=None):
    """`mpirun` of what must succeed: once more where the launcher lost the end of a process."""
    begin = time.perf_counter()
    done = mpirun(ranks, *words, env=env)
    if is_lost_goodbye(done[0], done[2]):
        print(f"REPEATED, the launcher lost the end of a process in {time.perf_counter() - begin:.1f} s:", *words)
        done = mpirun(ranks, *words, env=env)
    return done


def alone(*words):
    return finish(start([TILEWAVE, *map(str, words)]))


def layered_circuit(qubits, layers, seed):
    """Layers of random gates of one qubit and pairs of CX, with measurements at the end."""
    draw = random.Random(seed)
    lines = [f"qreg q[{qubits}];", f"creg c[{qubits}];"]
    for _ in range(layers):
        lines += [f"u3({draw.uniform(0, 3)},{draw.uniform(0, 3)},{draw.uniform(0, 3)}) q[{q}];" for q in range(qubits)]
        for _ in range(qubits // 2):
            a, b = draw.sample(range(qubits), 2)
            lines.append(f"cx q[{a}],q[{b}];")
    return HEAD + "\n".join(lines) + "\nmeasure q -> c;\n"


def children_of(pid):
    """The numbers of the processes that a process started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it is gone
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found
