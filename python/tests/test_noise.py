"""Noisy circuits against Qiskit Aer: every channel, readout errors, dynamic circuits, the backend and the primitives."""
import copy
import pickle

import numpy as np
import pytest
from counts import deviation

qiskit = pytest.importorskip("qiskit")
aer = pytest.importorskip("qiskit_aer")
from qiskit import ClassicalRegister, QuantumCircuit, QuantumRegister  # noqa: E402
from qiskit.circuit.library import CCXGate, CXGate, SwapGate, UnitaryGate  # noqa: E402
from qiskit.quantum_info import SparsePauliOp, random_unitary  # noqa: E402
from qiskit_aer import noise as an  # noqa: E402

import tilewave as tw  # noqa: E402
from tilewave.qiskit import EstimatorV2, SamplerV2, TilewaveBackend, from_qiskit  # noqa: E402

N = 4


def errors():
    coherent = random_unitary(4, seed=3)
    return {
        "depolarizing": (an.depolarizing_error(0.1, 1), an.depolarizing_error(0.15, 2)),
        "bit flip": (an.pauli_error([("X", 0.07), ("I", 0.93)]), None),
        "phase flip": (an.pauli_error([("Z", 0.07), ("I", 0.93)]), None),
        "bit-phase flip": (an.pauli_error([("Y", 0.07), ("I", 0.93)]), None),
        "pauli": (an.pauli_error([("X", 0.03), ("Y", 0.05), ("I", 0.92)]),
                  an.pauli_error([("XY", 0.1), ("IZ", 0.05), ("ZI", 0.02), ("II", 0.83)])),
        "amplitude damping": (an.amplitude_damping_error(0.1), None),
        "generalized amplitude damping": (an.amplitude_damping_error(0.1, 0.3), None),
        "phase damping": (an.phase_damping_error(0.1), None),
        "phase and amplitude damping": (an.phase_amplitude_damping_error(0.1, 0.05, 0.2), None),
        "thermal relaxation": (an.thermal_relaxation_error(50, 30, 4, 0.1), None),
        "thermal relaxation, long t2": (an.thermal_relaxation_error(50, 80, 4), None),
        "reset": (an.reset_error(0.05, 0.03), None),
        "coherent": (an.coherent_unitary_error(random_unitary(2, seed=1)), an.coherent_unitary_error(coherent)),
        "mixed unitary": (an.mixed_unitary_error([(random_unitary(2, seed=5), 0.2), (np.eye(2), 0.8)]), None),
        "kraus": (an.kraus_error([[[1, 0], [0, 0.8]], [[0, 0.36], [0, 0]], [[0, 0], [0, 0.48]]]),
                  an.kraus_error([np.diag([1, 1, 1, 0.8]), 0.6 * np.eye(4)[[3, 1, 2, 0]] @ np.diag([0, 0, 0, 1])])),
        "composed": (an.depolarizing_error(0.05, 1).compose(an.amplitude_damping_error(0.1)),
                     an.amplitude_damping_error(0.1).tensor(an.phase_damping_error(0.1))),
    }


def circuit_of(seed, n=N, measured=True):
    rng = np.random.default_rng(seed)
    circuit = QuantumCircuit(n)
    for _ in range(4):
        for q in range(n):
            circuit.u(*map(float, rng.uniform(-3, 3, 3)), q)
        for q in map(int, rng.permutation(n - 1)):
            circuit.cx(q, q + 1)
    if measured:
        circuit.measure_all()
    return circuit


def noise_of(name):
    single, pair = errors()[name]
    model = an.NoiseModel()
    model.add_all_qubit_quantum_error(single, ["u"])
    if pair is not None:
        model.add_all_qubit_quantum_error(pair, ["cx"])
        model.add_quantum_error(an.depolarizing_error(0.3, 2), ["cx"], [1, 2])  # instead of the pair's
    return model


def aer_counts(circuit, model, shots, seed=1, method="density_matrix"):
    simulator = aer.AerSimulator(method=method, noise_model=model, seed_simulator=seed)
    return simulator.run(circuit, shots=shots).result().get_counts()


