#!/usr/bin/env python3
"""What `tilewave run`, `info`, `bench` and `help` print."""
import json
import math
import os
import struct
import subprocess
import tempfile
from pathlib import Path

from program import EXAMPLES, HEAD, ROOT, Checker, tilewave

BELL = EXAMPLES / "bell.qasm"
c = Checker()

# JSON: exactly these keys
r = tilewave("run", BELL, "--json", "--shots", "1000", "--seed", "7", "--amplitudes", "first:4", "--probabilities",
             "all", "--expect", "0.5 ZZ + 2 X0 X1 - Y0 Y1").json()
c.check(list(r) == ["num_qubits", "engine", "precision", "device", "seed", "shots", "bit_order", "counts", "probabilities",
                    "amplitudes", "expectations", "expectation_sum", "norm", "shot_deviation", "memory_bytes", "plan", "timings_s"],
        f"keys {list(r)}")
c.check((r["num_qubits"], r["precision"], r["device"], r["seed"], r["shots"], r["bit_order"]) ==
        (2, "double", "cpu", 7, 1000, "little"), f"head {r}")
c.check(set(r["counts"]) == {"00", "11"} and sum(r["counts"].values()) == 1000, f"counts {r['counts']}")
c.check(all(abs(p - 0.5) < 1e-12 for p in r["probabilities"]), f"probabilities {r['probabilities']}")
c.check([a["index"] for a in r["amplitudes"]] == [0, 1, 2, 3], "indices")
few = tilewave("run", BELL, "--json", "--amplitudes", "first:10").json()["amplitudes"]
c.check(few == r["amplitudes"], f"the first ten of four are four: {few}")
c.check(abs(r["amplitudes"][3]["re"] - math.sqrt(0.5)) < 1e-12, "amplitude 3")
c.check([round(v, 12) for v in r["expectations"]] == [0.5, 2.0, 1.0], f"expectations {r['expectations']}")
c.check(abs(r["expectation_sum"] - 3.5) < 1e-12, "sum")
c.check(abs(r["norm"] - 1) < 1e-12 and r["memory_bytes"] >= 64, "norm and memory")
c.check(set(r["timings_s"]) == {"parse", "plan", "execute", "observe"}, f"timings {r['timings_s']}")
c.check(r["plan"]["passes"] == 1 and r["plan"]["gates"] == 2, f"plan {r['plan']}")

# seeds: the same bytes with any number of threads; drawn and printed when not given
program = HEAD + "qreg q[16]; creg c[16]; h q; cu1(0.3) q[0],q[9]; ry(0.4) q[3]; cx q[3],q[12]; measure q -> c;"
counts = [json.dumps(tilewave("run", "FILE", "--json", "--shots", "20000", "--seed", "11", "--threads", t,
                              text=program).json()["counts"]) for t in (1, 2, 7)]
c.check(counts[0] == counts[1] == counts[2], "counts for 1, 2 and 7 threads")
a, b = (tilewave("run", BELL, "--json").json() for _ in range(2))
c.check(a["seed"] != b["seed"], "a seed is drawn")
again = tilewave("run", BELL, "--json", "--seed", a["seed"]).json()
c.check(again["counts"] == a["counts"] and a["shots"] == 1000, "the printed seed repeats the run")

# precision, joint probabilities, Pauli order, ranges
r = tilewave("run", BELL, "--json", "--precision", "single", "--probabilities", "1,0").json()
c.check(r["precision"] == "single" and r["counts"] == {} and r["shots"] == 0, f"no shots unless asked {r}")
c.check([round(p, 5) for p in r["joint_probabilities"]] == [0.5, 0, 0, 0.5], f"joint {r}")
flip = HEAD + "qreg q[3]; x q[0];"
for order, want in (("last", 1), ("first", -1)):
    r = tilewave("run", "FILE", "--json", "--expect", "ZII", "--pauli-order", order, text=flip).json()
    c.check(r["expectations"] == [want], f"order {order}: {r['expectations']}")
r = tilewave("run", "FILE", "--json", "--amplitudes", "0,2-4,7", text=flip).json()
c.check([x["index"] for x in r["amplitudes"]] == [0, 2, 3, 4, 7], "ranges")

