#!/usr/bin/env python3
"""`tilewave run --noise`: both engines, what they print, one error for a bad model."""
import json
import tempfile
from pathlib import Path

from program import EXAMPLES, HEAD, Checker, tilewave

c = Checker()
DEVICE = EXAMPLES / "noise" / "device.json"
TELEPORT, BELL = EXAMPLES / "teleport.qasm", EXAMPLES / "bell.qasm"
INPUT = 4

# a Bell pair with noise: both engines, also on several ranks, find the same expectations
exact = tilewave("run", BELL, "--noise", DEVICE, "--expect", "ZZ + XX", "--engine", "density", "--json").json()
c.check(exact["engine"] == "density" and exact["engine_choice"] == "density matrix, as asked", f"engine {exact}")
c.check("trajectories" not in exact and "expectation_errors" not in exact, "an exact number has no error")
c.check(0.9 < exact["expectations"][0] < 1 and 0.9 < exact["expectations"][1] < 1, f"noise {exact['expectations']}")
for ranks in ((), ("--ranks", "2")):
    mean = tilewave("run", BELL, "--noise", DEVICE, "--expect", "ZZ + XX", "--engine", "trajectories", "--shots", "20000",
                    "--seed", "1", "--json", *ranks).json()
    c.check(mean["trajectories"] == 20000 and sum(mean["counts"].values()) == 20000, f"trajectories {mean['trajectories']}")
    for value, error, wanted in zip(mean["expectations"], mean["expectation_errors"], exact["expectations"]):
        c.check(abs(value - wanted) < 5 * error, f"{value} +- {error}, exactly {wanted}")
four = HEAD + "qreg q[4]; h q; cx q[0],q[1]; cx q[2],q[3]; t q; h q;"
exact, again = (tilewave("run", "FILE", "--noise", DEVICE, "--expect", "ZZII + IXXI", "--engine", "density", "--json", *ranks,
                         text=four).json() for ranks in ((), ("--ranks", "4")))
c.check(all(abs(a - b) < 1e-12 for a, b in zip(again["expectations"], exact["expectations"])), "density on ranks")

# the choice is made by cost, printed, and explained without a run
auto = tilewave("run", BELL, "--noise", DEVICE, "--json").json()
c.check(auto["engine"] == "density" and "predicted) rather than 1000 trajectories" in auto["engine_choice"], f"choice {auto}")
text = tilewave("run", "FILE", "--noise", DEVICE, "--dry-run", text=HEAD + "qreg q[25]; h q; cx q[0],q[1];").out
c.check("engine: trajectories: a density matrix of 25 qubits" in text, f"dry run {text!r}")
text = tilewave("run", TELEPORT, "--noise", DEVICE, "--engine", "trajectories", "--explain", "--shots", "10").out
c.check("noise channels: " in text and "trajectory" in text, f"explain {text!r}")
text = tilewave("run", BELL, "--noise", DEVICE, "--expect", "ZZ", "--engine", "trajectories").out
c.check("<1 ZZ> = " in text and " +- " in text and "1000 trajectories" in text, f"text {text!r}")

# the same bytes for any number of threads
program = HEAD + "qreg q[14]; creg c[14]; h q; cx q[3],q[9]; t q; h q; cx q[1],q[2]; measure q -> c;"
counts = [json.dumps(tilewave("run", "FILE", "--noise", DEVICE, "--engine", "trajectories", "--json", "--shots", "200",
                              "--seed", "3", "--threads", t, text=program).json()["counts"]) for t in (1, 2, 5)]
c.check(counts[0] == counts[1] == counts[2], "counts for 1, 2 and 5 threads")

# one error, with its place, and the exit code of an input file
with tempfile.TemporaryDirectory() as folder:
    model = Path(folder) / "model.json"
    for text, wanted in (
            ('{"channels": [{"after": "h", "channel": "bit_flip", "p": 1.5}]}',
             "model.json: channels[0].p: is 1.5: it must be from 0 to 1"),
            ('{"channels": [{"after": "h", "qubits": [7], "channel": "bit_flip", "p": 0.5}]}',
             "model.json: channels[0]: qubit 7 does not exist: the circuit has qubits 0 to 1"),
            ('{"channels": [', "model.json:1:")):
        model.write_text(text)
        done = tilewave("run", BELL, "--noise", model)
        c.check(done.code == INPUT and wanted in done.err and done.err.count("error:") == 1, f"{done.code}: {done.err!r}")
done = tilewave("run", BELL, "--noise", DEVICE, "--amplitudes", "0")
c.check(done.code == 2 and "no single state" in done.err, f"{done.code}: {done.err!r}")
done = tilewave("run", "FILE", "--noise", DEVICE, "--engine", "density", text=HEAD + "qreg q[20]; h q;")
c.check(done.code == 3 and "a density matrix of 20 qubits is a state of 40" in done.err, f"{done.code}: {done.err!r}")
c.finish()
