"""bench/peers/gpu.py and what it reads: the peers of the GPU benches without a GPU. Their packages are stood in for by
what their documentation says of the functions used, computed with NumPy, Stim, scikit-image and lightning.qubit."""

import ctypes
import importlib.util
import json
import os
import sys
from enum import IntEnum
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import tilewave as tw

ROOT = Path(os.environ["TILEWAVE_ROOT"])
GATES = [("h", [0], []), ("u3", [1], [0.3, 1.1, -0.7]), ("rx", [2], [0.9]), ("ry", [3], [-0.4]), ("cx", [0, 2], []),
         ("rz", [2], [0.8]), ("cp", [2, 1], [1.3]), ("y", [1], []), ("s", [0], []), ("cz", [3, 0], []), ("t", [3], []),
         ("h", [3], []), ("x", [2], []), ("z", [0], []), ("cx", [3, 1], []), ("ry", [1], [0.35]),
         ("h", [0], [])]  # fmt: skip


@pytest.fixture(scope="module")
def benches():
    kept = sys.path[:]
    sys.path[:0] = [str(ROOT / "bench" / "peers"), str(ROOT / "bench")]
    names = ("gpu", "gpu_states", "gpu_leakage", "gpu_arrays", "report")
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    sys.path[:] = kept


def ours(size, gates):
    names = {"cp": "cp", "u3": "u"}
    circuit = tw.Circuit(size)
    for name, qubits, parameters in gates:
        getattr(circuit, names.get(name, name))(*parameters, *qubits)
    return np.asarray(tw.simulate(circuit))


def same(a, b):
    return abs(abs(np.vdot(a, b)) - 1) < 1e-6  # both have norm 1


class Kind(IntEnum):
    DENSE, DIAGONAL, ANTI_DIAGONAL = 1, 2, 4


class Ex:
    """custatevecEx of cuquantum-python 26.9: states and updaters are numbers, matrices are addresses."""

    MatrixType, FORGETS = Kind, False

    def __init__(self):
        self.made, self.last = {}, 0

    def new(self, what):
        self.last += 1
        self.made[self.last] = what
        return self.last

    def configure_state_vector_single_device(self, data_type, wires, device_wires, device, capability):
        assert wires == device_wires
        return self.new((data_type, wires))

    def configure_sv_updater(self, data_type, items=()):
        return self.new(data_type)

    def dictionary_destroy(self, config):
        del self.made[config]

    def state_vector_create_single_process(self, config, streams, num_streams, manager):
        data_type, wires = self.made[config]
        state = np.zeros(1 << wires, {4: np.complex64, 5: np.complex128}[data_type])
        state[0] = 1
        return self.new(state)

    def state_vector_destroy(self, state):
        del self.made[state]

    sv_updater_destroy = state_vector_destroy

    def state_vector_set_zero_state(self, state):
        self.made[state][:] = np.arange(len(self.made[state])) == 0

    def state_vector_synchronize(self, state):
        assert state in self.made

    def state_vector_get_state(self, state, address, data_type, begin, end, copies):
        piece = self.made[state][begin:end]
        ctypes.memmove(address, piece.ctypes.data, piece.nbytes)

    def apply_matrix(self, state, address, data_type, kind, layout, adjoint, targets, num_targets, *controlled):
        controls, values, num_controls = controlled
        assert layout == 1 and not adjoint and num_targets == len(targets) == 1
        assert num_controls == len(controls) == len(values)
        v, count = self.made[state], {Kind.DENSE: 4, Kind.DIAGONAL: 2, Kind.ANTI_DIAGONAL: 2}[kind]
        m = np.frombuffer(ctypes.string_at(address, count * v.itemsize), v.dtype)
        m = {Kind.DENSE: lambda: m.reshape(2, 2), Kind.DIAGONAL: lambda: np.diag(m),
             Kind.ANTI_DIAGONAL: lambda: np.array([[0, m[0]], [m[1], 0]])}[kind]()  # fmt: skip
        index = np.arange(len(v))
        low = index[[all(k >> c & 1 == b for c, b in zip([*controls, *targets], [*values, 0])) for k in index]]
        high = low | (1 << targets[0])
        v[low], v[high] = m[0, 0] * v[low] + m[0, 1] * v[high], m[1, 0] * v[low] + m[1, 1] * v[high]

    def sv_updater_create(self, config, manager):
        return self.new([])

    def sv_updater_enqueue_matrix(self, updater, *call):
        self.made[updater].append(call)

    def sv_updater_apply(self, updater, state, randnums, num_randnums):
        assert num_randnums == 0
        for call in self.made[updater]:
            self.apply_matrix(state, *call)
        if self.FORGETS:
            self.made[updater].clear()