# the state as .npy, both precisions
for precision, kind, size in (("double", "<c16", "d"), ("single", "<c8", "f")):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.npy"
        done = tilewave("run", "FILE", "--state", path, "--precision", precision, text=flip)
        c.check(done.code == 0, f"state: {done.err}")
        data = path.read_bytes()
        c.check(data[:6] == b"\x93NUMPY" and kind.encode() in data[:128] and b"(8," in data[:128], "header")
        values = struct.unpack("<16" + size, data[-16 * struct.calcsize(size):])
        c.check(values[2] == 1 and sum(abs(v) for v in values) == 1, f"values {values}")
        c.check(list(Path(folder).iterdir()) == [path], "nothing is left behind")
        if precision == "double":  # of repeated runs the last one writes, once
            path.unlink()
            os.mkfifo(path)
            reader = subprocess.Popen(["cat", path], stdout=subprocess.PIPE)
            try:
                done = tilewave("run", "FILE", "--state", path, "--repeat", "3", text=flip, limit_s=20)
                c.check(done.code == 0 and reader.communicate(timeout=10)[0] == data, f"a state of repeated runs: {done.err}")
            finally:
                reader.kill()

# text
done = tilewave("run", BELL, "--seed", "1", "--shots", "100")
c.check(done.code == 0 and "###" in done.out and "2 qubits, double" in done.out, done.out)
done = tilewave("run", "FILE", text=HEAD + "qreg q[1];\nh q[0];\n")
c.check("\n1 qubit, double" in done.out and "1 pass" in done.out, done.out)
done = tilewave("run", "FILE", "--dry-run", text=HEAD + "qreg q[39];\nh q; cswap q[0],q[1],q[2];\n")
c.check(done.code == 0 and "the run would be refused" in done.out, f"a dry run says what would not fit: {done.out!r}")
# no shots have counts at once, from the engine of shots; other questions are answered without shots
GHZ = HEAD + "qreg q[60]; h q[0];" + "".join(f"cx q[{k}],q[{k + 1}];" for k in range(59))
r = tilewave("run", "FILE", "--shots", "0", "--json", text=GHZ).json()
c.check(r["counts"] == {} and r["engine"] == "stabilizer", f"counts of no shots: {r}")
r = tilewave("run", "FILE", "--shots", "0", "--json", "--expect", "Z0 Z59", text=GHZ).json()
c.check(r["expectations"] == [1], f"no shots, an expectation: {r}")
r = tilewave("run", BELL, "--shots", "0", "--json").json()
c.check(r["engine"] == "statevector" and abs(r["norm"] - 1) < 1e-12, f"no shots, a state: {r}")
quiet = tilewave("run", BELL, "--seed", "1", "--shots", "100", "--quiet")
c.check("qubits" not in quiet.out and "###" in quiet.out and quiet.err == "", quiet.out)
c.check(done.err == "", f"no progress line in a pipe: {done.err!r}")
explain = tilewave("run", BELL, "--explain")
c.check("pass" in explain.out and "predicted" in explain.out, explain.out)
profile = tilewave("run", BELL, "--profile")
c.check(all(w in profile.out for w in ("calls", "min", "mean", "max", "share", "predicted")), profile.out)

# a dry run plans what would never fit
r = tilewave("run", "FILE", "--dry-run", "--json", text=HEAD + "qreg q[40]; h q; cswap q[0],q[1],q[2]; cx q[0],q[39];").json()
c.check("counts" not in r and r["plan"]["passes"] > 0 and r["memory_bytes"] > 2**44, f"dry run {r}")
# and says what is predicted where shots part: one of them, whatever --shots says
DYNAMIC = HEAD + "qreg q[3]; creg c[3]; h q; measure q[0] -> c[0]; if(c==1) x q[1]; h q[0]; measure q -> c;"
for text, what in ((DYNAMIC, "one shot"), (HEAD + "qreg q[3]; creg c[3]; h q; measure q -> c;", "the run")):
    dry = ("run", "FILE", "--shots", "8000", "--dry-run")
    plan = tilewave(*dry, "--json", text=text).json()["plan"]
    c.check(plan.get("predicted_for") == what, f"'{what}' expected: {plan}")
    line = tilewave(*dry, text=text).out
    c.check(("predicted for one shot," in line) == (what == "one shot"), line)
    explained = tilewave(*dry, "--explain", text=text).out
    c.check(("8000 shots: at most" in explained) == (what == "one shot"), explained)