@pytest.mark.parametrize("name", errors())
def test_density_matrix_is_aers(name):
    model = noise_of(name)
    circuit = circuit_of(1, measured=False)
    ours = tw.simulate(from_qiskit(circuit), noise=model)
    circuit.save_density_matrix()
    simulator = aer.AerSimulator(method="density_matrix", noise_model=model)
    theirs = simulator.run(circuit).result().data()["density_matrix"].data
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("name", errors())
def test_counts_are_aers_from_both_engines(name):
    model = noise_of(name)
    circuit = circuit_of(2)
    theirs = aer_counts(circuit, model, 20000)
    for engine in ("density", "trajectories"):
        for precision in ("double", "single"):
            ours = tw.sample(from_qiskit(circuit), 20000, seed=7, noise=model, engine=engine, precision=precision)
            assert deviation(ours, theirs) < 5, (engine, precision)


def test_trajectories_of_many_qubits_give_the_expectations_of_the_density_matrix():
    circuit = from_qiskit(circuit_of(5, n=9, measured=False))
    observable = "ZZIIIIIII + 0.5 IXXIIIIII + IIIIIIYII"
    for name in ("depolarizing", "amplitude damping"):
        model = tw.noise_model(noise_of(name))
        exact = tw.run(circuit, observables=observable, noise=model, engine="density")
        mean = tw.run(circuit, 3000, seed=2, observables=observable, noise=model, engine="trajectories")
        assert exact.engine == "density" and len(exact.expectation_errors) == 0
        assert mean.engine == "trajectories" and mean.num_trajectories == 3000
        assert np.all(np.abs(mean.expectations - exact.expectations) < 5 * mean.expectation_errors + 1e-6)
        assert tw.expectation(circuit, observable, noise=model, engine="density") == pytest.approx(exact.expectation_sum)


def dynamic_circuit():
    q, a, b = QuantumRegister(3), ClassicalRegister(1, "a"), ClassicalRegister(3, "b")
    circuit = QuantumCircuit(q, a, b)
    for k in range(3):
        circuit.ry(0.6 + k, k)
    circuit.measure(0, a[0])
    with circuit.if_test((a, 1)) as otherwise:
        circuit.x(1)
    with otherwise:
        circuit.h(2)
    circuit.reset(0)
    circuit.cx(1, 2)
    circuit.h(0)
    circuit.measure([0, 1, 2], b)
    return circuit


def test_dynamic_circuits_with_readout_errors_give_aers_counts():
    model = an.NoiseModel()
    model.add_all_qubit_quantum_error(an.amplitude_damping_error(0.2), ["ry", "h", "x"])
    model.add_all_qubit_quantum_error(an.depolarizing_error(0.2, 2), ["cx"])
    model.add_all_qubit_quantum_error(an.pauli_error([("X", 0.1), ("I", 0.9)]), ["reset"])
    model.add_quantum_error(an.pauli_error([("X", 0.2), ("I", 0.8)]), ["measure"], [1])
    model.add_all_qubit_readout_error(an.ReadoutError([[0.95, 0.05], [0.1, 0.9]]))
    model.add_readout_error(an.ReadoutError([[0.8, 0.2], [0.3, 0.7]]), [2])
    circuit = dynamic_circuit()
    theirs = aer_counts(circuit, model, 20000, method="statevector")
    for engine in ("density", "trajectories"):
        ours = tw.sample(from_qiskit(circuit), 20000, seed=3, noise=model, engine=engine)
        assert deviation(ours, theirs) < 5, engine


