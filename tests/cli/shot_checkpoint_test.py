#!/usr/bin/env python3
"""Samplers that are killed and go on: the same bytes as undisturbed, in every command and format, and what is refused."""
import random
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from program import TILEWAVE, Checker, tilewave

USAGE, RESOURCES, INPUT = 2, 3, 4
c = Checker()
r = random.Random()


def code_circuit(distance, rounds, extra=""):
    """A repetition code with noise, by hand."""
    data, checks = range(0, 2 * distance - 1, 2), range(1, 2 * distance - 2, 2)
    lines = ["R " + " ".join(map(str, range(2 * distance - 1))), extra]
    for k in range(rounds):
        lines.append("DEPOLARIZE1(0.01) " + " ".join(map(str, data)))
        lines += [f"CX {q - 1} {q} {q + 1} {q}" for q in checks]
        lines.append("X_ERROR(0.01) " + " ".join(map(str, checks)))
        lines.append("MR " + " ".join(map(str, checks)))
        for j in range(len(checks)):
            now = f"rec[{j - len(checks)}]"
            lines.append(f"DETECTOR {now}" if k == 0 else f"DETECTOR {now} rec[{j - 2 * len(checks)}]")
    lines.append("M " + " ".join(map(str, data)))
    lines.append("OBSERVABLE_INCLUDE(0) rec[-1]")
    return "\n".join(lines) + "\n"


def start(*words):
    return subprocess.Popen([TILEWAVE, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path, limit_s=60):
    end = time.monotonic() + limit_s
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.002)