r = tilewave("run", "FILE", "--shots", "100", "--json", text=DYNAMIC).json()
c.check("predicted_for" not in r["plan"], "the plan of a run is that of what ran")

# what is read beyond the letter of the standard is listed, with the warning it gets
PAGE = (ROOT / "docs" / "openqasm3.md").read_text()
V2, V3 = 'OPENQASM 2.0;\ninclude "qelib1.inc";\n', 'OPENQASM 3.0;\ninclude "stdgates.inc";\n'
for text, warning in (("qreg q[1]; h q;", "gate 'h' is known here without an include"),
                      ("OPENQASM 3.0; qubit q; h q;", "gate 'h' is known here without an include"),
                      (V2 + "gate Foo a { x a; } qreg q[1]; Foo q;",
                       "'Foo' is read, but names of OpenQASM 2 start with a small letter"),
                      (V2 + "qreg h[2]; x h;", "'h' is a gate of qelib1.inc as well"),
                      (V3 + "qubit h; x h;", "'h' is a gate of stdgates.inc as well"),
                      (V3 + "qubit[12] q; let a = q[0:2:12]; x a;",
                       "this range names index 12 of 12 elements, which is left out"),
                      (V3 + "qubit q; rx(1/2) q;", "1 / 2 is 0, as both are integers"),
                      ("qubit q; U(0, 0, 0) q;", None), ("OPENQASM 2;\nqreg q[1]; U(0,0,0) q;", None),
                      ("OPENQASM 3.1; qubit q; U(0, 0, 0) q;", None), (V2 + "qreg q[2]; rzx(1) q[0],q[1];", None),
                      (V2 + 'include "hqslib1.inc"; qreg q[2]; ZZ q[0],q[1];', None),
                      ('OPENQASM 3.0; include "qelib1.inc"; qubit[2] q; cx q[0], q[1];', None),
                      ("OPENQASM 3.0; qubit[2] q; cnot q[0], q[1];", None),
                      (V2 + "qreg q[1]; creg c[0]; creg d[2]; if(d==9) x q[0];", None),
                      (V3 + "pragma foo\n@note\nqubit q; x q;", "'pragma foo' has no effect here"),
                      (V3 + "@note\nqubit q; x q;", None)):
    done = tilewave("run", "FILE", "--shots", "10", "--seed", "1", text=text)
    c.check(done.code == 0 and (warning in done.err and f"`{warning}" in PAGE if warning else done.err == ""),
            f"{text!r}: {done.err!r}")

# other commands
info = tilewave("info", "--json").json()
c.check(info["cpu"]["cores"] >= 1 and info["memory_bytes"]["available"] > 0, f"info {info}")
c.check("processor" in tilewave("info").out, "info as text")
bench = tilewave("bench", "ghz", "qft", "--qubits", "8", "--repeats", "3", "--no-limit", "--json", "-").json()
c.check(len(bench["results"]) == 8, "two families, two precisions, two inputs")
c.check(all(len(x["pass_times"]) == x["passes"] and x["pass_times"][0]["bytes_per_s"] > 0 for x in bench["results"]),
        "every pass by itself")
c.check(all(len(x["times_s"]) == 3 and x["median_s"] > 0 and x["passes"] > 0 for x in bench["results"]), "times")
with tempfile.TemporaryDirectory() as folder:
    c.check(tilewave("bench", "bv", "--qubits", "5", "--write", folder).code == 0, "bench --write")
    r = tilewave("run", f"{folder}/bv_5.qasm", "--json").json()
    c.check(r["num_qubits"] == 5 and sum(r["counts"].values()) == 1000, f"a written family runs {r}")