@pytest.fixture
def ex(monkeypatch):
    fake = Ex()
    parts = {"cuquantum": {}, "cuquantum.bindings": {}, "cuquantum.bindings._utils": {}}
    modules = {name: ModuleType(name) for name in parts}
    modules["cuquantum.bindings"].custatevecEx = fake
    modules["cuquantum.bindings"].custatevec = SimpleNamespace(MatrixLayout=SimpleNamespace(ROW=1, COL=0))
    modules["cuquantum.bindings._utils"].cudaDataType = SimpleNamespace(CUDA_C_32F=4, CUDA_C_64F=5)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return fake


@pytest.mark.parametrize("kind", ["CuStateVec", "CuStateVecUpdater"])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_custatevec(benches, ex, kind, precision):
    peer = getattr(benches.gpu_states, kind)()
    peer.use(precision)
    assert same(peer.amplitudes(4, GATES), ours(4, GATES))
    found = peer.measure(4, GATES, (3, benches.gpu_states.folded(GATES, 3)), 5, 60)
    assert len(found["times_s"]) == 5 and found["median_s"] > 0
    assert not ex.made  # states, updaters and configurations are freed


def test_an_updater_that_keeps_no_gates_is_seen(benches, ex):
    ex.FORGETS = True
    peer = benches.gpu_states.CuStateVecUpdater()
    peer.use("double")
    assert not same(peer.amplitudes(4, GATES), ours(4, GATES))


def test_a_slow_first_run_counts(benches, ex):
    peer = benches.gpu_states.CuStateVec()
    peer.use("double")
    assert len(peer.measure(4, GATES, (3, []), 5, 1e-9)["times_s"]) == 1


def test_folded_gates_act_on_different_qubits(benches):
    assert benches.gpu_states.folded([("cx", [1, 4], []), ("cx", [1, 5], []), ("h", [5], [])], 3) == [
        ("cx", [1, 2], []),
        ("h", [2], []),
    ]


def test_an_unknown_gate_is_named(benches):
    with pytest.raises(ValueError, match="the gate ccx has no matrix here"):
        benches.gpu_states.target_matrix("ccx", [])


def test_lightning_gpu_by_the_methods_of_lightning_qubit(benches, monkeypatch):
    """Both classes of C++ have the same methods for gates."""
    made = pytest.importorskip("pennylane_lightning.lightning_qubit_ops")

    class State:
        def __init__(self, size):
            self.state = made.StateVectorC128(size)

        def __getattr__(self, name):
            return getattr(self.state, name)

        def resetStateVector(self, asynchronous):
            self.state.resetStateVector()

        def DeviceToHost(self, array, asynchronous):
            self.state.getState(array)

    ops = ModuleType("pennylane_lightning.lightning_gpu_ops")
    ops.StateVectorC64 = ops.StateVectorC128 = State
    ops.DevPool = SimpleNamespace(getTotalDevices=lambda: 1)
    monkeypatch.setitem(sys.modules, ops.__name__, ops)
    monkeypatch.setattr(sys.modules["pennylane_lightning"], "lightning_gpu_ops", ops, raising=False)
    runtime = SimpleNamespace(cudaDeviceSynchronize=lambda: 0)
    monkeypatch.setattr(benches.gpu_states.ctypes, "CDLL", lambda name: runtime)
    peer = benches.gpu_states.LightningGpu()
    peer.use("double")
    assert same(peer.amplitudes(4, GATES), ours(4, GATES))


class StimPeer:
    name = "stim"

    def __init__(self, noise=1.0):
        self.noise = noise

    def detector_sampler(self, text):
        stim = pytest.importorskip("stim")
        sampler = stim.Circuit(text.replace("(0.02)", f"({0.02 * self.noise})")).compile_detector_sampler(seed=5)
        return lambda shots: sampler.sample(shots, bit_packed=True)

    def outcomes(self, text):
        stim = pytest.importorskip("stim")
        simulator = stim.TableauSimulator()
        simulator.do(stim.Circuit(text))
        return np.array(simulator.current_measurement_record())


@pytest.fixture
def quick(benches, monkeypatch):
    monkeypatch.setattr(benches.gpu_arrays, "MOST_BYTES", 1 << 19)
    return SimpleNamespace(device="cpu", rounds=2, seconds=0.1)


