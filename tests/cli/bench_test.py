#!/usr/bin/env python3
"""bench_test.py PROGRAM EXAMPLES: what bench/doors.py writes is what bench/report.py prints: with machine and date."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from program import EXAMPLES, TILEWAVE, Checker

BENCH = EXAMPLES.resolve().parent / "bench"
sys.path.insert(0, str(BENCH))
sys.dont_write_bytecode = True
import circuits  # noqa: E402
import report  # noqa: E402

c = Checker()
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    file = folder / "doors.json"
    done = subprocess.run([sys.executable, BENCH / "doors.py", "ghz", "qft", "--qubits", "4", "--rounds", "1", "--without", "python",
                           "quest", "--build", Path(TILEWAVE).resolve().parent, "--json", file], capture_output=True, text=True)
    c.check(done.returncode == 0, f"bench/doors.py: {done.stderr}")
    doors = json.loads(file.read_text())
    c.check(doors["machine"]["cpu"] and doors["machine"]["cores"] >= 1, f"the machine: {doors.get('machine')}")
    c.check(re.fullmatch(r"\d{4}-\d\d-\d\d", doors["date"]) is not None, f"the date: {doors.get('date')}")
    c.check([row["circuit"] for row in doors["circuits"]] == ["ghz_4", "qft_4"], "circuits")
    for row in doors["circuits"]:  # doors that were left out have no column of their own
        row["doors"].update({door: row["doors"]["run --repeat"] for door in ("Python", "QuEST API")})
    lines = report.doors_table(doors)
    c.check(doors["machine"]["cpu"] in lines[0] and doors["date"] in lines[0], f"the head of the table: {lines[0]}")

    path = folder / "brickwork.qasm"
    for clifford in (False, True):
        text = circuits.brickwork(5, 3, 1, clifford)
        path.write_text(text)
        size, gates = circuits.read_qasm(path)
        c.check(size == 5 and len(gates) == 3 * 5 + 6 and text == circuits.brickwork(5, 3, 1, clifford), f"brickwork, {clifford}")
    path.write_text("qreg q[2];\nrx(pi/2) q[1];\ncx q[0],q[1];\n")
    c.check(circuits.read_qasm(path) == (2, [("rx", [1], [1.5707963267948966]), ("cx", [0, 1], [])]), "gates of a file")

read = []
real = Path.read_text
Path.read_text = lambda path, *rest: read.append(path) or real(path, *rest)
for make in report.TABLES.values():
    make()
c.check(len(read) == len(set(read)) > 3, "every baseline is read once")
c.finish()
