#!/usr/bin/env python3
"""kill_chain.py TILEWAVE tcp|MPIEXEC [--ranks 1,2,4 | --device cuda] [--kills 20] [--seconds 600] [--qubits 22] [--seed N] [--beside]: run by hand.

One run of about so many seconds is killed (kill -9, all its processes) at random moments and resumed each time, until it has been
killed often enough and comes to its end; its state is compared bit by bit, and its counts, with those of a run from the same first
checkpoint that nobody disturbs. From a checkpoint in the middle of the chain it is also resumed on twice and half the ranks, and the
counts are compared (not with --device, where a CPU would take hours). Prints a line a number of ranks, and ends with 1 where anything differs.
With --beside the run that nobody disturbs and those on other numbers of ranks are not waited for but run beside the chain, where the machine has
processors for all of them.
"""
import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("tilewave")
parser.add_argument("mpiexec")
parser.add_argument("--ranks", default="1,2,4")
parser.add_argument("--device", default=None, help="of runs of one process (default: the CPU)")
parser.add_argument("--beside", nargs="?", const="", default=None, metavar="DEVICE", help="with --device: where the run that nobody disturbs runs")
parser.add_argument("--kills", type=int, default=20)
parser.add_argument("--seconds", type=float, default=600)
parser.add_argument("--qubits", type=int, default=22)
parser.add_argument("--seed", type=int, default=None)
parser.add_argument("--folder", default=None, help="where states and checkpoints go (default: the folder for temporary files)")
flags = parser.parse_args()
if flags.device:
    flags.ranks = "1"
sys.argv = [sys.argv[0], flags.tilewave, flags.mpiexec]

from launch import MPIEXEC, TILEWAVE, check, children_of, end, finish, layered_circuit, start, start_by_variables  # noqa: E402

SEED = random.randrange(10**6) if flags.seed is None else flags.seed
r = random.Random(SEED)
THREADS = str(min(16 if flags.device else 2, os.cpu_count()))


def start_ranks(ranks, *words):
    if ranks == 1:
        return [start([TILEWAVE, *map(str, words)], {"OMP_NUM_THREADS": THREADS})]
    if MPIEXEC == "tcp":
        return start_by_variables(ranks, *words, env={"OMP_NUM_THREADS": "1"})
    return [start([MPIEXEC, "-np", str(ranks), TILEWAVE, *map(str, words)], {"OMP_NUM_THREADS": "1"})]


class Started:
    """A run under way: `wait` gives its exit code, what it and all its processes wrote, and its seconds."""

    def __init__(self, ranks, *words):
        self.begin = time.monotonic()
        self.answer = None
        self.processes = start_ranks(ranks, *words)
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self):
        done = [finish(p, 3600) for p in self.processes]
        self.answer = max(code for code, _, _ in done), done[0][1], "".join(err for _, _, err in done), time.monotonic() - self.begin

    def wait(self):
        self.thread.join()
        return self.answer


def run(ranks, *words):
    return Started(ranks, *words).wait()


def kill(processes):
    """All at once, in any order; of a launcher's one, and the launcher ends the others."""
    victims = [p.pid for p in processes]
    if len(processes) == 1 and (ranks := children_of(victims[0])):
        victims = [r.choice(ranks)]
    r.shuffle(victims)
    for victim in victims:
        try:
            os.kill(victim, 9)
        except ProcessLookupError:
            pass
    for process in processes:
        process.communicate(timeout=60)