CODE = "R 0 1 2\nX_ERROR(0.02) 0 1 2\nDEPOLARIZE2(0.02) 0 1\nM 0 1 2\nDETECTOR rec[-1] rec[-2]\nDETECTOR rec[-3]\n"


def test_delivered_shots(benches, quick):
    [row] = benches.gpu_arrays.measure_delivered(quick, StimPeer(), [(3, 0.02, CODE)])
    assert row["row_bytes"] == 1 and row["ratio"] > 0 and set(row["times"]) == {"tilewave", "stim"}
    with pytest.raises(SystemExit, match="surface code of distance 3, p = 0.02: detector . fires"):
        list(benches.gpu_arrays.measure_delivered(quick, StimPeer(1.5), [(3, 0.02, CODE)]))


def test_tableaus(benches, quick):
    [row] = benches.gpu_arrays.measure_tableaus(quick, StimPeer(), [(20, 5)])
    assert row["qubits"] == 20 and row["ratio"] > 0
    wrong = StimPeer()
    wrong.outcomes = lambda text: ~StimPeer().outcomes(text)
    with pytest.raises(SystemExit, match="stim measures something else than the certain outcomes"):
        list(benches.gpu_arrays.measure_tableaus(quick, wrong, [(20, 5)]))


@pytest.fixture
def cupy(monkeypatch):
    fake = ModuleType("cupy")
    fake.asarray, fake.empty, fake.float32, fake.abs = np.asarray, np.empty, np.float32, np.abs
    fake.cuda = SimpleNamespace(Device=lambda: SimpleNamespace(synchronize=lambda: None))
    monkeypatch.setitem(sys.modules, "cupy", fake)


def test_entropy(benches, quick, cupy):
    rank = pytest.importorskip("skimage.filters.rank")

    class Reflected:
        name, more = "skimage", 0.0

        def backends(self, window):
            return ["one", "other"]

        def entropy(self, image, window, out, backend):
            wide = np.pad(image, window, mode="symmetric")
            out[:] = rank.entropy(wide, np.ones((window, window), np.uint8))[window:-window, window:-window] + self.more

    rows = list(benches.gpu_arrays.measure_entropy(quick, Reflected(), 40, (3, 7)))
    assert [(row["window"], row["classes"]) for row in rows] == [(3, 16), (7, 16), (3, 256), (7, 256)]
    assert all(row["ratio"] > 0 and row["times"]["skimage"]["off"] < 2e-5 for row in rows)
    Reflected.more = 1e-3
    with pytest.raises(SystemExit, match="3 x 3 windows, 16 classes: skimage .one. and Tilewave differ by 1.0e-03"):
        list(benches.gpu_arrays.measure_entropy(quick, Reflected(), 40, (3,)))


def state_row(name, ratio):
    times = {"tilewave": {"median_s": 1.0}, "custatevec": {"median_s": ratio}, "ratios": {"custatevec": ratio}}
    return {"circuit": name, "times": {"single": times, "double": times}}


def test_rows_of_other_circuits_stay(benches):
    old = {"circuits": [state_row("a", 2.0), state_row("b", 7.0)], "codes": [{"distance": 3, "p": 0.1}]}
    old["versions"] = {"x": "1"}
    new = benches.gpu.merged(old, {"circuits": [state_row("b", 8.0)], "versions": {"y": "2"}})
    assert [row["circuit"] for row in new["circuits"]] == ["a", "b"] and new["codes"] == old["codes"]
    assert new["versions"] == {"x": "1", "y": "2"}
    assert new["geometric_means"]["single"]["custatevec"] == pytest.approx(4.0)


def test_a_missing_peer_is_named(benches, capsys):
    report = {}

    def absent():
        raise ImportError("No module named 'quasarq'")

    assert benches.gpu.peer_or_none("quasarq", absent, SimpleNamespace(without=[]), report) is None
    assert report["left_out"] == {"quasarq": "No module named 'quasarq'"}
    assert "quasarq is left out" in capsys.readouterr().err


@pytest.mark.parametrize("spec", [None, SimpleNamespace(submodule_search_locations=["/nowhere"])])
def test_a_missing_library_is_named(benches, monkeypatch, spec):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(ImportError, match="no libcustabilizer.so of a package cuquantum"):
        benches.gpu_leakage.CuStabilizerLeakage()


