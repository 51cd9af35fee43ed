"""Runs that are killed and go on, begun and resumed from Python and by the program; states that are kept in folders."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tilewave as tw

RUN = """
import sys
import tilewave as tw
kwargs = dict({questions})
tw.run(tw.Circuit.from_qasm({path!r}), checkpoint=sys.argv[1], resume=sys.argv[1], checkpoint_every=float(sys.argv[2]), **kwargs)
"""


def layers(n, count, middle=""):
    draw = random.Random(n + count)
    lines = [f'OPENQASM 2.0;\ninclude "qelib1.inc";\nqreg q[{n}];\ncreg c[{n}];']
    for k in range(count):
        lines += [f"u3({draw.uniform(0, 3)},{draw.uniform(0, 3)},{draw.uniform(0, 3)}) q[{q}];" for q in range(n)]
        for _ in range(n // 2):
            a, b = draw.sample(range(n), 2)
            lines.append(f"cx q[{a}],q[{b}];")
        if k == count // 2:
            lines.append(middle)
    return "\n".join(lines) + "\nmeasure q -> c;\n"


def clifford(n, rounds):
    lines = [f'OPENQASM 2.0;\ninclude "qelib1.inc";\nqreg q[{n}];\ncreg c[{n}];']
    for k in range(rounds):
        lines += [f"h q[{q}];" for q in range(k % 2, n, 2)] + [f"cx q[{q}],q[{q + 1}];" for q in range(k % 3, n - 1, 3)]
    lines += [f"t q[{q}];\nh q[{q}];" for q in range(3)]
    return "\n".join(lines) + "\nmeasure q -> c;\n"


def start(path, folder, every, questions):
    return subprocess.Popen([sys.executable, "-c", RUN.format(path=str(path), questions=questions), str(folder), str(every)],
                            stderr=subprocess.PIPE, text=True)


def begun(path, folder, questions):
    """The checkpoint with which a run begins, and it is killed."""
    process = start(path, folder, 3600, questions)
    end = time.monotonic() + 60
    while not (folder / "checkpoint").exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    error = process.communicate()[1]
    assert (folder / "checkpoint").exists(), error


CASES = {
    "unitary": (layers(17, 150), "shots=500, seed=3, probabilities=True, observables=['ZZ' + 'I' * 15], record_shots=True"),
    "measured in the middle": (layers(13, 300, "measure q[0] -> c[0];\nreset q[1];"), "shots=200, seed=4, record_shots=True"),
    "noisy": (layers(12, 40), "shots=300, seed=5, engine='trajectories', noise={'channels': [{'after': 'all', "
                              "'channel': 'amplitude_damping', 'gamma': 0.01}]}, probabilities=[0, 3]"),
    "near Clifford": (clifford(40, 14), "shots=500000, seed=6, engine='stabilizer'"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_run_that_is_killed_goes_on_to_the_same_answers(name, tmp_path):
    text, questions = CASES[name]
    path = tmp_path / "c.qasm"
    path.write_text(text)
    kwargs, circuit = eval(f"dict({questions})"), tw.Circuit.from_qasm(path)
    first, going = tmp_path / "first", tmp_path / "going"
    begun(path, first, questions)
    timer = time.monotonic()
    whole = tw.run(circuit, resume=first, **kwargs)
    took_s = time.monotonic() - timer
    assert (first / "checkpoint").exists()  # it was not to keep checkpoints there
    shutil.copytree(first, going)
    draw, killed, share = random.Random(name), 0, 1.0
    for _ in range(40):
        process = start(path, going, 0.02, questions)
        try:
            process.wait(timeout=share * (0.3 + took_s * draw.uniform(0.2, 0.6)))
            if killed:
                break
            share *= 0.7  # it was faster than the first: from there again, with less time
            shutil.copytree(first, going, dirs_exist_ok=True)
        except subprocess.TimeoutExpired:
            process.kill()
            killed += 1
        finally:
            process.communicate()
        if killed == 3 or not (going / "checkpoint").exists():
            break
    assert killed
    if not (going / "checkpoint").exists():  # it was done, even where the last kill met it at its end
        shutil.copytree(first, going, dirs_exist_ok=True)
    result = tw.run(circuit, checkpoint=going, resume=going, checkpoint_every=0.05, **kwargs)
    assert not list(going.iterdir())
    assert result.counts == whole.counts and result.seed == whole.seed and result.engine == whole.engine
    for key in ("probabilities", "expectations", "shot_bits", "norm"):
        assert np.array_equal(getattr(result, key), getattr(whole, key)), key


def test_what_differs_is_refused_as_by_the_program(tmp_path):
    path, folder = tmp_path / "c.qasm", tmp_path / "kept"
    path.write_text(layers(18, 300))
    begun(path, folder, "shots=50, seed=1")
    circuit = tw.Circuit.from_qasm(path)
    for change, word in [({"shots": 51}, "shots"), ({"seed": 2}, "seed"), ({"precision": "single"}, "precision"),
                         ({"probabilities": True}, "questions"), ({"noise": {"readout": [{"p1_given_0": 0.1}]}}, "noise")]:
        with pytest.raises(ValueError, match=word):
            tw.run(circuit, **{"shots": 50, "seed": 1, "resume": folder, **change})
    with pytest.raises(ValueError, match="circuit"):
        tw.run(circuit + tw.Circuit(18).x(0), 50, seed=1, resume=folder)
    with pytest.raises(ValueError, match="earlier run"):
        tw.run(circuit, 50, seed=1, checkpoint=folder)
    with pytest.raises(ValueError, match="no checkpoint"):
        tw.run(circuit, 50, seed=1, resume=tmp_path / "nowhere")
    with pytest.raises(ValueError, match="above 0"):
        tw.run(circuit, 50, checkpoint=tmp_path / "new", checkpoint_every=0)
    with pytest.raises(TypeError, match="seconds"):
        tw.run(circuit, 50, checkpoint=tmp_path / "new", checkpoint_every="10m")
    with pytest.raises(ValueError, match="run of a circuit, not of a register"):
        tw.State.load(folder)
    head = folder / "checkpoint"
    data = bytearray(head.read_bytes())
    data[len(data) // 2] ^= 1
    head.write_bytes(data)
    with pytest.raises(ValueError, match="damaged"):
        tw.run(circuit, 50, seed=1, resume=folder)


@pytest.mark.skipif("TILEWAVE" not in os.environ, reason="the program is not there")
def test_the_program_and_python_go_on_with_each_others_runs(tmp_path):
    path, folder = tmp_path / "c.qasm", tmp_path / "kept"
    path.write_text(layers(18, 200))
    begun(path, folder, "shots=400, seed=9")
    words = [os.environ["TILEWAVE"], "run", str(path), "--shots", "400", "--seed", "9", "--json"]
    done = subprocess.run([*words, "--resume", str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    circuit = tw.Circuit.from_qasm(path)
    counts = tw.run(circuit, 400, seed=9, resume=folder).counts
    assert json.loads(done.stdout)["counts"] == counts
    process = subprocess.Popen([*words, "--checkpoint", str(tmp_path / "other"), "--checkpoint-every", "1h"], stdout=subprocess.DEVNULL)
    while not (tmp_path / "other" / "checkpoint").exists() and process.poll() is None:
        time.sleep(0.002)
    process.kill()
    process.wait()
    assert tw.run(circuit, 400, seed=9, resume=tmp_path / "other").counts == counts


@pytest.mark.parametrize("precision", ["double", "single"])
def test_a_state_is_kept_and_taken_up(precision, tmp_path):
    rng = np.random.default_rng(2)
    circuit = tw.Circuit(13)
    for _ in range(60):
        a, b = map(int, rng.permutation(11)[:2])  # two qubits stay as they are: the state leaves them out
        circuit.u(*rng.uniform(-3, 3, 3), a).cx(a, b)
    state = tw.State(circuit, precision=precision)
    before = state.amplitudes(range(2**13))
    state.save(tmp_path / "kept")
    again = tw.State.load(tmp_path / "kept", device="cpu")
    assert again.num_qubits == 13
    assert np.array_equal(again.amplitudes(range(2**13)), before)
    further = tw.Circuit(13).h(12).cx(12, 3)
    again.apply(further), state.apply(further)
    assert np.array_equal(again.amplitudes(range(2**13)), state.amplitudes(range(2**13)))
    assert np.array_equal(again.sample_bits(100, seed=1), state.sample_bits(100, seed=1))
    state.save(tmp_path / "kept")  # replaces the other
    assert np.array_equal(tw.State.load(tmp_path / "kept").amplitudes(range(2**13)), state.amplitudes(range(2**13)))
    assert sorted(p.name[:11] for p in (tmp_path / "kept").iterdir()) == ["checkpoint", "checkpoint-"]


def test_a_state_that_cannot_be_kept_or_read_says_why(tmp_path):
    state = tw.State(tw.Circuit(14).h(13))
    with pytest.raises(ValueError, match="no checkpoint"):
        tw.State.load(tmp_path)
    with pytest.raises(MemoryError, match="cannot keep"):
        state.save(tmp_path / "no" / "parent")
    folder = tmp_path / "kept"
    state.save(folder)
    with pytest.raises(ValueError, match="register, not of the run"):
        tw.run(tw.Circuit(2).h(0), 10, resume=folder)
    for path in [p for p in folder.rglob("*") if p.is_file()]:
        data = path.read_bytes()
        for at in (0, len(data) // 2, len(data) - 1):
            path.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1:])
            with pytest.raises(ValueError, match="damaged"):
                tw.State.load(folder)
        path.write_bytes(data)
    tw.State.load(folder)
