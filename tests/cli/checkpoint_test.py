#!/usr/bin/env python3
"""Runs that stop and go on: every engine, signals, and checkpoints that are refused."""
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from program import HEAD, TILEWAVE, Checker, tilewave
from raster_files import npy_bytes

USAGE, RESOURCES, INPUT = 2, 3, 4
c = Checker()
r = random.Random(3)


def layers(qubits, count, middle=""):
    lines = [f"qreg q[{qubits}];", f"creg c[{qubits}];"]
    for k in range(count):
        lines += [f"u3({r.uniform(0, 3)},{r.uniform(0, 3)},0.3) q[{q}];" for q in range(qubits)]
        lines += [f"cx q[{q}],q[{(q + 1) % qubits}];" for q in range(k % 2, qubits, 2)]
        lines.append(middle.replace("A", str(r.randrange(qubits))).replace("B", str(r.randrange(qubits))))
    return HEAD + "\n".join(lines) + "\nmeasure q -> c;\n"


def near_clifford(qubits, rounds):
    lines = [f"qreg q[{qubits}];", f"creg c[{qubits}];"]
    for k in range(rounds):
        lines += [f"h q[{q}];" for q in range(k % 2, 12, 2)]
        lines += [f"cx q[{q}],q[{q + 1}];" for q in range(k % 3, qubits - 1, 3)]
        lines.append(f"t q[{k % 4}];")
    return HEAD + "\n".join(lines) + "\nmeasure q -> c;\n"


NOISE = json.dumps({"channels": [{"after": "cx", "channel": "depolarizing2", "p": 0.002},
                                 {"after": ["u3"], "channel": "amplitude_damping", "gamma": 0.002}]})


def start(*words, **more):
    return subprocess.Popen([TILEWAVE, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            **more)


def wait_for(path, limit_s=60):
    end = time.monotonic() + limit_s
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.002)