# inputs of an OpenQASM 3 program
THREE = "OPENQASM 3; input float theta; input int n; qubit[2] q; rx(theta) q[0]; rx(n * theta) q[1];"
r = tilewave("run", "--input", "theta=0.5", "--input", "n=3", "FILE", "--json", "--probabilities", "all", text=THREE).json()
c.check([round(p, 9) for p in r["probabilities"]] == [round(math.sin(t / 2) ** 2, 9) for t in (0.5, 1.5)], f"inputs {r}")
r = tilewave("run", "--input", "theta=sqrt(4)*pi/(2+2)", "--input", "n=2^1", "FILE", "--json", "--probabilities", "all",
             text=THREE).json()
c.check([round(p, 9) for p in r["probabilities"]] == [0.5, 1], f"inputs as expressions {r}")
for words, problem in (((), "input 'theta' has no value"), (("--input", "theta"), "--input theta: use name=value"),
                       (("--input", "theta=pi/"), "input 'theta' must be a number: expected a number"),
                       (("--input", "theta=1/0"), "must be a number: division by zero, not '1/0'"),
                       (("--input", "theta=phi"), "unknown name 'phi'"), (("--input", "theta=1 2"), "the expression ends here"),
                       (("--input", "theta=1", "--input", "n=1.5"), "input 'n' must be an integer, not '1.5'"),
                       (("--input", "theta=1", "--input", "n=1", "--input", "m=1"), "the program has no input 'm'")):
    bad = tilewave("run", "FILE", *words, text=THREE)
    c.check(bad.code in (2, 4) and problem in bad.err, f"inputs {words}: {bad.err}")
BITS = "OPENQASM 3; input bit[4] b; qubit[4] q; bit[4] c; for int i in [0:3] { if (b[i]) x q[i]; } c = measure q;"
for value, counts in (("0110", "0110"), ('"0011"', "0011"), ("0xa", "1010"), ("9", "1001")):
    r = tilewave("run", "--input", f"b={value}", "FILE", "--json", "--shots", "5", text=BITS).json()
    c.check(r["counts"] == {counts: 5}, f"input b={value}: {r['counts']}")
bad = tilewave("run", "--input", "b=16", "FILE", text=BITS)
c.check(bad.code == 4 and "must be from 0 to 15, or a row of 4 bits" in bad.err, f"input b=16: {bad.err}")

# warnings of the reader: on the standard error, in JSON, and not with --quiet
NOTED = 'OPENQASM 3; include "stdgates.inc"; qubit q; rx(3 / 5) q;'
for words, stream in (((), "err"), (("--json",), "out")):
    done = tilewave("run", "FILE", *words, text=NOTED)
    c.check(done.code == 0 and "3 / 5 is 0, as both are integers" in getattr(done, stream), f"note {words}: {done.err}")
c.check(tilewave("run", "FILE", "--quiet", text=NOTED).err == "", "no note with --quiet")

# many outcomes, as text, as JSON and on a page; what grows with their square would not end within the limits
MANY = HEAD + "qreg q[20];\ncreg c[20];\nh q;\nmeasure q -> c;\n"
plain = tilewave("run", "FILE", "--shots", "40000", "--seed", "1", text=MANY)
c.check(plain.code == 0 and plain.out.count("\n") > 10, f"text of 40,000 outcomes: {plain.err}")
r = tilewave("run", "FILE", "--shots", "40000", "--seed", "1", "--json", text=MANY)
c.check(sum(r.json()["counts"].values()) == 40000 and len(r.json()["counts"]) > 35000, "all counts")
with tempfile.TemporaryDirectory() as folder:
    page = tilewave("run", "FILE", "--shots", "40000", "--seed", "1", "--report", f"{folder}/r.html", text=MANY)
    written = Path(folder, "r.html")
    c.check(page.code == 0 and written.stat().st_size < 4_000_000 and written.read_text().rstrip().endswith("</html>"),
            f"a page of 40,000 outcomes: {page.err}")

# OpenQASM 3 without a version line
r = tilewave("run", "FILE", "--json", "--shots", "3", text='// a\ninclude "stdgates.inc";\nqubit q; bit c; x q; c = measure q;').json()
c.check(r["counts"] == {"1": 3}, f"no version line {r}")
c.check("run" in tilewave("help").out and "--shots" in tilewave("help", "run").out, "help")
c.check(tilewave("--version").out.startswith("tilewave "), "version")

c.finish()