def test_backend_and_primitives_take_a_noise_model():
    model = noise_of("amplitude damping")
    model.add_all_qubit_readout_error(an.ReadoutError([[0.97, 0.03], [0.06, 0.94]]))
    circuit = circuit_of(3)
    theirs = aer_counts(circuit, model, 20000)
    ours = TilewaveBackend().run(circuit, shots=20000, seed_simulator=4, noise_model=model).result().get_counts()
    assert deviation(ours, theirs) < 5
    assert deviation(TilewaveBackend().run(circuit, shots=20000, seed_simulator=4).result().get_counts(), theirs) > 5
    sampler = SamplerV2(seed=4, noise_model=model)
    assert deviation(sampler.run([circuit], shots=20000).result()[0].data.meas.get_counts(), theirs) < 5
    observable = SparsePauliOp(["ZZII", "IXXI"], [1.0, 0.5])
    bare = circuit_of(3, measured=False)
    found = EstimatorV2(noise_model=model).run([(bare, observable)]).result()[0].data
    rho = tw.simulate(from_qiskit(bare), noise=model)
    assert float(found.evs) == pytest.approx(np.trace(observable.to_matrix() @ rho).real)
    assert float(found.stds) == 0


def test_models_as_dictionaries_text_and_files(tmp_path):
    model = {"channels": [{"after": "x", "channel": "bit_flip", "p": 1}], "readout": [{"p1_given_0": 0}]}
    circuit = tw.Circuit(1).x(0)
    (tmp_path / "noise.json").write_text(tw.noise.json.dumps(model))
    for source in (model, tw.noise.json.dumps(model), tmp_path / "noise.json", tw.noise_model(model)):
        assert tw.sample(circuit, 10, noise=source) == {"0": 10}
    assert tw.noise_model(model).as_dict() == model
    of_arrays = tw.noise_model({"channels": [{**model["channels"][0], "p": np.int64(1), "qubits": np.array([1, 2])}]})
    assert tw.sample(tw.Circuit(3).x(0).x(1), 10, noise=of_arrays) == {"001": 10}
    assert of_arrays.as_dict() == {"channels": [{**model["channels"][0], "qubits": [1, 2]}]}
    with pytest.raises(TypeError, match="a noise model holds numbers, texts, lists and dictionaries, not set"):
        tw.noise_model({"channels": [{**model["channels"][0], "qubits": {1}}]})
    with pytest.raises(ValueError, match=r"channels\[0\]\.p: is 2: it must be from 0 to 1"):
        tw.noise_model({"channels": [{"after": "x", "channel": "bit_flip", "p": 2}]})
    with pytest.raises(ValueError, match="holds no noise"):
        tw.run(circuit, noise=model, engine="statevector")
    misread = {"readout": [{"p1_given_0": 0.2}]}
    with pytest.raises(ValueError, match="readout errors need no trajectories: use engine=.auto."):
        tw.run(circuit, 10, noise=misread, engine="trajectories")
    with pytest.raises(ValueError, match="none of the noise model's channels acts in this circuit, so there is nothing to draw"):
        tw.run(tw.Circuit(1).h(0), 10, noise=model, engine="trajectories")
    with pytest.raises(ValueError, match="is for circuits with noise channels: give a noise file"):
        tw.run(circuit, 10, engine="trajectories")
    assert tw.run(circuit, 10, noise=misread).counts == {"1": 10}
    with pytest.raises(TypeError, match="a noise model is a dictionary"):
        tw.noise_model(3)


def test_an_error_on_an_instruction_of_one_qubit_leaves_wider_ones_of_its_name_alone():
    model = an.NoiseModel()
    model.add_quantum_error(an.pauli_error([("X", 1)]), ["unitary"], [0])
    circuit = QuantumCircuit(2)
    circuit.unitary(np.eye(4), [0, 1])
    assert tw.sample(from_qiskit(circuit), 10, noise=model) == {"00": 10}
    circuit.unitary(np.eye(2), [0])
    assert tw.sample(from_qiskit(circuit), 10, noise=model) == {"01": 10}


def test_readout_errors_steer_exact_expectations():
    circuit = QuantumCircuit(1, 1)
    circuit.h(0)
    circuit.measure(0, 0)
    with circuit.if_test((circuit.clbits[0], 1)):
        circuit.x(0)
    model = an.NoiseModel()
    model.add_all_qubit_readout_error([[0.9, 0.1], [0.2, 0.8]])
    result = EstimatorV2(noise_model=model).run([(circuit, "Z")], precision=0).result()[0].data
    np.testing.assert_allclose(result.evs, 0.5 * (0.9 - 0.1) + 0.5 * (0.8 - 0.2), atol=1e-12)


