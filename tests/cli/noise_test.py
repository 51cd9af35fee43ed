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
    def run(program, rules, *arguments):
        model.write_text(json.dumps(rules if "readout" in rules else {"channels": rules}))
        return tilewave("run", "FILE", "--noise", model, *arguments, text=HEAD + program)

    # circuits that reset or measure in the middle need no shots: exact where that is the cheaper way
    flip = [{"after": "h", "channel": "phase_flip", "p": 0.1}]
    found = run("qreg q[1]; x q[0]; reset q[0]; h q[0];", flip, "--expect", "X0", "--json").json()
    c.check(found["engine"] == "density" and abs(found["expectations"][0] - 0.8) < 1e-12, f"reset {found}")
    steered = "qreg q[2]; creg c[1]; h q[0]; measure q[0]->c[0]; if(c==1) h q[1];"
    for engine in ("auto", "density", "trajectories"):
        found = run(steered, flip, "--expect", "X1", "--engine", engine, "--seed", "1", "--json").json()
        error = found.get("expectation_errors", [0])[0]
        c.check((engine == "trajectories") == (error > 0), f"{engine}: error {error}")
        c.check(found.get("trajectories", 1000) == 1000, f"{engine}: {found}")
        c.check(abs(found["expectations"][0] - 0.4) <= 5 * error + 1e-12, f"{engine}: {found['expectations']} +- {error}")
    found = run(steered, flip, "--expect", "X1", "--engine", "trajectories", "--shots", "1")
    c.check("<1 XI> = " in found.out, f"{found.out!r} {found.err!r}")
    c.check("+-" not in found.out and "nan" not in found.out, f"one trajectory has no error: {found.out!r}")
    found = run(steered, flip, "--expect", "X1", "--engine", "trajectories", "--shots", "1", "--json").json()
    c.check(found["expectation_errors"] == [None] and found["expectation_sum_error"] is None, f"{found}")

    # places: a qubit, or an operation on just that qubit
    reset = {"after": "cx", "channel": "reset", "p0": 1}
    for places, wanted in (([0], "10"), ([1], "01"), ([[0, 1]], "00"), ([[0]], "11")):
        found = run("qreg q[2]; x q[0]; cx q[0],q[1];", [{**reset, "qubits": places}], "--shots", "5", "--json").json()
        c.check(found["counts"] == {wanted: 5}, f"{places}: {found['counts']}")
        c.check((wanted == "11") ==
                any("none of the noise model's channels" in w for w in found.get("warnings", [])),
                f"{places}: {found}")
    # the noise of a measurement that overwrites its condition, gates with controls, and labels of a program's gates
    program = "qreg q[1]; creg c[1]; creg d[1]; x q[0]; if (c == 0) measure q[0] -> c[0]; measure q[0] -> d[0];"
    found = run(program, [{"after": "measure", "channel": "bit_flip", "p": 1}], "--shots", "5", "--json").json()
    c.check(found["counts"] == {"0 1": 5}, f"{found['counts']}")
    found = run("qreg q[2]; x q[0]; cz q[0],q[1];",
                [{"after": "cz", "channel": "unitary_mixture", "unitaries": [{"p": 1, "gate": "cx"}]}], "--shots", "5", "--json").json()
    c.check(found["counts"] == {"11": 5}, f"{found['counts']}")
    foo = [{"after": "all", "label": "foo", "channel": "bit_flip", "p": 1}]
    done = run("gate foo a { x a; } qreg q[1]; foo q[0];", foo, "--shots", "5")
    c.check(done.code == INPUT and "an error on 'foo', an instruction that is simulated as its parts" in done.err, f"{done.err!r}")
    done = run("qreg q[1]; x q[0];", [*foo, {"after": "x", "channel": "bit_flip", "p": 1}], "--shots", "5")
    c.check(done.code == 0 and "goes by the label 'foo'" in done.err + done.out, f"{done.out!r} {done.err!r}")
done = tilewave("run", BELL, "--noise", DEVICE, "--amplitudes", "0")
c.check(done.code == 2 and "no single state" in done.err, f"{done.code}: {done.err!r}")
done = tilewave("run", "FILE", "--noise", DEVICE, "--engine", "density", text=HEAD + "qreg q[20]; h q;")
c.check(done.code == 3 and "a density matrix of 20 qubits is a state of 40" in done.err, f"{done.code}: {done.err!r}")
c.finish()
