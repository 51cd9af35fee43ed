#!/usr/bin/env python3
"""Shots with a given number of faults and tables of strata: what they hold, what they depend on, what is refused."""
import csv
import io
import json
import math
import re
import signal
import subprocess
import tempfile
import time
from itertools import combinations
from pathlib import Path

from program import ROOT, TILEWAVE, Checker, tilewave

USAGE, INPUT = 2, 4
c = Checker()
MSC = ROOT / "tests/data/near_clifford/msc_d3_inject_cultivate_p1e-3.stim"


def fails(code, words, *command):
    done = tilewave(*command)
    what = f"{' '.join(map(str, command))}: exit {done.code}, {done.err!r}"
    c.check(done.code == code and words in done.err and done.err.count("error:") == 1, f"'{words}' expected: {what}")
    c.check(done.out == "", f"nothing on the standard output: {what}")


def numbers(places):
    """P(K = k) by summing over all sets of places that fire."""
    out = [0.0] * (len(places) + 1)
    for k in range(len(places) + 1):
        for fired in combinations(range(len(places)), k):
            out[k] += math.prod(p if i in fired else 1 - p for i, p in enumerate(places))
    return out


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    code = folder / "code.stim"
    code.write_text("X_ERROR(0.1) 0 1 2\nDEPOLARIZE2(0.3) 3 4\nM(0.02) 0 1 2\nDETECTOR rec[-1] rec[-2]\n"
                    "OBSERVABLE_INCLUDE(0) rec[-3]\nOBSERVABLE_INCLUDE(1) rec[-1]\n")
    exact = numbers([0.1] * 3 + [0.3] + [0.02] * 3)

    # --faults: the probability on the standard error, and shots that are what they should be
    for words, wanted in (("2", [2]), ("1-3", [1, 2, 3]), ("3+", range(3, 8))):
        done = tilewave("sample", "--in", code, "--faults", words, "--shots", 3)
        said = re.search(r"(\S+) faults in a shot have probability (\S+)", done.err)
        c.check(done.code == 0 and len(done.out.split()) == 3, f"--faults {words}: {done}")
        c.check(abs(float(said[2]) / sum(exact[k] for k in wanted) - 1) < 1e-9, f"--faults {words}: {said[0]}")
    quiet = tilewave("sample", "--in", code, "--faults", 2, "--shots", 3, "--quiet")
    c.check(quiet.err == "", f"--quiet: {quiet.err}")
    c.check("places of noise 7 in 3 classes" in tilewave("sample", "--in", code, "--faults", 2, "--explain").out, "--explain")
    whole = tilewave("detect", "--in", MSC, "--faults", 3, "--shots", 20000, "--seed", 4, "--threads", 1).out
    c.check(whole == tilewave("detect", "--in", MSC, "--faults", 3, "--shots", 20000, "--seed", 4, "--threads", 2).out,
            "shots do not depend on threads")
    tail = tilewave("detect", "--in", MSC, "--faults", 3, "--shots", 5000, "--first_shot", 15000, "--seed", 4).out
    c.check(whole.endswith(tail) and len(tail) * 4 == len(whole), "--first_shot goes on in the sequence")

    # of an error model every error is a place
    chances = [0.1, 0.2, 0.05, 0.1, 0.1, 0.1]
    model = folder / "model.dem"
    model.write_text("error(0.1) D0 L0\nerror(0.2) D0 D1\nerror(0.05) D1\nrepeat 3 {\nerror(0.1) D1 D2 L0\nshift_detectors 1\n}\n")
    flips = [(0, 5), (0, 1), (1,), (1, 2, 5), (2, 3, 5), (3, 4, 5)]
    exact = numbers(chances)
    of_model = ["sample_dem", "--in", model, "--faults", "2-3", "--shots", 3000, "--seed", 7, "--append_observables"]
    done = tilewave(*of_model, "--err_out", folder / "errors")
    said = re.search(r"2-3 faults in a shot have probability (\S+)", done.err)
    c.check(abs(float(said[1]) / (exact[2] + exact[3]) - 1) < 1e-9, f"sample_dem --faults: {said[0]}")
    seen = {2: 0, 3: 0}
    for row, fired in zip(done.out.split(), (folder / "errors").read_text().split(), strict=True):
        hit = [k for k, bit in enumerate(fired) if bit == "1"]
        c.check(row == "".join(str(sum(b in flips[k] for k in hit) % 2) for b in range(6)), f"errors {fired} flip {row}")
        seen[len(hit)] += 1
    share = exact[2] / (exact[2] + exact[3])
    c.check(abs(seen[2] / 3000 - share) < 5 * (share * (1 - share) / 3000) ** 0.5, f"numbers of errors: {seen}, {share}")
    tail = tilewave(*of_model[:6], 100, *of_model[7:], "--first_shot", 2900, "--err_out", folder / "tail").out
    c.check(done.out.endswith(tail) and len(tail) * 30 == len(done.out), "sample_dem --first_shot goes on in the sequence")
    two = tilewave(*of_model, "--threads", 2, "--err_out", folder / "again")
    c.check(two.out == done.out and (folder / "again").read_text() == (folder / "errors").read_text(), "threads change nothing")
    c.check("places of noise 6 in 3 classes" in tilewave(*of_model, "--explain").out, "sample_dem --explain")
    fails(USAGE, "leave out --faults", *of_model, "--replay_err_in", folder / "errors")
    fails(USAGE, "made on the CPU: use --device cpu", *of_model, "--device", "cuda")
    fails(USAGE, "no shot has 7 faults: there are 6 places of noise", "sample_dem", "--in", model, "--faults", 7)

    # a table: weights that add up, counts that are those of --faults, estimates that follow from them
    table = ["detect", "--in", MSC, "--postselect", "all", "--strata", "2-3,6+", "--fault_distance", 2, "--seed", 4]
    done = tilewave(*table, "--shots", 200000)
    found = json.loads(done.out)
    strata = found["strata"]
    c.check([s["faults"] for s in strata] == ["0-1", "2", "3", "4-5", "6+"], f"strata cover all numbers: {strata}")
    c.check(abs(sum(s["weight"] for s in strata) - 1) < 1e-12, "weights add up to 1")
    c.check(found["attempted"] == sum(s["attempted"] for s in strata) == 200000, "all shots are attempted")
    for words in ("2", "3"):
        s = next(s for s in strata if s["faults"] == words)
        counts = tilewave("detect", "--in", MSC, "--faults", words, "--shots", s["attempted"], "--seed", 4,
                          "--postselect", "all", "--out_format", "counts").out
        c.check(counts == f"attempted {s['attempted']}\nkept {s['kept']}\nL0 {s['errors'][0]}\n", f"stratum {words}: {counts}")
    kept = sum(s["weight"] * s["kept"] / s["attempted"] for s in strata)
    wrong = sum(s["weight"] * s["errors"][0] / s["attempted"] for s in strata)
    c.check(math.isclose(found["kept"]["value"], kept) and math.isclose(found["errors"]["L0"]["value"], wrong / kept),
            f"estimates follow from the table: {found}")
    c.check(found["errors"]["L0"] == found["errors"]["any"], "one observable is any")
    c.check(found["kept"]["low"] < 0.6868 < found["kept"]["high"], f"the kept share is that of plain shots: {found['kept']}")
    c.check("errors of kept shots" in done.err and "kept 0.6" in done.err, f"said in words: {done.err}")
    c.check(done.out == tilewave(*table, "--shots", 200000, "--threads", 2).out, "the table does not depend on threads")
    rows = list(csv.DictReader(io.StringIO(tilewave(*table, "--shots", 200000, "--out_format", "csv").out)))
    for row, s in zip(rows, strata):
        c.check((row["faults"], float(row["weight"]), int(row["attempted"]), int(row["kept"]), int(row["L0"]), int(row["any"]))
                == (s["faults"], s["weight"], s["attempted"], s["kept"], s["errors"][0], s["any_error"]), f"CSV: {row} {s}")
    even = json.loads(tilewave(*table, "--shots", 200000, "--allocation", "even", "--confidence", 0.99).out)
    c.check([s["attempted"] for s in even["strata"]] == [40000] * 5 and even["confidence"] == 0.99, f"even: {even}")
    both = json.loads(tilewave("detect", "--in", code, "--strata", "auto", "--shots", 4000, "--seed", 1).out)
    c.check(both["kept"] == {"value": 1, "low": 1, "high": 1} and set(both["errors"]) == {"L0", "L1", "any"}, f"{both}")

    # an interrupt ends with the table of what was made
    process = subprocess.Popen([TILEWAVE, *map(str, table), "--shots", "100000000000", "--out", folder / "cut.json"],
                               stderr=subprocess.PIPE, text=True)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    err = process.communicate()[1]
    cut = json.loads((folder / "cut.json").read_text())
    c.check(process.returncode == -signal.SIGINT and f"of the {cut['attempted']} shots attempted" in err, f"interrupted: {err}")
    c.check(0 < cut["attempted"] < 1e11 and cut["kept"]["low"] < 0.6868 < cut["kept"]["high"], f"an interval all the same: {cut}")
    unseen = sum(s["weight"] for s in cut["strata"] if s["attempted"] == 0)
    c.check(cut["kept"]["high"] - cut["kept"]["low"] >= unseen, f"strata without shots may be anything: {cut}")

    # a kept run goes on with the same number of faults alone
    place, going = folder / "shots", folder / "going"
    run = ["detect", "--in", MSC, "--out", place, "--seed", 4, "--faults", 3]
    process = subprocess.Popen([TILEWAVE, *map(str, run), "--shots", "100000000", "--checkpoint", going, "--checkpoint-every",
                                "0.05s"], stderr=subprocess.DEVNULL)
    while not (going / "checkpoint").exists():
        time.sleep(0.01)
    process.kill()
    process.wait()
    done = tilewave(*run[:-1], 4, "--shots", 100000000, "--resume", going)
    c.check(done.code == USAGE and "number of faults" in done.err, f"another number of faults: {done.err}")

    # refused, before any file is touched
    kept = folder / "kept"
    kept.write_text("kept")
    fails(USAGE, "in common", "detect", "--in", code, "--strata", "1-3,2", "--shots", 1000, "--out", kept)
    c.check(kept.read_text() == "kept", "what is refused touches no file")
    for words in ("x", "3-", "2-1", "-1", ""):
        fails(USAGE, "no number of faults", "sample", "--in", code, "--faults", words)
    fails(USAGE, "no shot has 8 faults: there are 7 places of noise", "sample", "--in", code, "--faults", 8)
    fails(USAGE, "use --engine sparse or auto", "detect", "--in", code, "--faults", 2, "--engine", "frame")
    fails(USAGE, "made on the CPU: use --device cpu", "detect", "--in", code, "--faults", 2, "--device", "cuda")
    fails(USAGE, "made on the CPU: use --device cpu", "detect", "--in", MSC, "--strata", "auto", "--device", "cuda")
    leaky = folder / "leaky.stim"
    leaky.write_text("LEAKAGE(0.1) 0\nM 0\nDETECTOR rec[-1]\n")
    fails(INPUT, "the circuit has leakage", "detect", "--in", leaky, "--faults", 1)
    fails(USAGE, "leave out --faults", "detect", "--in", code, "--strata", "auto", "--faults", 1)
    fails(USAGE, "leave out --checkpoint", "detect", "--in", code, "--strata", "auto", "--checkpoint", folder / "x")
    fails(USAGE, "--fault_distance goes with --strata", "detect", "--in", code, "--fault_distance", 2)
    fails(USAGE, "use --out_format json or csv", "detect", "--in", code, "--strata", "auto", "--out_format", "b8")
    fails(USAGE, "in common", "detect", "--in", code, "--strata", "1-3,2", "--shots", 1000)
    fails(USAGE, "need at least", "detect", "--in", code, "--strata", "auto", "--shots", 10)
    fails(USAGE, "the fault distance is not 2", "detect", "--in", code, "--strata", "1", "--fault_distance", 2, "--shots", 1000)
    fails(USAGE, "unknown allocation", "detect", "--in", code, "--strata", "1", "--allocation", "all")
    fails(USAGE, "--confidence", "detect", "--in", code, "--strata", "1", "--confidence", "1.5")
c.finish()