def wait_for_another(path, limit_s):
    """Whether the file becomes another (a checkpoint is renamed into its place) within the limit and before it goes."""
    end = time.monotonic() + limit_s
    try:
        first = path.stat().st_ino
        while path.stat().st_ino == first and time.monotonic() < end:
            time.sleep(0.001)
        return path.stat().st_ino != first
    except FileNotFoundError:
        return False


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    code, magic, model = folder / "code.stim", folder / "magic.stim", folder / "model.dem"
    code.write_text(code_circuit(5, 20))
    magic.write_text(code_circuit(5, 6, "H 0\nS[T] 0\nS[T] 2\nH 0"))
    model.write_text("".join(f"error(0.0{1 + k % 9}) D{k} D{k + 1} L{k % 2}\n" for k in range(60)))
    RUNS = {  # title: command, input, shots, other words, other outputs
        "detect 01": ("detect", code, 3_000_000, [], []),
        "detect dets": ("detect", code, 1_500_000, ["--out_format", "dets"], []),
        "detect b8 in two files": ("detect", code, 1_500_000, ["--out_format", "b8", "--obs_out_format", "hits"], ["--obs_out"]),
        "detect ptb64": ("detect", code, 640_000, ["--out_format", "ptb64", "--threads", 2], []),
        "detect with selection": ("detect", code, 6_000_000, ["--postselect", "0-3", "--append_observables"], []),
        "counts with selection": ("detect", code, 15_000_000, ["--postselect", "all", "--out_format", "counts"], []),
        "counts": ("detect", code, 30_000_000, ["--out_format", "counts", "--engine", "frame"], []),
        "pairs": ("detect", code, 8_000_000, ["--out_format", "pairs"], []),
        "sample r8": ("sample", code, 1_000_000, ["--out_format", "r8", "--first_shot", 1234], []),
        "near Clifford": ("detect", magic, 4_000_000, ["--out_format", "b8"], []),
        "with three faults": ("detect", code, 2_000_000, ["--faults", 3, "--out_format", "b8"], []),
        "counts with faults": ("detect", magic, 5_000_000, ["--faults", "2-4", "--postselect", "all", "--out_format", "counts"], []),
        "a model with faults": ("sample_dem", model, 1_000_000, ["--faults", "2+", "--out_format", "hits"], []),
        "sample_dem": ("sample_dem", model, 1_500_000, ["--append_observables", "--err_out_format", "b8"], ["--err_out"]),
    }
    for title, (command, given, shots, words, others) in RUNS.items():
        place = folder / title.replace(" ", "_")
        place.mkdir()

        def outputs(kind):
            files = [place / f"{kind}.out", *(place / f"{kind}{other}" for other in others)]
            return files, ["--out", files[0], *(w for other, file in zip(others, files[1:]) for w in (other, file))]

        run = [command, "--in", given, "--shots", shots, "--seed", 5, *words]
        files, where = outputs("whole")
        whole = tilewave(*run, *where)
        c.check(whole.code == 0, f"{title}: {whole.err}")
        killed, share, going = 0, 1.0, place / "kept"
        kept, there = outputs("killed")
        done = None
        for k in range(60):
            more = ["--checkpoint", going, "--resume", going, "--checkpoint-every", "0.01s"]
            process = start(*run, *there, *more)
            try:
                out, err = process.communicate(timeout=share * whole.seconds * r.uniform(0.3, 0.9) if killed < 4 else 120)
                done = process.returncode
                if killed or done != 0:
                    break
                share *= 0.7  # it was faster than the first: once more, with less time
                for file in kept:
                    file.unlink()
            except subprocess.TimeoutExpired:
                how = r.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
                process.send_signal(how)
                out, err = process.communicate()
                killed += 1
                # before it samples the program says no more than that it was interrupted
                if how == signal.SIGTERM and process.returncode == -how and err.strip() not in ("", "interrupted"):
                    c.check(f"--resume {going}" in err, f"{title}: says how to go on: {err}")
        c.check(done == 0, f"{title}: comes to an end: {done} {err}")
        c.check(killed > 0, f"{title}: was killed")
        for a, b in zip(files, kept):
            c.check(a.read_bytes() == b.read_bytes(), f"{title}: {b.name} is the same after {killed} kills: "
                    f"{a.stat().st_size} and {b.stat().st_size} bytes")
        if "selection" in title and "counts" not in title:
            c.check(err.splitlines()[-1:] == whole.err.splitlines()[-1:], f"{title}: the same counts: {err} {whole.err}")
        c.check(not list(going.iterdir()), f"{title}: nothing stays")
        print(title, f"{whole.seconds:.2f} s, {killed} kills")

    # a seed that was drawn goes on, and threads may be others
    place = folder / "drawn"
    run = ["detect", "--in", code, "--shots", 3_000_000, "--out", place]
    for _ in range(50):  # until one is killed before its end, with rows behind its checkpoint: the first is of no row
        process = start(*run, "--threads", 1, "--checkpoint", folder / "c1", "--checkpoint-every", "0.01s")
        wait_for(folder / "c1" / "checkpoint", 2)
        of_rows = wait_for_another(folder / "c1" / "checkpoint", 2)
        process.kill()
        process.communicate()
        if of_rows and (folder / "c1" / "checkpoint").exists():
            break
        place.unlink(missing_ok=True)
        shutil.rmtree(folder / "c1", ignore_errors=True)
    before = (folder / "c1" / "checkpoint").read_bytes()
    done = tilewave(*run, "--resume", folder / "c1", "--threads", 2)
    c.check(done.code == 0 and len(place.read_bytes().splitlines()) == 3_000_000, f"a drawn seed: {done.err}")
    first = place.read_bytes()
    c.check((folder / "c1" / "checkpoint").read_bytes() == before, "without --checkpoint the folder stays as it is")
    place.write_bytes(first + b"more")
    done = tilewave(*run, "--resume", folder / "c1")
    c.check(done.code == 0 and place.read_bytes() == first, f"once more: {done.err}")

    # refused with a reason
    other = folder / "other.stim"
    other.write_text(code.read_text().replace("0.01", "0.02"))
    for words, reason in [(["detect", "--in", other, *run[3:]], "circuit"), (["sample", *run[1:]], "command"),
                          ([*run[:4], 3_000_001, *run[5:]], "shots"), ([*run, "--seed", 1], "seed"),
                          ([*run, "--out_format", "b8"], "format"), ([*run, "--postselect", "0"], "post-selection"),
                          ([*run, "--append_observables"], "outputs"), ([*run, "--engine", "frame"], "engine")]:
        done = tilewave(*words, "--resume", folder / "c1")
        c.check(done.code == USAGE and f"another {reason}" in done.err or reason in done.err, f"{reason}: {done.code} {done.err}")
    c.check(place.read_bytes() == first, "what is refused touches no file")
    for words in (["--explain"], ["--checkpoint-every", "0"]):
        done = tilewave(*run, "--checkpoint", folder / "c2", *words)
        c.check(done.code == USAGE and not (folder / "c2").exists(), f"{words}: {done.code} {done.err}")
    done = tilewave(*run, "--checkpoint", folder / "c1")
    c.check(done.code == USAGE and "earlier run" in done.err and place.read_bytes() == first, f"another's folder: {done.err}")
    done = tilewave(*run[:5], "--checkpoint", folder / "c3")
    c.check(done.code == USAGE and "--out FILE" in done.err, f"the standard output: {done.code} {done.err}")
    done = tilewave(*run, "--resume", folder / "nowhere")
    c.check(done.code == INPUT and "no checkpoint" in done.err, f"nowhere: {done.code} {done.err}")
    # another file, a shorter one, none
    for change in (first[:100], b"1" + first[1:200_000], None):
        place.unlink() if change is None else place.write_bytes(change)
        done = tilewave(*run, "--resume", folder / "c1")
        c.check(done.code in (INPUT, RESOURCES) and str(place) in done.err, f"another file: {done.code} {done.err}")
        c.check((place.read_bytes() if place.exists() else None) == change, "it stays as it is")
    damaged = bytearray(before)
    damaged[len(before) // 2] ^= 1
    (folder / "c1" / "checkpoint").write_bytes(damaged)
    place.write_bytes(first)
    done = tilewave(*run, "--resume", folder / "c1")
    c.check(done.code == INPUT and "damaged" in done.err, f"damaged: {done.code} {done.err}")
    # the checkpoint of a run of a circuit
    qasm = folder / "c.qasm"
    qasm.write_text('OPENQASM 2.0;\ninclude "qelib1.inc";\nqreg q[20];\n' + "h q;\ncx q[0],q[5];\nrx(0.1) q;\n" * 300)
    process = start("run", qasm, "--checkpoint", folder / "c4")
    wait_for(folder / "c4" / "checkpoint")
    process.kill()
    process.communicate()
    done = tilewave(*run, "--resume", folder / "c4")
    c.check(done.code == USAGE and "run of a circuit, not of files of shots" in done.err, f"another kind: {done.err}")
c.finish()
