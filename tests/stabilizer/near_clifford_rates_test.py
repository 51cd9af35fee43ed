"""Circuits beyond Clifford against what others have found: published counts of cultivation and distillation, and counts of
another exact sampler for coherent noise (clifft 0.12, made for this test). Kept shares and, where known, errors of the kept
shots within 3 standard deviations of both counts together; the seeds are fixed. Then that post-selection writes the shots that
it counts, and that shots do not depend on threads.

Usage: near_clifford_rates_test.py PATH/TO/tilewave FOLDER_OF_CIRCUITS
"""
import math
import pathlib
import subprocess
import sys

PROGRAM, CIRCUITS = sys.argv[1], pathlib.Path(sys.argv[2])


def run(name, *flags):
    out = subprocess.run([PROGRAM, "detect", "--in", str(CIRCUITS / (name + ".stim")), "--seed", "5", *flags],
                         capture_output=True)
    assert out.returncode == 0, (name, out.stderr.decode())
    return out


def counts(name, shots, *flags):
    text = run(name, "--shots", str(shots), "--postselect", "all", "--out_format", "counts", *flags).stdout.decode()
    return {key: int(value) for key, value in (line.split() for line in text.splitlines())}


def compare(what, ours, shots, theirs, of):
    a, b = ours / shots, theirs / of
    sigma = math.sqrt(b * (1 - b) * (1 / shots + 1 / of))
    assert abs(a - b) <= 3 * sigma, (what, a, b, abs(a - b) / sigma)
    print(f"{what}: {a:.6g} against {b:.6g}, {abs(a - b) / sigma:.2f} sigma")


# Shots here, shots kept of shots there: SymFT's counts of 1e9 and 5e10 shots, the share that clifft kept for distillation.
KEPT = [
    ("msc_d3_inject_cultivate_p1e-3", 4_000_000, 1_000_000_000 - 313_194_348, 1_000_000_000),
    ("msc_d5_inject_cultivate_p1e-3", 2_000_000, 50_000_000_000 - 42_802_205_779, 50_000_000_000),
    ("distillation", 4_000_000, 638_750, 8_000_000),
    ("coherent_d3_r1", 4_000_000, 3_897_334, 4_000_000),
    ("coherent_d3_r3", 4_000_000, 1_493_293, 4_000_000),
    ("coherent_d5_r1", 1_000_000, 928_738, 1_000_000),
    ("coherent_d5_r5", 3_000, 779, 100_000),
]
for name, shots, kept, of in KEPT:
    found = counts(name, shots)
    assert found["attempted"] == shots
    compare(f"kept of {name}", found["kept"], shots, kept, of)

# 616 errors among 686,805,652 kept shots; 5e7 attempted are some 31 +- 5.5.
found = counts("msc_d3_inject_cultivate_p1e-3", 50_000_000, "--threads", "2")
compare("errors of cultivation d=3", found["L0"], found["kept"], 616, 686_805_652)

# What is written is what is counted, whatever the threads; a part of the sequence is that part.
for name, shots in [("distillation", 20_000), ("msc_d3_inject_cultivate_p1e-3", 20_000)]:
    flags = ["--shots", str(shots), "--postselect", "all", "--append_observables"]
    written = run(name, *flags).stdout
    assert len(written.splitlines()) == counts(name, shots)["kept"], name
    assert run(name, *flags, "--threads", "2").stdout == written, name
    everything = run(name, "--shots", str(shots), "--append_observables").stdout.splitlines()
    detectors = len(run(name).stdout.strip())
    assert [line for line in everything if b"1" not in line[:detectors]] == written.splitlines(), name
    half = [run(name, "--shots", str(shots // 2), "--postselect", "all", "--append_observables", "--first_shot", first).stdout
            for first in ("0", str(shots // 2))]
    assert half[0] + half[1] == written, name
# Without detectors every shot passes, and is counted.
text = b"RX 0\nT 0\nMX 0\nOBSERVABLE_INCLUDE(0) rec[-1]\n"
for flags in ([], ["--out_format", "counts"]):
    out = subprocess.run([PROGRAM, "detect", "--shots", "1000", "--seed", "1", "--postselect", "all", *flags], input=text,
                         capture_output=True, check=True)
    said = (out.stderr + out.stdout).decode().replace(",", "\n").split("\n")
    assert {"attempted 1000"} <= {line.strip() for line in said} and any(line.strip() == "kept 1000" for line in said), said
print("ok")
