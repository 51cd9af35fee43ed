"""Runs that are killed go on from their checkpoint: the same bits on as many ranks, the same shots on others."""
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from launch import MPIEXEC, TILEWAVE, check, children_of, end, finish, layered_circuit, start, start_by_variables

RANKS = [int(word) for word in sys.argv[3].split(",")]
KILLS = int(sys.argv[4])  # of each number of ranks
SEED = random.randrange(10**6) if len(sys.argv) < 6 else int(sys.argv[5])
r = random.Random(SEED)
print("seed", SEED)


def start_ranks(ranks, *words):
    """The processes of a run, in order of ranks: one alone, or several as the script was told."""
    if ranks == 1:
        return [start([TILEWAVE, *map(str, words)], {"OMP_NUM_THREADS": "2"})]
    if MPIEXEC == "tcp":
        return start_by_variables(ranks, *words)
    return [start([MPIEXEC, "-np", str(ranks), TILEWAVE, *map(str, words)])]


def run(ranks, *words):
    done = [finish(p) for p in start_ranks(ranks, *words)]
    return max(code for code, _, _ in done), done[0][1], "".join(err for _, _, err in done)


def kill(processes):
    """Of processes without a launcher all, in any order; of a launcher's one, and the launcher ends the others.

    Returns what the first process had printed.
    """
    if MPIEXEC != "tcp" and len(processes) == 1 and (ranks := children_of(processes[0].pid)):
        os.kill(r.choice(ranks), signal.SIGKILL)
        return processes[0].communicate(timeout=30)[0]
    victims = processes[:]
    r.shuffle(victims)
    for process in victims:
        process.kill()
    return [process.communicate()[0] for process in processes][0]


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    circuit = folder / "c.qasm"
    circuit.write_text(layered_circuit(19, 200, 7))  # half a second of one core: some forty runs of it follow
    words = ["run", circuit, "--shots", 2000, "--seed", 5, "--quiet"]
    code, counts, err = run(1, *words)
    check(code == 0, f"undisturbed: {err}")
    for ranks in RANKS:
        # the first checkpoint holds the plan: both runs start from it
        begin, states = folder / f"begin{ranks}", [folder / f"{k}{ranks}.npy" for k in "ab"]
        processes = start_ranks(ranks, *words, "--checkpoint", begin, "--checkpoint-every", "1h",
                                "--state", states[0])
        limit = time.monotonic() + 60
        while not (begin / "checkpoint").exists() and time.monotonic() < limit:
            time.sleep(0.002)
        kill(processes)
        begun = time.monotonic()
        code, out, err = run(ranks, *words, "--resume", begin, "--state", states[0])
        took_s = time.monotonic() - begun
        check(code == 0 and out == counts, f"{ranks} ranks, from the first checkpoint: {code} {err}")
        killed, going, halves = 0, None, folder / "halves"
        while killed < KILLS:
            if going is None:
                going = folder / f"going{ranks}"
                shutil.rmtree(going, ignore_errors=True)
                shutil.copytree(begin, going)
                states[1].unlink(missing_ok=True)
            words_now = [*words, "--resume", going, "--checkpoint", going, "--checkpoint-every", "0.05s",
                         "--state", states[1]]
            processes = start_ranks(ranks, *words_now)
            time.sleep(r.uniform(min(0.2, 0.4 * took_s), took_s))  # mostly behind the start
            if all(p.poll() is None for p in processes):
                printed = kill(processes)
                if not (going / "checkpoint").exists():
                    # The last kill met a run that had given its answer: only then may the checkpoint be gone.
                    # (A launcher that ends its ranks does not always pass on what they printed.)
                    check(printed == counts or MPIEXEC != "tcp", f"{ranks} ranks, killed at its end: {printed}")
                    check(states[0].read_bytes() == states[1].read_bytes(),
                          f"{ranks} ranks, killed at its end: the same bits (seed {SEED})")
                    going = None
                    continue
                killed += 1
                if killed == KILLS:
                    shutil.copytree(going, halves)
                continue
            done = [finish(p) for p in processes]
            check(done[0][0] == 0 and done[0][1] == counts, f"{ranks} ranks, resumed: {done}")
            check(states[0].read_bytes() == states[1].read_bytes(), f"{ranks} ranks: the same bits (seed {SEED})")
            check(not any(going.iterdir()), f"{ranks} ranks: nothing stays behind: {list(going.iterdir())}")
            going = None
        if going:
            code, out, err = run(ranks, *words, "--resume", going, "--state", states[1])
            check(code == 0 and out == counts, f"{ranks} ranks, killed {killed} times: {code} {err}")
            check(states[0].read_bytes() == states[1].read_bytes(), f"{ranks} ranks: the same bits (seed {SEED})")
        for others in {max(1, ranks // 2), 2 * ranks}:
            code, out, err = run(others, *words, "--resume", halves, "--state", states[1])
            check(code == 0 and out == counts, f"{ranks} ranks, resumed on {others}: {code} {err}")
        shutil.rmtree(halves, ignore_errors=True)
end()
