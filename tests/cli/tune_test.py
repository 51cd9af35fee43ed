#!/usr/bin/env python3
"""tilewave tune: what it lists, what it refuses, that runs use what it wrote, and that what is there outlives a Ctrl-C."""
import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from program import TILEWAVE, Checker, tilewave

c = Checker()
folder = Path(tempfile.mkdtemp())
NONE = {"TILEWAVE_RATES": "", "XDG_CACHE_HOME": str(folder / "empty")}

# the list, which the manual page prints
listed = tilewave("tune", "--list", env=NONE)
names, of_cuda = ([line.split()[0] for line in part.splitlines() if line.startswith("  ")] for part in listed.out.split("\ncuda\n"))
for one in (names, of_cuda):
    c.check(listed.code == 0 and len(one) == len(set(one)) > 20, f"numbers of an engine have different names: {one}")

# what is refused
for words, said in ((["--device", "cpu+cuda:0"], "one device"), (["--device", "cuda:0-1"], "one device"),
                    (["--seconds", "1"], "--seconds"), (["--qubits", "99"], "--qubits"), (["--out", "/proc/nothing/x.json"], "/proc/nothing")):
    done = tilewave("tune", *words, env=NONE)
    c.check(done.code in (2, 3) and said in done.err and len(done.err.splitlines()) == 1, f"{words}: {done.code} {done.err}")

# a small tuning, as short as is taken, which a busy machine may spoil
path = folder / "rates.json"
done = tilewave("tune", "--seconds", "5", "--qubits", "19", "--out", path, env=NONE, limit_s=300)
if done.code != 0:
    c.check(done.code == 5 and "--force" in done.err and not path.exists(), f"spoiled: {done.code} {done.err}")
    done = tilewave("tune", "--seconds", "5", "--qubits", "19", "--out", path, "--force", env=NONE, limit_s=300)
c.check(done.code == 0 and path.exists(), done.err)
file = json.loads(path.read_text())
c.check(file["format"] == "tilewave rates 1" and file["kind"] == "cpu" and 0 < file["seconds"] < 60, file["seconds"])
for precision in ("double", "single"):
    numbers = file["numbers"][precision]
    c.check(all(x >= 0 for x in numbers.values()), numbers)
    c.check(1e-12 < numbers["byte_s"] < 1e-7 and 1e-13 < numbers["lift_s"] < 1e-7, numbers)
    c.check(list(numbers) == names, "in the order of the list")
c.check(f"written to {path}" in done.out and f"TILEWAVE_RATES={path}" in done.out, done.out)

# what info says
USED = {**NONE, "TILEWAVE_RATES": str(path)}
plain = tilewave("info", "--json", env=NONE).json()["cpu"]["rates"]
c.check(plain["file"] is None and "tilewave tune" in plain["origin"], plain)
told = tilewave("info", "--json", env=USED).json()["cpu"]["rates"]
c.check(told["file"]["path"] == str(path) and told["file"]["date"] == file["date"] and told["file"]["num_checks"] == len(file["checks"]), told)
text = tilewave("info", env=USED).out
c.check(f"tuned on {file['date'][:10]}, kept in {path}" in text, text)

# checks are reported by the one that is furthest off
file["checks"] = [{"circuit": f"family{k}_24", "precision": "double", "input": "zeros", "predicted_s": p, "measured_s": 1, "spread": 0, "ratio": p}
                  for k, p in enumerate((0.9, 1.3, 0.8, 1))]
path.write_text(json.dumps(file))
c.check("worst of 4 checks: family1_24 double zeros, predicted 1.30" in tilewave("info", env=USED).out, "the worst of four")

# runs plan by the file: predicted times are its sums
QFT = "OPENQASM 2.0;\ninclude \"qelib1.inc\";\nqreg q[22];\n" + "".join(f"ry(0.{k + 1}) q[{k}];\n" for k in range(22)) + "cswap q[0], q[1], q[2];\n"


def predicted(env):
    return tilewave("run", "FILE", "--dry-run", "--json", text=QFT, env=env).json()["plan"]["predicted_s"]


for name in file["numbers"]["double"]:  # whatever a busy machine gave
    file["numbers"]["double"][name] = 1 if name.startswith("near_") else 0 if name == "saved_byte_s" else 1e-10
path.write_text(json.dumps(file))
before = predicted(USED)
for name in file["numbers"]["double"]:
    if not name.startswith("near_"):
        file["numbers"]["double"][name] *= 3
path.write_text(json.dumps(file))
c.check(abs(predicted(USED) / before - 3) < 1e-6, f"three times as long: {predicted(USED)}, {before}")

# what is damaged, foreign or old ends a run with one line; info tells it, `off` leaves it out
good = path.read_text()
for bad, said in ((good[:len(good) // 2], "damaged"), ("nothing", "damaged"), (good.replace(file["device"], "Another"), "Another"),
                  (good.replace(f'"version": "{file["version"]}"', '"version": "0.0.1"'), "version 0.0.1")):
    path.write_text(bad)
    done = tilewave("run", "FILE", text=QFT, env=USED)
    c.check(done.code == 4 and said in done.err and str(path) in done.err and len(done.err.splitlines()) == 1 and not done.out, f"{done.code} {done.err}")
    done = tilewave("info", env=USED)
    c.check(done.code == 0 and "refused" in done.out and said in done.out, done.out)
done = tilewave("run", "FILE", "--shots", "0", text=QFT, env={**USED, "TILEWAVE_RATES": "off"})
c.check(done.code == 0, done.err)
done = tilewave("run", "FILE", text=QFT, env={**NONE, "TILEWAVE_RATES": str(folder / "missing.json")})
c.check(done.code == 2 and "missing.json" in done.err, done.err)

# Ctrl-C leaves what was there, and nothing beside it
path.write_text(good)
there = sorted(os.listdir(folder))
running = subprocess.Popen([TILEWAVE, "tune", "--out", str(path), "--force"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env={**os.environ, **NONE}, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
time.sleep(1.5)
running.send_signal(signal.SIGINT)
running.communicate(timeout=60)
c.check(running.returncode not in (0, None) and path.read_text() == good and sorted(os.listdir(folder)) == there, running.returncode)

c.finish()
