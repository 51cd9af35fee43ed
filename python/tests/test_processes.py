"""Other processes: forks, copies that travel there, and Ctrl-C."""
import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tilewave as tw


def layers(n, count=2):
    circuit = tw.Circuit(n)
    for k in range(count):
        for q in range(n):
            circuit.ry(0.3 + 0.1 * q + k, q)
        for q in range(n - 1):
            circuit.cx(q, q + 1)
    return circuit


def python(text, **environment):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})


# --- fork

FORK = """
import os, signal, sys, warnings
warnings.simplefilter("ignore")
import tilewave as tw
circuit = tw.Circuit({n})
for q in range({n}):
    circuit.ry(0.3, q)
for _ in range(2):
    before = tw.simulate(circuit, threads={threads})
child = os.fork()
if child == 0:
    signal.alarm(15)  # ends a child that waits for threads it does not have
    same = (tw.simulate(circuit.copy(), threads={threads}) == before).all()
    os._exit(0 if same else 1)
status = os.waitpid(child, 0)[1]
assert (tw.simulate(circuit.copy(), threads={threads}) == before).all()
sys.exit(0 if status == 0 else 3)
"""


@pytest.mark.parametrize("n, threads", [(14, 0), (14, 2), (16, 1), (20, 0)])
@pytest.mark.parametrize("policy", ["passive", "active", None])
def test_a_fork_after_a_run_computes(n, threads, policy):
    environment = {"OMP_NUM_THREADS": "2"} if policy is None else {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": policy}
    text = FORK.format(n=n, threads=threads)
    if policy is None:
        text = "import os; os.environ.pop('OMP_WAIT_POLICY', None)\n" + text
    done = python(text, **environment)
    assert done.returncode == 0, done.stderr


def test_a_pool_of_forks():
    text = """
import multiprocessing, warnings
warnings.simplefilter("ignore")
import tilewave as tw
def mean(circuit):
    return tw.expectation(circuit, "Z0 Z1")
circuits = [tw.Circuit(15).ry(0.1 * k, 0).cx(0, 1).ry(0.2, 14) for k in range(6)]
here = [mean(c) for c in circuits]
tw.simulate(circuits[0])
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(mean, circuits) == here
"""
    done = python(text, OMP_NUM_THREADS="2")
    assert done.returncode == 0, done.stderr


# --- copies

def everything():
    """A circuit with an operation of every kind."""
    circuit = tw.Circuit.from_qasm("""
OPENQASM 3.0;
include "stdgates.inc";
qubit[3] q;
bit[3] c;
float t = 0.5;
h q[0];
c[0] = measure q[0];
if (c[0]) { rx(t) q[1]; t = t + 1; }
ctrl(2) @ x q[0], q[1], q[2];
while (c[1] == 0) { ry(0.9) q[1]; c[1] = measure q[1]; }
reset q[0];
barrier q;
rz(t / 2) q[2];
""")
    circuit.unitary(np.diag([1, 1j]), 0, controls=[2], control_values=0)
    circuit.kraus([np.sqrt(0.9) * np.eye(2), np.sqrt(0.1) * np.diag([1, -1])], 1)
    circuit.measure(0, 2).x(1).c_if(2, 1)
    return circuit


def test_circuits_are_copied_with_everything():
    circuit = everything()
    for other in (pickle.loads(pickle.dumps(circuit)), copy.deepcopy(circuit), copy.copy(circuit)):
        assert type(other) is tw.Circuit and other == circuit and other is not circuit
        assert list(other) == list(circuit) and other.cregs == circuit.cregs
        assert tw.sample(other, 200, seed=3, engine="trajectories") == tw.sample(circuit, 200, seed=3, engine="trajectories")
        other.x(0)
        assert other != circuit
    data = circuit._to_bytes()
    for end in (0, 5, len(data) // 2, len(data) - 1):
        with pytest.raises(ValueError, match="no circuit of this version"):
            tw.Circuit._from_bytes(data[:end])
    with pytest.raises(ValueError, match="no circuit of this version"):
        tw.Circuit._from_bytes(data + b"x")


def test_notes_travel_with_a_circuit():
    noted = tw.Circuit.from_qasm("OPENQASM 3; qubit[2] q; h q[0];")  # a gate without an include
    warnings = tw.run(noted).warnings
    assert len(warnings) == 1 and "stdgates.inc" in warnings[0]
    for other in (pickle.loads(pickle.dumps(noted)), copy.deepcopy(noted), noted.copy(), noted.inverse(), noted + noted,
                  tw.Circuit(2).compose(noted)):
        assert tw.run(other).warnings == warnings
    bare = pickle.loads(pickle.dumps(noted))
    assert bare == noted


@pytest.mark.parametrize("effort", ["auto", "once", "repeated", "best"])
def test_results_are_copied(effort):
    result = tw.run(layers(3).measure_all(), 100, seed=1, probabilities=[0, 2], observables="ZZI + XXX", record_shots=True,
                    record_steps=True, explain=True, effort=effort)
    for other in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        for name in dir(result):
            if name.startswith("_"):
                continue
            found, wanted = getattr(other, name), getattr(result, name)
            if isinstance(wanted, np.ndarray):
                np.testing.assert_array_equal(found, wanted)
            else:
                assert found == wanted, name


@pytest.mark.parametrize("circuit", [layers(4), tw.Circuit(70).h(3).t(3).cx(3, 66)], ids=["all", "few"])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_states_are_copied(circuit, precision):
    state = tw.State(circuit, precision=precision)
    for other in (pickle.loads(pickle.dumps(state)), copy.deepcopy(state), copy.copy(state)):
        assert type(other) is tw.State and other.num_qubits == state.num_qubits
        np.testing.assert_allclose(other.marginals(), state.marginals(), atol=1e-7)
        np.testing.assert_array_equal(other.amplitudes([0, 8, 9]), state.amplitudes([0, 8, 9]))
    if circuit.num_qubits < 10:
        copy.copy(state).take()
    assert state.norm() == pytest.approx(1, abs=1e-6)  # which has its own memory


def test_noise_models_plans_and_samplers_are_copied():
    model = tw.noise_model({"channels": [{"after": "all", "channel": "depolarizing", "p": 0.1}],
                            "readout": [{"p1_given_0": 0.1, "p0_given_1": 0.2}]})
    other = pickle.loads(pickle.dumps(model))
    assert other.as_dict() == model.as_dict() and repr(other) == repr(model)
    assert tw.sample(layers(3), 100, seed=1, noise=other) == tw.sample(layers(3), 100, seed=1, noise=model)
    plan = tw.plan(layers(5))
    assert pickle.loads(pickle.dumps(plan)).explain() == plan.explain()
    code = "R 0 1\nX_ERROR(0.2) 0 1\nM 0 1\nDETECTOR rec[-1]\nOBSERVABLE_INCLUDE(0) rec[-2]\n"
    for compile_ in (tw.compile_sampler, tw.compile_detector_sampler):
        sampler = compile_(code, seed=5)
        first = sampler.sample(10)
        other = pickle.loads(pickle.dumps(sampler))  # goes on where the first is
        assert (other.sample(20) == sampler.sample(20)).all() and len(first) == 10
        assert (copy.deepcopy(sampler).sample(5) == sampler.sample(5)).all()
    converter = pickle.loads(pickle.dumps(tw.compile_m2d_converter(code)))
    assert converter.convert(measurements=np.array([[1, 0]], bool), append_observables=True).tolist() == [[False, True]]


def test_qiskits_classes_are_copied():
    qiskit = pytest.importorskip("qiskit")
    from tilewave.qiskit import EstimatorV2, SamplerV2, TilewaveBackend
    circuit = qiskit.QuantumCircuit(2)
    circuit.h(0)
    circuit.cx(0, 1)
    measured = circuit.copy()
    measured.measure_all()
    noise = {"channels": [{"after": "all", "channel": "depolarizing", "p": 0.1}]}
    for make in (lambda: SamplerV2(seed=1, noise_model=noise), lambda: pickle.loads(pickle.dumps(SamplerV2(seed=1, noise_model=noise)))):
        job = make().run([measured], shots=50)
        result = pickle.loads(pickle.dumps(job)).result()
        assert result[0].data.meas.num_shots == 50
    estimator = copy.deepcopy(pickle.loads(pickle.dumps(EstimatorV2(default_precision=0.25))))
    assert estimator.default_precision == 0.25
    assert pickle.loads(pickle.dumps(TilewaveBackend(shots=7))).options.shots == 7


def test_nothing_is_said_about_objects_that_outlive_the_interpreter():
    text = """
import threading, time
import tilewave as tw
circuit = tw.Circuit(2).h(0)
threading.Thread(target=lambda held: time.sleep(30), args=(circuit,), daemon=True).start()
"""
    done = python(text)
    assert done.returncode == 0 and "nanobind" not in done.stderr + done.stdout


# --- Ctrl-C

def code(distance, rounds):
    stim = pytest.importorskip("stim")
    return str(stim.Circuit.generated("surface_code:rotated_memory_z", distance=distance, rounds=rounds,
                                      after_clifford_depolarization=0.01))


def deep(n, gates):
    rng = np.random.default_rng(1)
    circuit = tw.Circuit(n)
    for a, b in rng.integers(n, size=(gates // 2, 2)):
        circuit.ry(0.3, int(a))
        if a != b:
            circuit.cx(int(a), int(b))
    return circuit


def planning():
    circuit = deep(12, 250_000)
    return lambda: tw.plan(circuit)


def expectations():
    state = tw.State(layers(20))
    rng = np.random.default_rng(1)
    terms = tw.observables.pauli_terms(["".join(rng.choice(list("IXYZ"), 20)) for _ in range(4000)], 20)
    return lambda: state._expectations(terms)


def sampling():
    circuit = layers(12).measure_all()
    return lambda: tw.sample(circuit, 20_000_000)


def recording():
    circuit = layers(12).measure_all()
    return lambda: tw.sample_bits(circuit, 8_000_000)


def stabilizer_counts():
    circuit = tw.Circuit(60).h(0)
    for q in range(59):
        circuit.cx(q, q + 1)
    circuit.measure_all()
    return lambda: tw.sample(circuit, 60_000_000)


def entropy():
    image = np.random.default_rng(1).integers(0, 60000, (1500, 1500)).astype(np.uint16)
    return lambda: tw.entropy(image, 40)


def mapping():
    image = np.random.default_rng(1).random((2000, 2000)).astype(np.float32)
    return lambda: tw.map(image, "sin(v) + exp(cos(v))", repeat=300)


def detectors():
    sampler = tw.compile_detector_sampler(code(9, 9))
    return lambda: sampler.sample(5_000_000, bit_packed=True)


def compiling():
    text = code(15, 40)
    return lambda: [tw.compile_detector_sampler(text) for _ in range(20)]


def error_model():
    text = code(13, 13)
    return lambda: [tw.detector_error_model(text, decompose_errors=True) for _ in range(20)]


def parsing_qasm2():
    text = "OPENQASM 2.0;\ninclude \"qelib1.inc\";\nqreg q[9];\n" + "rx(pi/3) q[2];\ncx q[1],q[7];\n" * 700_000
    return lambda: tw.Circuit.from_qasm(text)


def parsing_qasm3():
    text = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[9] q;\nfor int j in [0:9] { for int k in [0:1000000] { rx(pi/3) q[2]; cx q[0], q[5]; } }\n"
    return lambda: tw.Circuit.from_qasm(text)


def parsing_stim():
    text = "H 0 1 2 3\nCX 0 1 2 3\nM 0 1\n" * 500_000
    return lambda: [tw.Circuit.from_stim(text) for _ in range(4)]


def endless_block():
    text = "REPEAT 10000000000 {\nELSE_CORRELATED_ERROR(0.1) X0\n}\nM 0\nDETECTOR rec[-1]\n"
    sampler = tw.compile_detector_sampler(text, seed=1, threads=2, engine="frame")
    return lambda: sampler.sample(2000)


def converting():
    qiskit = pytest.importorskip("qiskit")
    circuit = qiskit.QuantumCircuit(4)
    for k in range(60_000):
        circuit.rx(0.1, k % 4)
        circuit.cx(k % 4, (k + 1) % 4)
    return lambda: [tw.Circuit.from_qiskit(circuit) for _ in range(20)]


TASKS = [planning, expectations, sampling, recording, stabilizer_counts, entropy, mapping, detectors, compiling, error_model,
         endless_block, parsing_qasm2, parsing_qasm3, parsing_stim, converting]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_ctrl_c_ends_everything_soon(task):
    work = task()
    delays = []
    for delay in (0.15, 0.35):  # the better of two, as other programs may want the machine
        sent = []

        def interrupt(sent=sent):
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(delay, interrupt)
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            while True:  # so that it is interrupted at work, however fast that is
                work()
        delays.append(time.perf_counter() - sent[0])
        if delays[-1] < 0.3:
            break
    assert min(delays) < 0.3, delays


@pytest.fixture
def long_job():
    qiskit = pytest.importorskip("qiskit")
    from tilewave.qiskit import EstimatorV2, SamplerV2, TilewaveBackend
    circuit = qiskit.QuantumCircuit(12)
    for q in range(12):
        circuit.ry(0.3 + q, q)
    for q in range(11):
        circuit.cx(q, q + 1)
    measured = circuit.copy()
    measured.measure_all()
    noise = {"channels": [{"after": "all", "channel": "amplitude_damping", "gamma": 0.1}]}
    return {"backend": lambda: TilewaveBackend().run([measured] * 50, shots=50_000_000),
            "sampler": lambda: SamplerV2().run([measured] * 50, shots=8_000_000),
            "estimator": lambda: EstimatorV2(noise_model=noise).run([(circuit, "Z" * 12)] * 1000, precision=1e-4)}


def wait_for(job, status):
    end = time.perf_counter() + 30
    while job.status() != status:
        assert time.perf_counter() < end, f"the job is {job.status()}, not {status}"
        time.sleep(0.005)


def calls_of_main_thread():
    names, frame = set(), sys._current_frames()[threading.main_thread().ident]
    while frame:
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    return names


@pytest.mark.parametrize("kind", ["backend", "sampler", "estimator"])
def test_jobs_are_cancelled(long_job, kind):
    from qiskit.providers import JobStatus
    job = long_job[kind]()
    wait_for(job, JobStatus.RUNNING)
    start = time.perf_counter()
    assert job.cancel()
    with pytest.raises(Exception, match="cancelled"):
        job.result()
    assert time.perf_counter() - start < 1
    assert job.status() == JobStatus.CANCELLED and not job.cancel()


def test_ctrl_c_while_a_result_is_waited_for(long_job):
    from qiskit.providers import JobStatus
    for kind in ("backend", "sampler"):
        job = long_job[kind]()

        def interrupt(job=job):
            wait_for(job, JobStatus.RUNNING)
            while not {"result", "wait"} <= calls_of_main_thread():
                time.sleep(0.005)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        with pytest.raises(KeyboardInterrupt):
            thread.start()
            job.result()
        thread.join()
        start = time.perf_counter()
        wait_for(job, JobStatus.CANCELLED)
        assert time.perf_counter() - start < 1


def test_a_thread_of_its_own_is_not_disturbed_by_signals():
    """Only the main thread sees Ctrl-C; a run in another thread ends as ever."""
    found, started, interrupted = [], threading.Event(), threading.Event()

    def work():
        while not interrupted.is_set():  # so that a run is under way when the signal comes
            found.append(tw.sample(layers(10).measure_all(), 200_000, seed=1))
            started.set()
        found.append(tw.sample(layers(10).measure_all(), 200_000, seed=1))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert started.wait(60)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        interrupted.set()
        thread.join()
    assert len(found) > 1 and all(counts == found[0] for counts in found) and sum(found[0].values()) == 200_000


def test_memory_kept_for_the_next_run_is_given_back():
    text = ("import os, tilewave as tw\n"
            "resident = lambda: int(open('/proc/self/statm').read().split()[1]) * os.sysconf('SC_PAGE_SIZE')\n"
            "c = tw.Circuit(25)\n"
            "for q in range(25): c.ry(0.3, q)\n"
            "tw.run(c, 10, seed=1, device='cpu', engine='statevector')\n"
            "kept = resident()\n"
            "tw.free_memory()\n"
            "print(kept - resident() > 400 << 20)\n"
            "print(tw.run(c, 10, seed=1, device='cpu', engine='statevector').norm)\n")
    done = python(text)
    assert done.returncode == 0, done.stderr
    freed, norm = done.stdout.split()
    assert freed == "True"
    assert abs(float(norm) - 1) < 1e-12