def test_noise_follows_a_measurement_that_overwrites_its_condition():
    noise = {"channels": [{"after": "measure", "channel": "bit_flip", "p": 1}]}
    circuit = tw.Circuit(1, 2).x(0).measure(0, 0).c_if(0, 0).measure(0, 1)
    for engine in ("auto", "density", "trajectories", "stabilizer"):
        assert tw.sample(circuit, 10, noise=noise, engine=engine) == {"01": 10}


def test_noise_on_an_instruction_that_is_simulated_as_its_parts_is_refused():
    part = QuantumCircuit(2, name="mine")
    part.h(0)
    part.cx(0, 1)
    t = qiskit.circuit.Parameter("t")
    circuit = QuantumCircuit(2)
    circuit.ry(t, 0)
    circuit.append(part.to_gate(), [0, 1])
    outer = QuantumCircuit(2)  # the same inside another one, under a power
    outer.append(circuit.assign_parameters([0.5]).to_gate(label="outer").power(2, annotated=True), [0, 1])
    model = an.NoiseModel()
    model.add_all_qubit_quantum_error(an.depolarizing_error(0.1, 2), ["mine"])
    for converted in (from_qiskit(circuit, [0.5]), from_qiskit(outer)):
        for copied in (converted, converted.copy(), copy.deepcopy(converted), pickle.loads(pickle.dumps(converted)),
                       converted.inverse(), converted + tw.Circuit(2), tw.Circuit(2) + converted,
                       tw.Circuit(3).compose(converted, [2, 0])):
            with pytest.raises(ValueError, match="an error on 'mine', an instruction that is simulated as its parts"):
                tw.sample(copied, 10, noise=model)
    measured = circuit.measure_all(inplace=False)
    for values in ([[0.5]], [[0.1], [0.2], [0.3]]):  # by itself, and by a template
        with pytest.raises(ValueError, match="'mine', an instruction that is simulated as its parts"):
            SamplerV2(noise_model=model).run([(measured, values)]).result()
        with pytest.raises(ValueError, match="'mine', an instruction that is simulated as its parts"):
            EstimatorV2(noise_model=model).run([(circuit, "ZZ", values)]).result()


def test_errors_that_cannot_be_converted():
    model = an.NoiseModel()
    model.add_readout_error(an.ReadoutError(np.full((4, 4), 0.25)), [0, 1])
    with pytest.raises(ValueError, match="several qubits together"):
        tw.noise_model(model)
    model = an.NoiseModel()
    model.add_all_qubit_quantum_error(an.pauli_error([("XXXXX", 0.5), ("IIIII", 0.5)]), ["unitary"])
    with pytest.raises(ValueError, match="acts on 5 qubits: at most 4"):
        tw.noise_model(model)


def density_matrices(circuit, model):
    """Ours and Aer's."""
    ours = tw.simulate(circuit, noise=model)
    saved = circuit.copy()
    saved.save_density_matrix()
    simulator = aer.AerSimulator(method="density_matrix", noise_model=model)
    return ours, simulator.run(saved, shots=1).result().data()["density_matrix"].data


def errors_of_any_size():
    idle = QuantumCircuit(2)
    idle.x(0)
    return {1: an.amplitude_damping_error(0.2), 2: an.pauli_error([("XZ", 0.3), ("IY", 0.1), ("II", 0.6)]),
            3: an.pauli_error([("XZY", 0.3), ("III", 0.7)]), "generators": an.PauliLindbladError(["XI", "IZ"], [0.1, 0.2]),
            "last qubit idle": an.QuantumError([(idle, 0.3), (QuantumCircuit(2), 0.7)])}