def chain(ranks, folder):
    # how many layers take so long, from a short run of their passes
    circuit, few, few_s = folder / "c.qasm", 20, 0.0
    same = ["run", circuit, "--shots", 2000, "--seed", 5, "--quiet"]
    words = [*same, "--device", flags.device or "cpu"]
    while few_s < min(10, flags.seconds / 3):
        few *= 2
        circuit.write_text(layered_circuit(flags.qubits, few, few))
        code, _, err, few_s = run(ranks, *words)
        check(code == 0, f"{ranks} ranks: {err}")
    layers = int(few * flags.seconds / few_s)
    circuit.write_text(layered_circuit(flags.qubits, layers, layers))
    begin, going, middle = folder / "begin", folder / "going", folder / "middle"
    states = [folder / "undisturbed.npy", folder / "killed.npy"]
    processes = start_ranks(ranks, *words, "--checkpoint", begin, "--checkpoint-every", "10h", "--state", states[0])
    while not (begin / "checkpoint").exists() and processes[0].poll() is None:
        time.sleep(0.01)
    if not (begin / "checkpoint").exists():
        check(False, f"{ranks} ranks, before the first checkpoint: {[finish(p) for p in processes]}")
        return
    kill(processes)  # the first checkpoint holds the plan: both runs start from it
    shutil.copytree(begin, going)
    undisturbed = Started(ranks, *same, "--device", flags.beside or flags.device or "cpu", "--resume", begin, "--state", states[0])
    whole_s = flags.seconds if flags.beside is not None else undisturbed.wait()[3]
    print(f"{layers} layers, {whole_s:.1f} s undisturbed{' (expected)' if flags.beside is not None else ''}", file=sys.stderr, flush=True)
    others = [] if flags.device else sorted({max(1, ranks // 2), 2 * ranks} - {ranks})
    on_others = {}  # runs from the middle on other numbers of ranks
    kills, lives, killed_s, renewed = 0, 0, 0.0, 0
    # a GPU's state is large for its rate: a short run would only write
    every = max(whole_s / (100 if not flags.device else 8 if whole_s < 300 else 40), 0.05)
    again = [*words, "--resume", going, "--checkpoint", going, "--checkpoint-every", f"{every:.3f}s", "--state", states[1]]
    # how long a life is before it is further than the one before: its first checkpoint
    start_s = time.monotonic()
    was = (going / "checkpoint").read_bytes()
    processes = start_ranks(ranks, *again)
    while (going / "checkpoint").exists() and (going / "checkpoint").read_bytes() == was and processes[0].poll() is None:
        time.sleep(0.01)
    head_s = time.monotonic() - start_s
    kill(processes)
    while kills < flags.kills:
        if undisturbed.answer and undisturbed.answer[0] != 0:
            check(False, f"{ranks} ranks, undisturbed: {undisturbed.answer}")
            return
        start_s = time.monotonic()
        was = (going / "checkpoint").read_bytes()
        processes = start_ranks(ranks, *again)
        time.sleep(head_s * r.uniform(0.5, 1.5) + r.uniform(0, 1.5) * whole_s / flags.kills)
        lives += 1
        lives_on = all(p.poll() is None for p in processes)
        if lives_on:
            kill(processes)
        if lives_on and (going / "checkpoint").exists():
            kills += 1
            renewed += (going / "checkpoint").read_bytes() != was
            if kills == flags.kills // 2:
                shutil.copytree(going, middle)
                for other in others if flags.beside is not None else []:
                    on_others[other] = Started(other, *words, "--resume", middle, "--state", folder / f"{other}.npy")
        else:  # it came to its end too soon, all was printed and written: from the middle again
            if not lives_on:
                done = [finish(p) for p in processes]
                check(done[0][0] == 0 and done[0][1] == undisturbed.wait()[1], f"{ranks} ranks, resumed: {done}")
            undisturbed.wait()
            check(states[0].read_bytes() == states[1].read_bytes(), f"{ranks} ranks: the same bits (seed {SEED})")
            shutil.rmtree(going)
            shutil.copytree(middle if middle.exists() else begin, going)
        killed_s += time.monotonic() - start_s
        print(f"life {lives}: {time.monotonic() - start_s:.1f} s, {kills} kills", file=sys.stderr, flush=True)
    code, out, err, last_s = run(ranks, *again)
    whole_code, counts, whole_err, whole_s = undisturbed.wait()
    check(whole_code == 0, f"{ranks} ranks, undisturbed: {whole_code} {whole_err}")
    equal = code == 0 and out == counts and states[0].read_bytes() == states[1].read_bytes()
    check(renewed > 0, f"{ranks} ranks: no life was further than the one before")
    check(equal, f"{ranks} ranks, killed {kills} times: {code} {err} (seed {SEED})")
    check(not any(going.iterdir()), f"{ranks} ranks: nothing stays behind: {list(going.iterdir())}")
    for other in others:
        code, out, err, _ = (on_others.get(other) or Started(other, *words, "--resume", middle, "--state", states[1])).wait()
        check(code == 0 and out == counts, f"{ranks} ranks, resumed on {other}: {code} {err}")
    print(f"{ranks} ranks: {whole_s:.0f} s undisturbed; killed {kills} times in {lives} lives of {killed_s:.0f} s, {renewed} of which "
          f"went on, then {last_s:.0f} s to the "
          f"end; bits {'the same' if equal else 'DIFFER'}" + (f"; resumed on {' and '.join(map(str, others))} ranks" if others else ""), flush=True)


print("seed", SEED, flush=True)
for number in flags.ranks.split(","):
    with tempfile.TemporaryDirectory(dir=flags.folder) as name:
        chain(int(number), Path(name))
end()
