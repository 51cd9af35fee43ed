"""The words of settings are refused as every other front end refuses them, and effort does what it says."""
import json
import os
from pathlib import Path

import numpy as np
import pytest

import tilewave as tw

ROOT = Path(os.environ["TILEWAVE_ROOT"])
BAD = [(setting, word, message)
       for setting, words in json.loads((ROOT / "tests/data/bad_settings.json").read_text()).items()
       for word, message in words.items()]
BELL = "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[2]; h q[0]; cx q[0],q[1];"


def calls(setting, word):
    choice = {setting: word}
    yield lambda: tw.run(BELL, **choice)
    yield lambda: tw.sample(BELL, 10, **choice)
    if setting == "engine":
        return
    yield lambda: tw.simulate(BELL, **choice)
    yield lambda: tw.State(BELL, **choice)
    yield lambda: tw.plan(BELL, **choice)
    if setting == "device":
        yield lambda: tw.compile_sampler("M 0", **choice)
        yield lambda: tw.map(np.ones((1, 1), np.float32), "v + 1", **choice)
        yield lambda: tw.entropy([[1]], **choice)


@pytest.mark.parametrize("setting, word, message", BAD)
def test_wrong_words(setting, word, message):
    for call in calls(setting, word):
        with pytest.raises(ValueError) as error:
            call()
        assert str(error.value) == message


def test_a_circuit_that_comes_again_gets_a_searched_plan():
    circuit = tw.Circuit(18)
    for k in range(6):
        for q in range(18):
            circuit.rx(0.1 * q + k, q)
            circuit.cx(q, (q * 5 + k + 1) % 18) if (q * 5 + k + 1) % 18 != q else None
    efforts = [tw.run(circuit, effort=effort).plan["effort"] for effort in ("once", "repeated", "best")]
    assert efforts == ["once", "repeated", "repeated"]
    with pytest.raises(ValueError, match="unknown effort 'lots': use auto, once, repeated or best"):
        tw.run(circuit, effort="lots")


def test_what_is_compiled_is_what_runs():
    circuit = tw.Circuit(14)
    for k in range(4):
        for q in range(14):
            circuit.ry(0.1 * q + k, q)
        for q in range(13):
            circuit.cx(q, q + 1)
    for precision in ("double", "single"):
        executable = tw.compile(circuit, precision=precision, device="cpu")
        for _ in range(2):
            assert executable.run(explain=True, probabilities=True).plan["text"] == executable.explain()
        state = tw.simulate(circuit, precision=precision)
        tolerance = 1e-13 if precision == "double" else 1e-5
        assert np.abs(executable.simulate() - state).max() < tolerance
        assert abs(executable.expectation("Z3") - tw.expectation(circuit, "Z3", precision=precision)) < tolerance
        assert sum(executable.sample(100, seed=1).values()) == 100
        circuit_before = executable.run().plan["gates"]
        circuit.x(0)
        assert executable.run().plan["gates"] == circuit_before


def test_a_circuit_that_only_shots_can_be_asked_of_is_planned_for_them():
    ghz = tw.Circuit(100)
    ghz.h(0)
    for q in range(1, 100):
        ghz.cx(0, q)
    ghz.measure_all()
    executable = tw.compile(ghz, device="cpu")
    assert executable.explain()
    assert set(executable.sample(50, seed=1)) <= {"0" * 100, "1" * 100}
    t = tw.Circuit(100)
    for q in range(100):
        t.rx(0.3, q)
    with pytest.raises((ValueError, MemoryError), match="100 qubits"):
        tw.compile(t, device="cpu")
