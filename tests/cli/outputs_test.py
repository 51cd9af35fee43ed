#!/usr/bin/env python3
"""Outputs appear whole or not at all, beside files they do not touch; an answer is printed before a file fails."""
import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from program import EXAMPLES, HEAD, PATIENCE, TILEWAVE, Checker, tilewave
from raster_files import npy_bytes

RESOURCES = 3
LEVELS = ("--levels", 256)
BELL = EXAMPLES / "bell.qasm"
UMASK = os.umask(0o22)
os.umask(UMASK)
c = Checker()


def npy(rows, columns):
    """An array of bytes as a .npy file: 0, 1, 2, ..."""
    data = (bytes(range(251)) * (rows * columns // 251 + 1))[:rows * columns]
    return npy_bytes((rows, columns), "|u1", data)


def study(width, height):
    """A container of one record."""
    return width.to_bytes(4, "little") + height.to_bytes(4, "little") + bytes(k % 7 for k in range(width * height))


def start(*words, **more):
    return subprocess.Popen([TILEWAVE, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            **more)


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    image, records, wide = folder / "in.npy", folder / "in.bin", folder / "wide.npy"
    image.write_bytes(npy(64, 64))
    records.write_bytes(study(32, 32))
    WRITERS = {  # an output's name -> the command that writes it
        "st.npy": ("run", BELL, "--state"),
        "page.html": ("run", BELL, "--report"),
        "times.json": ("bench", "bv", "--qubits", "4", "--repeats", "1", "--no-limit", "--json"),
        "e.tif": ("entropy", image, *LEVELS, "-o"), "e.npy": ("entropy", image, *LEVELS, "-o"),
        "e.raw": ("entropy", image, *LEVELS, "-o"),
        "m.png": ("map", "--expr", "v", "--dtype", "u8", image, "-o"),
        "m.pgm": ("map", "--expr", "v", "--dtype", "u8", image, "-o"),
        "e.csv": ("entropy", records, "-o"),
    }
    for output, command in WRITERS.items():
        # nothing beside the output is touched: neither a file of the user nor what a link there leads to
        place = folder / f"of {output}"
        (place / "other").mkdir(parents=True)
        path, part, victim = place / output, place / f"{output}.part", place / "victim"
        victim.write_text("precious")
        for make in (lambda: part.write_text("precious"), lambda: part.symlink_to(victim)):
            make()
            done = tilewave(*command, path)
            c.check(done.code == 0, f"{output}: {done.err!r}")
            c.check(part.read_text() == "precious" and victim.read_text() == "precious", f"{output}: files beside it")
            c.check(path.is_file() and not path.is_symlink(), f"{output} is a file")
            c.check({p.name for p in place.iterdir()} == {output, part.name, "victim", "other"}, f"{output}: leftovers")
            c.check(path.stat().st_mode & 0o777 == 0o666 & ~UMASK, f"{output}: mode")
            whole = path.read_bytes()
            part.unlink()
        # a link is followed to its target
        target = place / "other" / output
        target.write_text("old")
        path.unlink()
        path.symlink_to(target)
        done = tilewave(*command, path)
        c.check(done.code == 0 and path.is_symlink() and not target.is_symlink(), f"{output}: a link stays: {done.err!r}")
        if output not in ("page.html", "times.json"):  # these hold times
            c.check(target.read_bytes() == whole, f"{output}: what the link leads to is written")
        c.check(len(list(target.parent.iterdir())) == 1, f"{output}: leftovers where the link leads")

    # two runs with one output: both end well, the file is one of theirs
    prefix = HEAD + "qreg q[16];\n"
    names, states = [], []
    for k, gates in enumerate(("x q;\n", "h q;\n")):
        names.append(folder / f"c{k}.qasm")
        names[-1].write_text(prefix + gates)
        tilewave("run", names[-1], "--state", folder / "alone.npy")
        states.append((folder / "alone.npy").read_bytes())
    shared = folder / "shared.npy"
    for attempt in range(6):
        runs = [start("run", path, "--state", shared, "--threads", 1) for path in names]
        ends = [(run.communicate()[1], run.returncode) for run in runs]
        c.check([code for _, code in ends] == [0, 0], f"two runs, one file: {ends}")
        c.check(shared.read_bytes() in states, "the file is whole")

    # a signal or a limit of file sizes leaves nothing behind, and the old file
    wide.write_bytes(npy(3000, 3000))
    place = folder / "ended"
    place.mkdir()
    for output in ("e.npy", "e.tif", "e.raw"):
        for number in (signal.SIGINT, signal.SIGTERM):
            (place / output).write_text("old")
            run = start("entropy", wide, *LEVELS, "-o", place / output, "--window", "31x31", "--threads", 1)
            deadline = time.monotonic() + 20
            while len(list(place.iterdir())) == 1 and run.poll() is None and time.monotonic() < deadline:
                time.sleep(0.002)
            run.send_signal(number)
            _, err = run.communicate(timeout=30)
            c.check(run.returncode in (-number, 128 + number), f"{output}: ended by the signal: {run.returncode} {err!r}")
            c.check([p.name for p in place.iterdir()] == [output], f"{output}: nothing is left: {list(place.iterdir())}")
            c.check((place / output).read_text() == "old", f"{output}: the old file stays")
            (place / output).unlink()

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    for output, command in {**WRITERS, "st.npy": ("run", names[1], "--state"), "e.csv": ("entropy", records, "-o"),
                            "m.png": ("map", "--expr", "(v*v*7+v*13)/11", "--dtype", "u8", wide, "-o")}.items():
        if output in ("times.json", "e.csv"):  # shorter than the limit
            continue
        command = [wide if word == image else word for word in command]
        run = start(*command, place / output, preexec_fn=limited)
        _, err = run.communicate(timeout=60)
        c.check(run.returncode == RESOURCES and "File too large" in err and err.count("error:") == 1,
                f"{output}, ulimit -f: {run.returncode} {err!r}")
        c.check(not list(place.iterdir()), f"{output}, ulimit -f: nothing is left: {list(place.iterdir())}")

    # the answer is printed before a file fails
    full = ("run", BELL, "--shots", "5", "--seed", "1", "--quiet")
    for flag, path in (("--report", "/dev/full"), ("--state", "/dev/full")):
        for json_flag in ((), ("--json",)):
            done = tilewave(*full, flag, path, *json_flag)
            c.check(done.code == RESOURCES and done.err.count("error:") == 1 and "/dev/full: cannot write" in done.err,
                    f"{flag} {path}: {done.code} {done.err!r}")
            if json_flag:
                counts = json.loads(done.out)["counts"]
                c.check(sum(counts.values()) == 5, f"{flag} {path}: counts in JSON: {done.out!r}")
            else:
                c.check("00" in done.out or "11" in done.out, f"{flag} {path}: counts: {done.out!r}")
    for ranks in (2, 4):  # the root goes on taking the others' parts
        path = folder / "ranks.qasm"
        path.write_text(HEAD + "qreg q[14];\nh q;\n")
        done = tilewave("run", path, "--ranks", ranks, "--state", "/dev/full", "--shots", "3", "--quiet")
        c.check(done.code == RESOURCES and done.out and done.err.count("error:") == 1, f"--ranks: {done.code} {done.err!r}")

# no output takes the name of a checkpoint, by whatever path: one would replace the other
with tempfile.TemporaryDirectory() as name:
    place = Path(name)
    circuit, model, kept = place / "c.stim", place / "c.dem", place / "kept"
    circuit.write_text("H 0\nM 0\nDETECTOR rec[-1]\n")
    model.write_text("error(0.1) D0\n")
    (place / "folder_link").symlink_to("kept")
    (place / "file_link").symlink_to("kept/checkpoint")
    (place / "link_link").symlink_to(place / "file_link")
    taken = (kept / "checkpoint", f"{place}/./kept/../kept/checkpoint", place / "folder_link" / "checkpoint", place / "file_link",
             place / "link_link", kept / "checkpoint-0123456789abcdef", kept / "checkpoint-0123456789abcdef" / "rank-0")
    shots = ("--out", place / "shots")
    for command in (("run", BELL, "--state"), ("run", BELL, "--report"), ("sample", "--in", circuit, "--out"),
                    ("detect", "--in", circuit, "--out"), ("detect", "--in", circuit, *shots, "--obs_out"),
                    ("sample_dem", "--in", model, "--out"), ("sample_dem", "--in", model, *shots, "--obs_out"),
                    ("sample_dem", "--in", model, *shots, "--err_out")):
        for path in taken:
            for of_kept in (("--checkpoint", kept), ("--checkpoint", place / "folder_link"), ("--resume", kept)):
                done = tilewave(*command, path, *of_kept)
                c.check(done.code == 2 and f"{command[-1]} {path}: " in done.err and "have this name" in done.err and not done.out
                        and len(done.err.splitlines()) == 1, f"{command} {path} {of_kept}: {done.code} {done.err!r}")
    c.check(not kept.exists() and not shots[1].exists(), f"nothing is made: {list(place.iterdir())}")
    # other names in that folder are as good as any
    kept.mkdir()
    for path in (kept / "events", kept / "checkpoint-1"):
        done = tilewave("detect", "--in", circuit, "--shots", 3, "--out", path, "--checkpoint", kept)
        c.check(done.code == 0 and len(path.read_text().splitlines()) == 3, f"{path}: {done.code} {done.err!r}")
    # two outputs are one file through a link that leads to nothing yet
    (place / "later").symlink_to("events")
    done = tilewave("detect", "--in", circuit, "--out", place / "events", "--obs_out", place / "later")
    c.check(done.code == 2 and "what --out writes" in done.err, f"one file: {done.code} {done.err!r}")

# a sampler ends at the first signal: while its reader sleeps, and inside a block that never ends
READER, ENDLESS = "M 0\n", "REPEAT 10000000000 {\nELSE_CORRELATED_ERROR(0.1) X0\n}\nM 0\n"
for text, shots, number, to_file, command in (
        (READER, "1e12", signal.SIGINT, False, ("sample",)), (READER, "1e12", signal.SIGTERM, False, ("detect",)),
        (ENDLESS, "10", signal.SIGINT, False, ("sample", "--engine", "frame")),
        (ENDLESS, "10", signal.SIGTERM, True, ("sample", "--engine", "frame")),
        (ENDLESS, "10", signal.SIGINT, True, ("detect", "--engine", "frame"))):
    with tempfile.TemporaryDirectory() as name:
        circuit, out = Path(name, "c.stim"), Path(name, "out")
        circuit.write_text(text + "DETECTOR rec[-1]\n")
        run = start(*command, "--in", circuit, "--shots", shots, "--seed", 5, "--threads", 2,
                    *(("--out", out) if to_file else ()))
        time.sleep(0.5 * PATIENCE)
        run.send_signal(number)
        begin = time.monotonic()
        try:
            code = run.wait(timeout=20)
        except subprocess.TimeoutExpired:
            run.kill()
            code = "killed"
        seconds = time.monotonic() - begin
        run.stdout.close()
        err = run.stderr.read()
        run.stderr.close()
        what = f"{command} of {text!r}"
        c.check(code == -number and seconds < 10, f"{what}: {code} after {seconds:.1f} s")
        c.check("interrupted before shot" in err and "seed 5" in err, f"{what}: {err!r}")
        c.check(not to_file or out.read_bytes() == b"", f"{what}: the file holds whole shots")

c.finish()