def test_a_machine_without_a_gpu_is_one_error(benches, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--tilewave", os.environ["TILEWAVE"]])
    with pytest.raises(SystemExit, match="error: there is no NVIDIA GPU to measure: .*nvidia-smi"):
        benches.gpu.main()


def test_the_whole_command(benches, ex, tmp_path, monkeypatch, capsys):
    """gpu.py with Tilewave on the CPU in the place of a device, and cuStateVec stood in for."""
    program = os.environ["TILEWAVE"]
    monkeypatch.setattr(benches.gpu, "gpu_name", lambda: "no GPU")
    monkeypatch.setattr(benches.gpu, "HOST_QUBITS", 4)
    file = tmp_path / "peers.json"
    for family in ("qft", "random"):
        words = ["gpu.py", family, "--only", "states", "--qubits", "8", "--rounds", "1", "--device", "cpu"]
        words += ["--tilewave", program, "--without", "cudaq", "lightning_gpu", "--json", str(file)]
        monkeypatch.setattr(sys, "argv", words)
        benches.gpu.main()
    report = json.loads(file.read_text())
    assert [row["circuit"] for row in report["circuits"]] == ["qft_8", "random_8"]
    assert set(report["geometric_means"]["double"]) == {"custatevec", "custatevec_updater"}
    assert [row["command"] for row in report["circuits"]] == [
        f"bench/peers/gpu.py {family} --only states --without cudaq lightning_gpu --qubits 8 --rounds 1 --seconds 3"
        for family in ("qft", "random")
    ]
    head, *rows = benches.report.gpu_peers_table({**report, "versions": {"x": "1"}})
    assert head == f"no GPU; {report['circuits'][0]['date']}; x 1."
    assert all(f"`{row['command']}`" in rows[1] for row in report["circuits"])
    assert any("custatevec" in line.lower() for line in rows)
    words = ["gpu.py", "--only", "leakage", "--leaks", "3:0.02:1", "--rounds", "1", "--device", "cpu"]
    words += ["--tilewave", program, "--without", "custabilizer", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.setattr(benches.gpu_leakage, "tilewave_shots", lambda *words: {"shots_per_s": 1e6})
    benches.gpu.main()
    [row] = json.loads(file.read_text())["leakage"]
    assert row["distance"] == 3 and row["cost, deltakit"] == row["cost, custabilizer"] == 1
    assert row["command"].endswith("--only leakage --without custabilizer --rounds 1 --leaks 3:0.02:1")
    assert json.loads(file.read_text())["circuits"] == report["circuits"]


def leakage_peer(benches, word="", other=""):
    """LeakageFrameSimulator stood in for by Tilewave's frames of the same text, with another word in it."""

    class Peer(benches.gpu_leakage.CuStabilizerLeakage):
        def __init__(self):
            self.seen = []

        def simulator(self, text, shots, randomize):
            if shots > 1 << 17:
                raise RuntimeError("no memory")
            self.seen.append((text, randomize))
            sampler = tw.compile_sampler(text.replace(word, other), seed=8, skip_reference_sample=True, engine="frame")
            bits = []

            def sample(seed):
                bits[:] = [sampler.sample(shots)]

            def records():
                rows = np.packbits(bits[0].T, axis=1, bitorder="little")
                return [int.from_bytes(row.tobytes(), "little") for row in rows]

            return sample, records

    return Peer()


def test_leakage(benches, tmp_path, monkeypatch):
    arguments = SimpleNamespace(tilewave=os.environ["TILEWAVE"], device="cpu", rounds=1, leaks=["3:0.02:0.5"])
    monkeypatch.setattr(benches.gpu_leakage, "tilewave_shots", lambda *words: {"shots_per_s": 1e6})
    peer = leakage_peer(benches)
    [row] = benches.gpu_leakage.measure_leakage(arguments, peer, tmp_path)
    assert row["ratio, deltakit"] > 0 and row["ratio, custabilizer"] > 0 and row["times"]["custabilizer, deltakit"]["batch"] == 1 << 17
    assert {("REPEAT" in text, randomize) for text, randomize in peer.seen} == {(a, b) for a in (True, False) for b in (True, False)}
    assert not any(name in text for text, _ in peer.seen for name in ("DETECTOR", "TICK", "QUBIT_COORDS"))
    for word, other in (("LEAKAGE1(0.02)", "LEAKAGE1(0.03)"), ("LEAKAGE_RELAX(0.5)", "LEAKAGE_RELAX(0.4)")):
        with pytest.raises(SystemExit, match="cuStabilizer and Tilewave disagree: (record|detector)"):
            list(benches.gpu_leakage.measure_leakage(arguments, leakage_peer(benches, word, other), tmp_path))