@pytest.mark.parametrize("size", errors_of_any_size())
@pytest.mark.parametrize("width", range(1, 5))
def test_an_error_acts_on_the_first_qubits_of_its_instruction(size, width):
    error, qubits = errors_of_any_size()[size], [3, 1, 0, 2]
    matrix = random_unitary(2**width, seed=width)
    gates = {"unitary": UnitaryGate(matrix), "mine": UnitaryGate(matrix, label="mine")}
    if width == 3 and error.num_qubits == 3:
        gates["ccx"] = CCXGate()
    if width == 2 and error.num_qubits == 2:
        gates.update(cx=CXGate(), swap=SwapGate())
    for name, gate in gates.items():
        circuit = QuantumCircuit(4)
        for q in range(4):
            circuit.ry(0.3 + q, q)
        circuit.append(gate, qubits[:width])
        model = an.NoiseModel()
        model.add_all_qubit_quantum_error(error, [name], warnings=False)
        least = 1 if size == "last qubit idle" else error.num_qubits
        if least <= width:
            np.testing.assert_allclose(*density_matrices(circuit, model), atol=1e-9)
        else:  # Aer's message is "qubits size (1) < error qubits (2)"
            with pytest.raises(ValueError, match=f"takes {least} qubits of an operation, and one that goes by '{name}'"):
                tw.simulate(circuit, noise=model)
        model = an.NoiseModel()  # of these qubits alone, as many as the error has
        model.add_quantum_error(error, [name], qubits[:error.num_qubits], warnings=False)
        np.testing.assert_allclose(*density_matrices(circuit, model), atol=1e-9)


def test_an_error_in_a_circuit_keeps_a_qubit_that_is_idle_in_it():
    circuit = QuantumCircuit(2)
    circuit.h(1)
    circuit.append(errors_of_any_size()["last qubit idle"], [0, 1])
    plus = np.full((2, 2), 0.5)
    np.testing.assert_allclose(tw.simulate(circuit), np.kron(plus, np.diag([0.7, 0.3])), atol=1e-12)


def test_an_error_on_reset_has_one_qubit():
    model = an.NoiseModel()
    model.add_all_qubit_quantum_error(errors_of_any_size()[3], ["reset"], warnings=False)
    circuit = QuantumCircuit(3)
    circuit.reset(0)
    with pytest.raises(ValueError, match="takes 3 qubits of an operation, and one has 1 qubit"):
        tw.simulate(circuit, noise=model)


@pytest.mark.parametrize("num_qubits", [2, 4, 6, 8])
def test_noisy_expectations_are_exact_at_precision_0(num_qubits):
    # after X the damped qubit has p(1) = cos^2(0.35) * 0.9, and CX spreads its bit
    model = an.NoiseModel()
    model.add_all_qubit_quantum_error(an.amplitude_damping_error(0.1), ["x"])
    circuit = QuantumCircuit(num_qubits)
    circuit.ry(0.7, 0)
    circuit.x(0)
    for q in range(num_qubits - 1):
        circuit.cx(q, q + 1)
    observables = ["I" * (num_qubits - 1 - q) + "Z" + "I" * q for q in range(num_qubits)]
    expected = 1 - 2 * 0.9 * np.cos(0.35) ** 2
    assert tw.run(circuit, observables=observables[0], noise=model, engine="trajectories").num_trajectories == 1000
    found = EstimatorV2(noise_model=model, seed=1).run([(circuit, observables)]).result()[0].data
    np.testing.assert_allclose(found.evs, expected, atol=1e-12)
    assert np.all(found.stds == 0)
    circuit.append(an.amplitude_damping_error(0.2), [0])  # a channel of the circuit's own
    found = EstimatorV2(seed=1).run([(circuit, observables)]).result()[0].data
    np.testing.assert_allclose(found.evs, [1 - 2 * 0.8 * np.cos(0.35) ** 2] + [1 - 2 * np.cos(0.35) ** 2] * (num_qubits - 1), atol=1e-12)
    with pytest.raises(MemoryError, match="precision 0 takes a density matrix of this circuit: give a precision above 0"):
        wide = QuantumCircuit(30)
        wide.x(range(30))
        EstimatorV2(noise_model=model).run([(wide, "Z" * 30)]).result()
