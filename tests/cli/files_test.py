#!/usr/bin/env python3
"""Files a command reads and writes: none is destroyed, outputs are looked at first, `-` is a standard stream."""
import os
import pty
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from program import EXAMPLES, TILEWAVE, Checker, tilewave

USAGE, RESOURCES = 2, 3
BELL = EXAMPLES / "bell.qasm"
CODE = "X_ERROR(0.1) 0 1\nM 0 1\nDETECTOR rec[-1] rec[-2]\nOBSERVABLE_INCLUDE(0) rec[-1]\n"
c = Checker()


def refused(code, words, *command, keeps=()):
    before = [path.read_bytes() for path in keeps]
    done = tilewave(*command)
    what = f"{' '.join(map(str, command))}: exit {done.code}, {done.err!r}"
    c.check(done.code == code and words in done.err and done.err.count("\n") == 1, f"'{words}' expected: {what}")
    c.check([path.read_bytes() for path in keeps] == before, f"files are as they were: {what}")


def piped(text, *command):
    done = subprocess.run([TILEWAVE, *map(str, command)], input=text, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def seen_on_terminal(*command, until=None, limit_s=60):
    """What the command writes to its standard error, a terminal. It is interrupted once that holds `until`, or after
    three seconds."""
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    run = subprocess.Popen([TILEWAVE, *map(str, command)], stdout=subprocess.DEVNULL, stderr=theirs,
                           env={**env, "TERM": "xterm"})
    os.close(theirs)
    os.set_blocking(ours, False)
    text, begin, told = "", time.monotonic(), False
    while time.monotonic() - begin < limit_s:
        ended = run.poll() is not None
        try:
            text += os.read(ours, 65536).decode()
        except BlockingIOError:
            pass  # nothing new
        except OSError:
            break  # the terminal is closed
        if ended:
            break
        if not told and (until in text if until else time.monotonic() - begin > 3):
            run.send_signal(signal.SIGINT)
            told = True
        time.sleep(0.01)
    os.close(ours)
    run.kill()
    run.wait()
    return text


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    circuit, shots, model, qasm = (folder / f for f in ("a circuit.stim", "shots.01", "model.dem", "bell.qasm"))
    circuit.write_text(CODE)
    shots.write_text("01\n10\n")
    model.write_text("error(0.1) D0 L0\n")
    qasm.write_text(BELL.read_text())
    link = folder / "link"
    link.symlink_to(circuit)

    # bits of sweeps for as many shots as were measured
    swept, bits = folder / "swept.stim", folder / "sweep.01"
    swept.write_text("CX sweep[0] 0\nM 0\nDETECTOR rec[-1]\n")
    (folder / "one.01").write_text("1\n0\n")
    for number, words in ((1, "fewer"), (2, None), (3, "more")):
        bits.write_text("1\n" * number)
        done = tilewave("m2d", "--circuit", swept, "--in", folder / "one.01", "--in_format", "01", "--sweep", bits,
                        "--sweep_format", "01")
        c.check((done.code, done.err) == (0, "") if not words else done.code == 4 and f"there are {words} shots of sweep bits" in done.err,
                f"{number} shots of sweep bits: {done.code} {done.err!r}")

    # an output that is an input, by any name
    for out in (circuit, link, folder / "." / circuit.name):
        refused(USAGE, "replace the input", "sample", "--in", circuit, "--out", out, keeps=[circuit])
        refused(USAGE, "replace the input", "detect", "--in", circuit, "--obs_out", out, keeps=[circuit])
        refused(USAGE, "replace the input", "analyze_errors", "--in", circuit, "--out", out, keeps=[circuit])
        refused(USAGE, "replace the input", "explain_errors", "--in", circuit, "--out", out, keeps=[circuit])
        refused(USAGE, "replace the input", "m2d", "--circuit", circuit, "--in", shots, "--in_format", "01",
                "--out", out, keeps=[circuit])
    refused(USAGE, "replace the input", "m2d", "--circuit", circuit, "--in", shots, "--in_format", "01",
            "--out", shots, keeps=[shots])
    refused(USAGE, "replace the input", "convert", "--in", shots, "--in_format", "01", "--out", shots,
            "--out_format", "b8", "--bits_per_shot", "2", keeps=[shots])
    refused(USAGE, "replace the input", "sample_dem", "--in", model, "--err_out", model, keeps=[model])
    refused(USAGE, "replace the input", "run", qasm, "--state", qasm, keeps=[qasm])
    refused(USAGE, "replace the input", "run", qasm, "--report", qasm, keeps=[qasm])
    # rasters: the image, the table of classes, and what another flag writes
    image, table = folder / "image.png", folder / "table.png"  # any name will do for a table
    start = folder / "start.pgm"
    start.write_bytes(b"P5\n4 4\n255\n" + bytes(range(16)))
    done = tilewave("map", start, "--expr", "v", "--dtype", "u8", "--output", image, "--quiet")
    c.check(done.code == 0, f"an image: {done.err}")
    table.write_text("value,class\n0,0\n1,1\n")
    for words, arguments, keeps in (
            ("--output {0}: it would replace the input", ("--output", image), image),
            ("--view {0}: it would replace the input", ("--output", folder / "o.npy", "--view", image), image),
            ("--view {0}: it would replace the input", ("--output", folder / "o.npy", "--classes", table, "--view", table), table),
            ("--output {0}: it would replace the input", ("--classes", table, "--output", table), table)):
        refused(USAGE, words.format(keeps), "entropy", image, *arguments, keeps=[keeps])
    refused(USAGE, "it would replace what --output writes", "entropy", image, "--output", folder / "o.png", "--dtype", "u8",
            "--view", folder / "." / "o.png", keeps=[image])
    refused(USAGE, "it would replace the input", "map", image, "--expr", "v", "--output", folder / "." / "image.png",
            keeps=[image])
    # a file that the program includes is an input too, in both languages and of every reader of circuits
    gates = folder / "gates.inc"
    gates.write_text("gate f a { x a; }\n")
    for head, register in (('OPENQASM 2.0;\ninclude "qelib1.inc";', "qreg q[2];"),
                           ('OPENQASM 3.0;\ninclude "stdgates.inc";', "qubit[2] q;")):
        program = folder / "program.qasm"
        program.write_text(f'{head}\ninclude "gates.inc";\n{register}\nf q[0];\n')
        for out in (gates, folder / "." / gates.name):
            refused(USAGE, "replace a file that the program includes", "run", program, "--report", out, keeps=[gates])
        gates.rename(folder / "gates.npy")  # the ending that --state wants
        program.write_text(program.read_text().replace('"gates.inc"', '"gates.npy"'))
        refused(USAGE, "replace a file that the program includes", "run", program, "--state", folder / "gates.npy",
                keeps=[folder / "gates.npy"])
        refused(USAGE, "replace the input", "bench", program, "--no-limit", "--json", folder / "gates.npy",
                keeps=[folder / "gates.npy"])
        (folder / "gates.npy").rename(gates)
    refused(USAGE, "replace the input", "bench", qasm, "--no-limit", "--json", qasm, keeps=[qasm])
    refused(USAGE, "replace the input", "bench", qasm, "--write", folder, keeps=[qasm])

    # two outputs that are one file, there already or not
    for out in (folder / "new.01", shots):
        refused(USAGE, "what --out writes", "detect", "--in", circuit, "--out", out, "--obs_out", out)
    c.check(not (folder / "new.01").exists(), "nothing is created")
    done = tilewave("detect", "--in", circuit, "--out", "/dev/null", "--obs_out", "/dev/null")
    c.check(done.code == 0, f"devices may be named twice: {done.err!r}")

    for flag in ("--state", "--report"):  # pages and arrays go to files
        refused(USAGE, f"{flag} -: give the name", "run", BELL, flag, "-")

    # the state is a .npy file, and its name does not say otherwise
    refused(USAGE, "name it state.npy", "run", BELL, "--state", "state.txt")
    c.check(tilewave("run", BELL, "--state", folder / "state").code == 0, "a state without an ending")

    # outputs that cannot be written are found before the work
    for flag in ("--report", "--state"):
        refused(RESOURCES, "nowhere", "run", BELL, flag, folder / "nowhere" / "x")
        refused(RESOURCES, str(folder), "run", BELL, flag, folder)
    done = tilewave("bench", "bv", "--qubits", "5", "--no-limit", "--json", folder / "nowhere" / "x.json")
    c.check(done.code == RESOURCES and "nowhere" in done.err and not done.out, f"bench --json: {done.err!r}")
    refused(RESOURCES, "there is no folder", "bench", "bv", "--qubits", "5", "--write", circuit)
    done = tilewave("bench", "bv", "--qubits", "5", "--write", folder / "new")
    c.check(done.out == f"{folder}/new/bv_5.qasm\n", f"bench --write says what it wrote: {done.out!r}")

    # progress: on a terminal, when the whole takes long; not where shots appear there, nor when told so
    long = ("--in", circuit, "--shots", "1e13", "--seed", "1")
    for command in ("sample", "detect"):
        err = seen_on_terminal(command, *long, "--out", "/dev/null", until="left")
        c.check("% " in err and "left" in err and "interrupted before shot" in err, f"{command} progress: {err!r}")
    err = seen_on_terminal("sample", *long, "--out", "/dev/null", "--out_format", "counts", until="left")
    c.check("left" in err, f"counts progress: {err!r}")
    err = seen_on_terminal("sample", *long, "--out", "/dev/null", "--quiet")
    c.check("left" not in err and "interrupted" in err, f"--quiet: {err!r}")
    err = seen_on_terminal("sample", "--in", circuit, "--shots", "1000", "--out", "/dev/null")
    c.check(err == "", f"a short run draws nothing: {err!r}")

    # a standard output that is full or closed: one message with the reason, whatever prints
    prints = [(), ("--help",), ("--version",), ("help",), ("help", "gates"), ("run", "--help"), ("run", BELL), ("info",),
              ("run", BELL, "--json"), ("sample", "--in", circuit), ("gen", "--code", "repetition_code", "--task", "memory",
                                                                     "--distance", "3", "--rounds", "3")]
    for command in prints:
        for redirection, reason in ((">&-", "closed"), ("> /dev/full", "No space left on device")):
            if "full" in redirection and not Path("/dev/full").exists():
                continue
            done = subprocess.run(["sh", "-c", f'"$0" "$@" {redirection}', TILEWAVE, *map(str, command)],
                                  capture_output=True, text=True, timeout=120)
            earlier = "full" in redirection and "disk full" in done.stderr  # a write before the last one failed
            c.check(done.returncode == RESOURCES and (earlier or reason in done.stderr) and done.stderr.count("\n") == 1,
                    f"{' '.join(map(str, command))} {redirection}: exit {done.returncode}, {done.stderr!r}")
    # no file that is opened takes the place of the closed stream and gets what is printed
    page = folder / "page.html"
    subprocess.run(["sh", "-c", '"$0" "$@" >&-', TILEWAVE, "run", BELL, "--report", page], capture_output=True, timeout=120)
    c.check(page.read_text().startswith("<!doctype html>") and page.read_text().rstrip().endswith("</html>"),
            f"a page beside a closed output: {page.read_text()[-80:]!r}")

    # an output that was there before stays what it was where a command fails, and none is left that was not
    kept, fresh = folder / "kept", folder / "fresh"
    bad, random, gate = folder / "bad.stim", folder / "random.stim", folder / "t.stim"
    bad.write_text("H 0\nFOO 0\n")
    random.write_text("M 0\nH 0\nM 0\nDETECTOR rec[-1]\n")
    gate.write_text("T 0\nM 0\nDETECTOR rec[-1]\n")
    long_loop = folder / "long.stim"
    long_loop.write_text("REPEAT 1000000000000000 {\nELSE_CORRELATED_ERROR(0.1) X0\n}\nM 0\n")
    (folder / "half.01").write_text("01\n1")
    (folder / "bad.dem").write_text("error(0.1) D0\nerror(2) D1\n")
    failing = (("analyze_errors", "--in", random), ("analyze_errors", "--in", gate), ("analyze_errors", "--in", bad),
               ("explain_errors", "--in", bad), ("explain_errors", "--in", gate),
               ("diagram", "--type", "matchgraph-svg", "--in", gate), ("diagram", "--type", "timeline-svg", "--in", bad),
               ("convert", "--in", folder / "half.01", "--bits_per_shot", "2", "--out_format", "b8"),
               ("convert", "--to", "stim", "--in", bad), ("sample", "--in", bad), ("sample", "--in", long_loop),
               ("sample", "--in", circuit, "--out_format", "nothing"), ("detect", "--in", circuit, "--postselect", "7"),
               ("detect", "--in", circuit, "--strata", "x"), ("detect", "--in", long_loop),
               ("sample_dem", "--in", folder / "bad.dem"), ("sample_dem", "--in", model, "--faults", "7"),
               ("m2d", "--circuit", circuit, "--in", folder / "half.01", "--in_format", "01"),
               ("m2d", "--circuit", circuit, "--in", shots, "--in_format", "nothing"),
               ("gen", "--code", "surface_code", "--task", "nothing", "--distance", "3", "--rounds", "3"),
               ("gen", "--code", "surface_code", "--task", "rotated_memory_x", "--distance", "3", "--rounds", "3",
                "--after_reset_flip_probability", "2"))
    for command in failing:
        for out in (kept, fresh):
            kept.write_text("precious")
            done = tilewave(*command, "--out", out)
            what = f"{' '.join(map(str, command))}: exit {done.code}, {done.err!r}"
            c.check(done.code != 0 and done.err.startswith("error: "), f"fails: {what}")
            c.check(kept.read_text() == "precious" and not fresh.exists(), f"the output is as it was: {what}")
            c.check(not list(folder.glob(".tilewave-*")), f"nothing is left beside it: {what}")
    for command in (("detect", "--in", circuit), ("m2d", "--circuit", circuit, "--in", folder / "half.01", "--in_format", "01")):
        kept.write_text("precious")
        done = tilewave(*command, "--out", fresh, "--out_format", "nothing" if command[0] == "detect" else "01", "--obs_out", kept)
        c.check(done.code != 0 and kept.read_text() == "precious" and not fresh.exists(), f"{command[0]} --obs_out: {done.err!r}")
    # ... and is replaced as a whole where it succeeds
    for command in (("analyze_errors", "--in", circuit), ("explain_errors", "--in", circuit),
                    ("diagram", "--type", "timeline-svg", "--in", circuit),
                    ("convert", "--in", shots, "--bits_per_shot", "2", "--out_format", "hits"),
                    ("convert", "--to", "stim", "--in", circuit), ("sample", "--in", circuit, "--seed", "1"),
                    ("sample", "--in", circuit, "--seed", "1", "--out_format", "counts"),
                    ("sample", "--in", circuit, "--shots", "0"), ("detect", "--in", circuit, "--seed", "1"),
                    ("detect", "--in", circuit, "--seed", "1", "--strata", "0,1", "--shots", "100", "--quiet"),
                    ("sample_dem", "--in", model, "--seed", "1"),
                    ("m2d", "--circuit", circuit, "--in", shots, "--in_format", "01"),
                    ("gen", "--code", "repetition_code", "--task", "memory", "--distance", "3", "--rounds", "3")):
        kept.write_text("precious" * 1000)
        done, printed = tilewave(*command, "--out", kept), tilewave(*command)
        c.check(done.code == 0 and kept.read_text() == printed.out, f"{' '.join(map(str, command))}: {done.err!r}")

    # what is wrong is named
    gen = ("gen", "--code", "repetition_code", "--task", "memory", "--distance", "3", "--rounds", "3")
    for flag in ("after_clifford_depolarization", "before_round_data_depolarization", "before_measure_flip_probability",
                 "after_reset_flip_probability"):
        for value in ("1.5", "-0.1", "nan", "x"):
            refused(USAGE, f"--{flag} '{value}': give a probability, from 0 to 1", *gen, f"--{flag}={value}")
    bits.write_text("1\n0\n")
    m2d = ("m2d", "--circuit", circuit, "--in", shots, "--in_format", "01")
    refused(USAGE, "has no sweep bits: leave the flag out", *m2d, "--sweep", bits)
    bits.write_text("\n\n")
    c.check(tilewave(*m2d, "--sweep", bits).out == tilewave(*m2d).out, "rows of no sweep bits are as good as none")

    # a match graph of a model or a circuit, from wherever it comes
    graph = ("diagram", "--type", "matchgraph-svg")
    for text in ("error(0.1) D0 D1\ndetector(1, 2) D0\n", "# a model\n\ndetector[a](1) D0 # (x)\nerror(0.1) D0\n",
                 "repeat 3 {\n  shift_detectors(1) 1\n error(0.1) D0\n}\n", "logical_observable L0\nerror(0.1) D0 L0\n"):
        model.write_text(text)
        (folder / "model.txt").write_text(text)
        want = tilewave(*graph, "--in", model)
        c.check(want.code == 0 and "<svg" in want.out, f"a model: {want.err!r}")
        c.check(piped(text, *graph) == (0, want.out, ""), f"a model from the standard input: {text!r}")
        c.check(tilewave(*graph, "--in", folder / "model.txt").out == want.out, f"a model of another name: {text!r}")
    for text in (CODE, "REPEAT 2 {\nX_ERROR(0.1) 0\nMR 0\nDETECTOR(1) rec[-1] # D0\n}\n", "DETECTOR\n"):
        (folder / "circuit.txt").write_text(text)
        want = tilewave(*graph, "--in", folder / "circuit.txt")
        c.check(want.code == 0 and piped(text, *graph) == (0, want.out, ""), f"a circuit: {text!r} {want.err!r}")

    # the standard streams
    code, out, err = piped(BELL.read_text(), "run", "-", "--shots", "50", "--seed", "1", "--quiet")
    c.check(code == 0 and out == tilewave("run", BELL, "--shots", "50", "--seed", "1", "--quiet").out, f"run -: {err!r}")
    code, out, err = piped("OPENQASM 2.0;\nqreg q[1];\nhh q[0];\n", "run", "-")
    c.check(code == 4 and "<stdin>:3:1:" in err, f"errors name the stream: {err!r}")
    code, out, err = piped(CODE, "sample", "--in", "-", "--out", "-", "--shots", "5", "--seed", "3")
    c.check(code == 0 and out == tilewave("sample", "--in", circuit, "--shots", "5", "--seed", "3").out, f"--in -: {err!r}")

c.finish()