def answers(out):
    data = json.loads(out)
    return {key: data.get(key) for key in ("counts", "probabilities", "probability_errors", "expectations",
                                           "expectation_sum", "joint_probabilities", "norm", "engine", "seed")}


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    noise = folder / "noise.json"
    noise.write_text(NOISE)
    RUNS = {  # name: circuit, words
        "state": (layers(19, 150), ["--probabilities", "all", "--shots", 500]),
        "state in single precision": (layers(20, 100), ["--precision", "single", "--shots", 500]),
        "branches": (layers(16, 25, "measure q[A] -> c[A]; if(c==1) x q[B];"), ["--shots", 40]),
        "small branches": (layers(8, 12, "measure q[A] -> c[A]; reset q[B];"), ["--shots", 3000]),
        "density": (layers(10, 15), ["--noise", noise, "--engine", "density", "--probabilities", "all"]),
        "trajectories": (layers(14, 20), ["--noise", noise, "--engine", "trajectories", "--shots", 120,
                                          "--probabilities", "all", "--expect", "ZZIIIIIIIIIIII + XIIIIIIIIIIIIX"]),
        "near Clifford": (near_clifford(40, 12), ["--engine", "stabilizer", "--shots", 1000000]),
    }
    for title, (text, words) in RUNS.items():
        place = folder / title.replace(" ", "_")
        place.mkdir()
        circuit = place / "c.qasm"
        circuit.write_text(text)
        run = ["run", circuit, *words, "--json"]
        # from its first checkpoint, undisturbed, as often as it takes to see one
        begin, seen = place / "begin", 0
        process = start(*run, "--checkpoint", begin, "--checkpoint-every", "1h")
        wait_for(begin / "checkpoint")
        process.kill()
        process.communicate()
        c.check((begin / "checkpoint").exists(), f"{title}: a first checkpoint")
        base = tilewave(*run, "--resume", begin)
        c.check(base.code == 0, f"{title}: undisturbed: {base.err}")
        # asked to stop, again and again
        going = place / "going"
        shutil.copytree(begin, going)
        stops = 0
        for k in range(400):
            process = start(*run, "--resume", going, "--checkpoint", going)
            time.sleep(base.seconds * (0.15 + 0.3 * r.random()))
            process.terminate()
            out, err = process.communicate(timeout=60)
            if process.returncode == 0:
                c.check(answers(out) == answers(base.out), f"{title}: the same answers after {stops} stops: "
                        f"{[k for k in answers(out) if answers(out)[k] != answers(base.out)[k]]}")
                break
            # before it has looked at its files SIGTERM ends it as any program
            c.check(process.returncode in (143, -15), f"{title}: asked to stop: {process.returncode} {err}")
            stops += process.returncode == 143
            c.check(process.returncode != 143 or f"--resume {going}" in err, f"{title}: says how to go on: {err}")
        c.check(process.returncode == 0, f"{title}: comes to an end")
        c.check(stops > 0, f"{title}: was stopped")
        # as many digits as make the same shots of all ranks, in engines that have ranks
        if title not in ("trajectories", "density", "state in single precision", "near Clifford"):
            other = tilewave(*run, "--resume", begin, "--ranks", 2)
            c.check(other.code == 0 and other.json()["counts"] == base.json()["counts"],
                    f"{title}: on 2 ranks: {other.err}")
        print(title, f"{base.seconds:.2f} s, {stops} stops")

    # signals: SIGUSR1 asks for a checkpoint and the run goes on
    state = folder / "state"
    circuit, run = state / "c.qasm", ["run", state / "c.qasm", "--shots", 100, "--seed", 2, "--quiet"]
    circuit.write_text(layers(19, 400))
    kept = folder / "kept"
    process = start(*run, "--checkpoint", kept, "--checkpoint-every", "1h")
    wait_for(kept / "checkpoint")
    first = (kept / "checkpoint").read_bytes()
    process.send_signal(signal.SIGUSR1)
    end = time.monotonic() + 30
    second = first
    while second == first and time.monotonic() < end and process.poll() is None:
        second = (kept / "checkpoint").read_bytes() if (kept / "checkpoint").exists() else first
        time.sleep(0.002)
    c.check(second != first, "SIGUSR1: a new checkpoint")
    # another run cannot use the folder meanwhile
    process.send_signal(signal.SIGSTOP)
    done = tilewave(*run, "--checkpoint", kept, "--resume", kept)
    c.check(done.code == USAGE and "another run" in done.err, f"in use: {done.code} {done.err}")
    process.send_signal(signal.SIGCONT)
    process.terminate()
    process.communicate()
    done = tilewave(*run, "--checkpoint", kept)
    c.check(done.code == USAGE and "--resume" in done.err, f"not replaced: {done.code} {done.err}")

    # refused with a reason
    other = folder / "other.qasm"
    other.write_text(circuit.read_text().replace("0.3", "0.31"))
    for words, reason in [(["run", other, *run[2:]], "circuit"), ([*run, "--precision", "single"], "precision"),
                          ([*run[:5], 3, *run[6:]], "seed"), ([*run[:3], 99, *run[4:]], "shots"),
                          ([*run, "--probabilities", "all"], "questions"), ([*run, "--noise", noise], "noise"),
                          ([*run, "--engine", "statevector"], "engine")]:
        done = tilewave(*words, "--resume", kept)
        c.check(done.code == USAGE and reason in done.err, f"refused for its {reason}: {done.code} {done.err}")
    # another noise model, by whatever changes its answers, on each engine
    channels = [{"after": "all", "channel": "depolarizing", "p": 0.01}]
    readout = [{"p1_given_0": 0.1, "p0_given_1": 0.2}]
    others = {"p1_given_0": [{"p1_given_0": 0.3, "p0_given_1": 0.2}], "p0_given_1": [{"p1_given_0": 0.1, "p0_given_1": 0.3}],
              "other qubits": [{**readout[0], "qubits": [1]}], "a further rule": [*readout, {**readout[0], "p1_given_0": 0, "qubits": [1]}],
              "no readout errors": []}
    asked = folder / "asked.json"
    for engine, text, shots in (("trajectories", layers(12, 20), 100_000), ("density", layers(9, 60), 100),
                                ("stabilizer", near_clifford(40, 12).replace("t q[", "s q["), 10_000_000)):
        place = folder / f"noise_{engine}"
        place.with_suffix(".qasm").write_text(text)
        asked.write_text(json.dumps({"channels": channels, "readout": readout}))
        words = ["run", place.with_suffix(".qasm"), "--shots", shots, "--engine", engine, "--noise", asked, "--quiet"]
        process = start(*words, "--checkpoint", place)
        wait_for(place / "checkpoint")
        process.kill()
        process.communicate()
        for what, rules in others.items():
            asked.write_text(json.dumps({"channels": channels, "readout": rules}))
            done = tilewave(*words, "--resume", place)
            c.check(done.code == USAGE and "another noise model" in done.err and not done.out,
                    f"{engine}, {what}: {done.code} {done.err}")
        # other words for the same model
        asked.write_text(json.dumps({"channels": channels, "readout": [{"p1_given_0": 0.5, "p0_given_1": 0, "qubits": [0]}, *readout]}))
        process = start(*words, "--resume", place, "--checkpoint", folder / f"again_{engine}")
        wait_for(folder / f"again_{engine}" / "checkpoint")
        process.kill()
        process.communicate()
        c.check((folder / f"again_{engine}" / "checkpoint").exists(), f"{engine}: goes on with the same model")
    for words in (["--dry-run"], ["--repeat", 2], ["--checkpoint-every", "0"],
                  ["--checkpoint-every", "soon"], ["--checkpoint-every", "-3m"]):
        done = tilewave("run", circuit, "--checkpoint", folder / "never", *words)
        c.check(done.code == USAGE and len(done.err.splitlines()) == 1, f"{words}: {done.code} {done.err}")
    done = tilewave(*run, "--resume", folder / "nowhere")
    c.check(done.code == INPUT and "no checkpoint" in done.err, f"nothing there: {done.code} {done.err}")
    c.check(not (folder / "never").exists(), "nothing is made for a run that is refused")

    # a run that goes on may keep its checkpoints elsewhere, but not in the place of another run's
    def contents(of):
        return {p.relative_to(of): p.read_bytes() for p in of.rglob("*") if p.is_file()}

    others = contents(folder / "branches" / "begin")
    done = tilewave(*run, "--resume", kept, "--checkpoint", folder / "branches" / "begin")
    c.check(done.code == USAGE and "earlier run" in done.err, f"another run's: {done.code} {done.err}")
    c.check(contents(folder / "branches" / "begin") == others, "another run's checkpoint is left alone")
    own = contents(kept)
    process = start(*run, "--resume", kept, "--checkpoint", folder / "moved", "--checkpoint-every", "1h")
    wait_for(folder / "moved" / "checkpoint")
    process.terminate()
    err = process.communicate()[1]
    c.check(process.returncode == 143 and str(folder / "moved") in err, f"moved: {process.returncode} {err}")
    moved = tilewave(*run, "--resume", folder / "moved", "--checkpoint", folder / "moved")
    c.check(moved.code == 0 and moved.out == tilewave(*run, "--resume", kept).out, f"moved: {moved.err}")
    c.check(not contents(folder / "moved") and contents(kept) == own, "moved: only the new one is removed")

    # basis states: files that differ in a few bytes in their middle
    basis, starts = folder / "basis.npy", []
    for x in (3 << 15, 3 << 15 | 1):
        numbers = bytearray(16 << 17)
        numbers[16 * x:16 * x + 8] = struct.pack("<d", 1)
        starts.append(npy_bytes((1 << 17,), "<c16", bytes(numbers)))
    basis.write_bytes(starts[0])
    begun = folder / "begun.qasm"
    begun.write_text(layers(17, 300))
    words = ["run", begun, "--shots", 10, "--initial-state", basis]
    process = start(*words, "--checkpoint", folder / "begun")
    wait_for(folder / "begun" / "checkpoint")
    process.kill()
    process.communicate()
    basis.write_bytes(starts[1])
    done = tilewave(*words, "--resume", folder / "begun")
    c.check(done.code == USAGE and "initial state" in done.err, f"another initial state: {done.code} {done.err}")
    basis.write_bytes(starts[0])
    done = tilewave(*words, "--resume", folder / "begun")
    c.check(done.code == 0, f"the same initial state: {done.err}")

    # a damaged checkpoint is seen, wherever the damage is
    good = tilewave(*run, "--resume", kept)
    c.check(good.code == 0, f"the checkpoint is good: {good.err}")
    files = [p for p in kept.rglob("*") if p.is_file()]
    c.check(len(files) == 2, f"{files}")
    for path in files:
        whole = path.read_bytes()
        size = len(whole)
        places = {0, 7, 30, size // 3, size // 2, size - 1, size - 9, size - 33, *(r.randrange(size) for _ in range(4))}
        for at in sorted(p for p in places if 0 <= p < size):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << r.randrange(8)]) + whole[at + 1:])
            done = tilewave(*run, "--resume", kept)
            c.check(done.code == INPUT and "damaged" in done.err and not done.out,
                    f"byte {at} of {path.name}: {done.code} {done.err}")
        for cut in (0, 5, size // 2, size - 1):
            path.write_bytes(whole[:cut])
            done = tilewave(*run, "--resume", kept)
            c.check(done.code == INPUT and not done.out, f"{path.name} cut at {cut}: {done.code} {done.err}")
        path.write_bytes(whole)
    files[0].rename(folder / "away")
    done = tilewave(*run, "--resume", kept)
    c.check(done.code == INPUT, f"a missing file: {done.code} {done.err}")
    (folder / "away").rename(files[0])

    # no room: at once for the first one; later the run goes on, says so, and the one before stays
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 10, 1 << 10))

    full = subprocess.run([TILEWAVE, *map(str, run), "--checkpoint", str(folder / "full")], capture_output=True,
                          text=True, preexec_fn=limit)
    c.check(full.returncode == RESOURCES and "full" in full.stderr and not full.stdout, f"no room: {full}")
    left = [p for p in (folder / "full").rglob("*")]
    c.check(not left, f"no room: nothing stays: {left}")
    full = subprocess.run([TILEWAVE, *map(str, run), "--resume", str(kept), "--checkpoint", str(kept),
                           "--checkpoint-every", "0.1s"], capture_output=True, text=True, preexec_fn=limit)
    c.check(full.returncode == 0 and full.stdout == good.out, f"no room later: {full}")
    for bad in (folder / "file", Path("/proc/nothing"), folder / "no" / "parent"):
        if bad.name == "file":
            bad.write_text("")
        done = tilewave(*run, "--checkpoint", bad)
        c.check(done.code == RESOURCES and len(done.err.splitlines()) == 1, f"{bad}: {done.code} {done.err}")
c.finish()
