"""The backend and the primitives for Qiskit, against Qiskit itself and Aer."""
import itertools
import math
import threading

import numpy as np
import pytest

qiskit = pytest.importorskip("qiskit")
from qiskit import ClassicalRegister, QuantumCircuit, transpile  # noqa: E402
from qiskit.circuit import Instruction, Parameter, ParameterVector  # noqa: E402
from qiskit.circuit.library import (DiagonalGate, Initialize, MCPhaseGate, PauliEvolutionGate, PauliGate,  # noqa: E402
                                    PermutationGate, UnitaryGate)
from qiskit.primitives import StatevectorEstimator, StatevectorSampler  # noqa: E402
from qiskit.quantum_info import (Choi, Kraus, Pauli, SparsePauliOp, Statevector, SuperOp, random_clifford,  # noqa: E402
                                 random_pauli_list, random_unitary)

import tilewave as tw  # noqa: E402
from cores import refuse_single_runs  # noqa: E402
from counts import deviation  # noqa: E402
from qiskit_circuits import agree  # noqa: E402
from tilewave.qiskit import EstimatorV2, SamplerV2, TilewaveBackend, from_qiskit, primitives  # noqa: E402


# --- the backend

def test_backend_counts_and_memory():
    circuit = QuantumCircuit(3)
    circuit.add_register(ClassicalRegister(1, "one"), ClassicalRegister(2, "two"))
    circuit.x(0)
    circuit.h(2)
    circuit.measure([0, 1, 2], [0, 1, 2])
    result = TilewaveBackend().run(circuit, shots=400, seed_simulator=5, memory=True).result()
    counts = result.get_counts()
    assert set(counts) == {"00 1", "10 1"} and sum(counts.values()) == 400
    memory = result.get_memory()
    assert {key: memory.count(key) for key in set(memory)} == counts
    assert TilewaveBackend().run(circuit, shots=400, seed_simulator=5).result().get_counts() == counts
    assert result.get_counts(circuit) == counts


def test_backend_says_what_a_person_forgot():
    with pytest.warns(UserWarning, match="measures nothing"):
        TilewaveBackend().run(QuantumCircuit(1, 1), shots=3)
    with pytest.raises(TypeError, match="takes a QuantumCircuit or a list of them, not str"):
        TilewaveBackend().run("h 0")


def test_backend_refuses_values_of_parameters_that_are_not_there():
    theta, other, vector = Parameter("theta"), Parameter("theta"), ParameterVector("v", 2)
    circuit = QuantumCircuit(1, 1, name="mine")
    circuit.rx(theta, 0)
    circuit.measure(0, 0)
    plain = QuantumCircuit(1, 1, name="plain")
    plain.measure(0, 0)
    backend = TilewaveBackend()
    for asked, binds, message in (
            (circuit, {theta: [0.1], Parameter("phi"): [1]}, "the circuit 'mine' has no parameter 'phi'$"),
            (circuit, {"theta": [0.1], "phi": [1]}, "the circuit 'mine' has no parameter 'phi'$"),
            (circuit, {theta: [0.1], other: [1]}, "no parameter 'theta' .it has another one of this name: give the name"),
            (circuit, {theta: [0.1], "theta": [0.2]}, "the parameter 'theta' of the circuit 'mine' is given twice"),
            (circuit, {theta: [0.1], vector: [[1, 2]]}, r"the circuit 'mine' has no parameter 'v\[0\]'$"),
            (plain, {theta: [0.1]}, "the circuit 'plain' has no parameter 'theta'$")):
        with pytest.raises(ValueError, match="^parameter_binds: .*" + message):
            backend.run(asked, parameter_binds=[binds])
    with pytest.raises(ValueError, match="^at most 100000000 shots in one run"):
        backend.run(plain, shots=2**70)
    assert backend.run(circuit, parameter_binds=[{"theta": [0, 0]}], shots=3).result().get_counts() == [{"0": 3}] * 2


def test_estimator_refuses_coefficients_that_are_not_finite():
    for number in (math.nan, math.inf):
        with pytest.raises(ValueError, match="the coefficients of the observable must be finite"):
            EstimatorV2().run([(QuantumCircuit(1), {"X": number})]).result()


def test_numbers_of_shots_and_precisions_that_are_none():
    static, dynamic = QuantumCircuit(1), QuantumCircuit(1, 1)
    static.h(0)
    dynamic.h(0)
    dynamic.measure(0, 0)
    dynamic.x(0)
    for precision in (math.nan, math.inf, -1, -math.inf):
        for options, pub in (({"precision": precision}, (static, "Z")), ({}, (static, "Z", None, precision))):
            where = "precision is" if options else "the precision of pub 0 is"
            with pytest.raises(ValueError, match=f"^{where} {precision}: give a standard deviation, a finite number"):
                EstimatorV2().run([pub], **options)
        with pytest.raises(ValueError, match=f"^default_precision is {precision}: give"):
            EstimatorV2(default_precision=precision).run([(static, "Z")])
    with pytest.raises(TypeError, match="^precision is '0.1' .str.: give a standard deviation"):
        EstimatorV2().run([(static, "Z")], precision="0.1")
    with pytest.raises(ValueError, match="^precision 1e-30 takes 1 / precision.2 shots .* use 0.0001 or more, or 0"):
        EstimatorV2().run([(dynamic, "Z")], precision=1e-30).result()
    assert abs(EstimatorV2().run([(static, "Z")], precision=1e-30).result()[0].data.evs) < 1e-12
    measured = static.measure_all(inplace=False)
    for shots, error, message in ((math.nan, TypeError, "nan .float. is no number of shots"), (2.5, TypeError, "2.5 .float. is no"),
                                  (True, TypeError, "True .bool. is no"), (-1, ValueError, "-1 shots cannot be taken: give 1 to"),
                                  (0, ValueError, "0 shots cannot be taken"), (10**12, ValueError, "10{12} shots cannot be taken")):
        with pytest.raises(error, match="^shots: " + message):
            SamplerV2().run([measured], shots=shots)
        with pytest.raises(error, match="^the shots of pub 1: " + message):
            SamplerV2().run([measured, (measured, None, shots)])
        with pytest.raises(error, match="^default_shots: " + message):
            SamplerV2(default_shots=shots).run([measured])


def test_circuits_without_qubits():
    nothing, bits = QuantumCircuit(0), QuantumCircuit(0, 2)
    for ask in (lambda: tw.simulate(nothing), lambda: tw.sample(bits), lambda: from_qiskit(bits).compile(),
                lambda: EstimatorV2().run([(nothing, SparsePauliOp(""))]).result()):
        with pytest.raises(ValueError, match="^the circuit has no qubits, so there is no state to run: declare at least one$"):
            ask()
    with pytest.warns(UserWarning, match="measures nothing"):
        assert TilewaveBackend().run(bits, shots=5).result().get_counts() == {"00": 5}
    assert SamplerV2().run([bits], shots=5).result()[0].data.c.get_counts() == {"00": 5}


def test_clifford_circuits_of_many_qubits_follow_what_they_measure():
    circuit = QuantumCircuit(70, 70)
    circuit.h(0)
    for k in range(69):
        circuit.cx(k, k + 1)
    circuit.measure(0, 0)
    with circuit.if_test((circuit.clbits[0], 1)) as otherwise:
        circuit.x(range(1, 70))
        circuit.h(5)
    with otherwise:
        circuit.x(1)
    circuit.measure(range(1, 70), range(1, 70))
    counts = TilewaveBackend().run(circuit, shots=400, seed_simulator=1).result().get_counts()
    assert set(counts) == {"0" * 68 + "10", "0" * 69 + "1", "0" * 64 + "100001"}
    assert abs(counts["0" * 68 + "10"] - 200) < 60 and abs(counts["0" * 69 + "1"] - 100) < 50
    assert SamplerV2(seed=1).run([circuit], shots=50).result()[0].data.c.get_counts().keys() <= counts.keys()
    with circuit.if_test((circuit.clbits[0], 1)):
        circuit.t(5)
    circuit.h(range(70))
    with pytest.raises(MemoryError, match="stabilizer engine, which needs no state, cannot run this circuit: the gate is not Clifford"):
        TilewaveBackend().run(circuit, shots=4).result()


def teleported(num_qubits):
    """A GHZ state of all qubits but two, whose last one came by teleportation, and strings with their means."""
    n = num_qubits
    circuit = QuantumCircuit(n, 2)
    circuit.h(0)
    for k in range(1, n - 2):
        circuit.cx(k - 1, k)
    circuit.h(n - 2)
    circuit.cx(n - 2, n - 1)
    circuit.cx(n - 3, n - 2)
    circuit.h(n - 3)
    circuit.measure([n - 3, n - 2], [0, 1])
    with circuit.if_test((1, 1)):
        circuit.x(n - 1)
    with circuit.if_test((0, 1)):
        circuit.z(n - 1)
    others = [k for k in range(n) if k not in (n - 3, n - 2)]
    words = [({0: "Z", n - 1: "Z"}, 1), ({k: "X" for k in others}, 1), ({**{k: "X" for k in others}, 0: "Y", n - 1: "Y"}, -1),
             ({**{k: "X" for k in others}, 0: "Y", n - 1: "Z"}, 0), ({n - 3: "Z"}, 0), ({}, 1)]
    return circuit, [SparsePauliOp.from_sparse_list([("".join(word.values()), list(word), 1.5)], n) for word, _ in words], \
        1.5 * np.array([mean for _, mean in words])


@pytest.mark.parametrize("num_qubits", [8, 22, 70])
def test_estimator_follows_clifford_circuits_that_measurements_steer(num_qubits):
    circuit, observables, expected = teleported(num_qubits)
    assert np.allclose(EstimatorV2().run([(circuit, observables)]).result()[0].data.evs, expected, atol=1e-12)
    drawn = EstimatorV2(seed=1).run([(circuit, observables)], precision=0.05).result()[0].data.evs
    assert np.allclose(drawn, expected, atol=0.05 * 1.5 * 5.5)


def test_estimator_needs_no_state_for_clifford_circuits():
    from tilewave import noise_model
    circuit = QuantumCircuit(70, 30)
    circuit.h(0)
    for k in range(69):
        circuit.cx(k, k + 1)
    circuit.sdg(3)
    word = ["X"] * 70
    word[66] = "Y"  # of qubit 3
    observables = [SparsePauliOp("X" * 70), SparsePauliOp("".join(word), -2.5), SparsePauliOp("I" * 40 + "Z" * 30)]
    assert np.array_equal(EstimatorV2().run([(circuit, observables)]).result()[0].data.evs, [0, 2.5, 1])
    assert tw.expectation(circuit, observables[1]) == 2.5
    noise = noise_model({"channels": [{"after": ["sdg"], "channel": "phase_flip", "p": 0.1}]})
    noisy = EstimatorV2(noise_model=noise, seed=1).run([(circuit, observables)], precision=0.01).result()[0].data
    assert np.allclose(noisy.evs, [0, 2.5 * 0.8, 1], atol=5.5 * 0.025) and noisy.stds[2] == 0 and 0.01 < noisy.stds[1] < 0.02
    # many outcomes
    circuit.h(range(30))
    circuit.measure(range(30), range(30))
    for k in range(30):
        with circuit.if_test((k, 1)):
            circuit.x(k)
    with pytest.raises(ValueError, match="more than 65536 outcomes.*for a precision"):
        EstimatorV2().run([(circuit, "Z" * 70)]).result()
    ones = SparsePauliOp("I" * 40 + "Z" * 30)
    assert EstimatorV2(seed=1).run([(circuit, ones)], precision=0.1).result()[0].data.evs == 1
    with pytest.raises(MemoryError, match="precision 0 takes a density matrix of this circuit: give a precision above 0"):
        EstimatorV2(noise_model=noise).run([(circuit, ones)]).result()
    circuit.t(0)
    with pytest.raises(MemoryError, match="stabilizer engine, which needs no state, cannot run this circuit: the gate is not Clifford"):
        EstimatorV2().run([(circuit, ones)]).result()


def test_more_outcomes_than_can_be_walked_through_end():
    circuit = QuantumCircuit(1, 1)
    for _ in range(60):
        circuit.h(0)
        circuit.measure(0, 0)
        with circuit.if_test((0, 1)):
            circuit.s(0)
    with pytest.raises(ValueError, match="more than 65536 outcomes"):
        EstimatorV2().run([(circuit, "Z")]).result()


def test_backend_is_a_target_for_the_transpiler():
    backend = TilewaveBackend()
    circuit = QuantumCircuit(4)
    circuit.h(0)
    circuit.mcx([0, 1, 2], 3)
    circuit.measure_all()
    assert backend.run(transpile(circuit, backend), shots=10).result().success
    theta = Parameter("theta")
    circuit = QuantumCircuit(1)
    circuit.rx(theta, 0)
    circuit.measure_all()
    result = backend.run(circuit, parameter_binds=[{theta: [0, np.pi]}], shots=20).result()
    assert [result.get_counts(k) for k in range(2)] == [{"0": 20}, {"1": 20}]
    with pytest.raises(ValueError, match="unknown option noise"):
        backend.run(circuit, noise=1)


def dynamic_with_channels():
    from qiskit.circuit.classical import expr, types
    circuit = QuantumCircuit(3, 3)
    value = circuit.add_var("value", expr.lift(3, types.Uint(4)))
    circuit.store(value, expr.bit_xor(value, 1))
    circuit.h(0)
    circuit.measure(0, 0)
    with circuit.if_test((circuit.clbits[0], 1)) as otherwise:
        circuit.append(damping(), [0])
        circuit.pauli("XY", [1, 2])
    with otherwise:
        circuit.reset(1)
    with circuit.switch(value) as case:
        with case(2):
            circuit.ry(0.8, 2)
        with case(case.DEFAULT):
            circuit.x(2)
    with circuit.for_loop(range(3)):
        circuit.rx(0.3, 1)
        with circuit.if_test((circuit.clbits[0], 1)):
            circuit.break_loop()
    circuit.delay(10, 0)
    circuit.measure(range(3), range(3))
    return circuit


def damping():
    return Kraus([np.diag([1, 0.8]), [[0, 0.6], [0, 0]]])


def instructions_for_the_transpiler():
    """Those that backend.run takes, on up to 3 qubits."""
    from qiskit.circuit import AnnotatedOperation, ControlModifier
    part = QuantumCircuit(2, name="part")
    part.append(damping(), [0])
    part.h(1)
    yield from {"kraus": damping(), "kraus of two": damping().tensor(damping()), "superop": SuperOp(damping()), "choi": Choi(damping()),
                "channel in a definition": part.to_instruction(), "opaque kraus": Instruction("kraus", 1, 0, damping().data),
                "unitary": UnitaryGate(random_unitary(8, seed=1)), "diagonal": DiagonalGate([1, 1j, -1, -1j]),
                "pauli": PauliGate("XYZ"), "permutation": PermutationGate([2, 0, 1]), "initialize": Initialize([0.6, 0, 0, 0.8j]),
                "evolution": PauliEvolutionGate(SparsePauliOp(["XX", "ZZ"], [0.3, 0.5]), time=0.7),
                "mcphase": MCPhaseGate(0.3, 2), "clifford": random_clifford(3, seed=1),
                "annotated": AnnotatedOperation(UnitaryGate(random_unitary(2, seed=2)), ControlModifier(2))}.items()
    try:
        from qiskit_aer import noise
    except ImportError:
        return
    yield from {"error": noise.depolarizing_error(0.1, 1), "error of two": noise.depolarizing_error(0.2, 2).to_instruction(),
                "reset error": noise.reset_error(0.1, 0.2), "generators": noise.PauliLindbladError(["XI", "IZ"], [0.1, 0.2])}.items()


@pytest.mark.parametrize("level", range(4))
def test_what_the_backend_takes_stays_the_same_when_transpiled(level):
    backend = TilewaveBackend()
    paulis = [SparsePauliOp("".join(letters)) for letters in itertools.product("IXYZ", repeat=3)]
    for name, instruction in instructions_for_the_transpiler():
        circuit = QuantumCircuit(3)
        for q in range(3):
            circuit.ry(0.5 + q, q)
        circuit.cx(0, 1)
        instruction = instruction if hasattr(instruction, "num_clbits") else instruction.to_instruction()
        circuit.append(instruction, range(instruction.num_qubits))
        lowered = transpile(circuit, backend, optimization_level=level, seed_transpiler=1)
        # the transpiler may leave permutations of the qubits to its layout
        moved = [pauli.apply_layout(lowered.layout, lowered.num_qubits) for pauli in paulis]
        expected = EstimatorV2().run([(circuit, paulis)]).result()[0].data.evs
        np.testing.assert_allclose(EstimatorV2().run([(lowered, moved)]).result()[0].data.evs, expected, atol=1e-9, err_msg=name)
        circuit.measure_all()
        assert backend.run(transpile(circuit, backend, optimization_level=level), shots=3).result().success
    circuit = dynamic_with_channels()
    counts = [backend.run(c, shots=20000, seed_simulator=k).result().get_counts()
              for k, c in enumerate((circuit, transpile(circuit, backend, optimization_level=level)))]
    assert deviation(*counts) < 5


def test_what_is_not_supported_is_one_clear_error():
    circuit = QuantumCircuit(1)
    circuit.append(Instruction("mystery", 1, 0, []), [0])
    with pytest.raises(ValueError, match="instruction 'mystery' is not supported"):
        TilewaveBackend().run(circuit)
    pytest.importorskip("qiskit_aer", reason="Aer is not installed")
    circuit = QuantumCircuit(1)
    circuit.h(0)
    circuit.save_statevector()
    with pytest.raises(ValueError, match=r"instruction 'save_statevector' is an answer of Aer's.*tilewave.simulate\(circuit\) for the state"):
        TilewaveBackend().run(circuit)


# --- primitives

def test_primitives_with_many_values():
    theta = ParameterVector("t", 6)
    circuit = QuantumCircuit(4)
    for k in range(6):
        circuit.ry(theta[k], k % 4)
        circuit.cx(k % 4, (k + 1) % 4)
    values = np.random.default_rng(3).normal(size=(5, 4, 6))
    observables = [[SparsePauliOp(["ZZII", "XIXI"], [0.5, 2])], [SparsePauliOp("YYII")], [SparsePauliOp("IIIZ")],
                   [SparsePauliOp("IIIZ")], [SparsePauliOp("IIIZ")]]
    ours = EstimatorV2().run([(circuit, observables, values), (circuit, [SparsePauliOp("ZZII")], values)]).result()
    theirs = StatevectorEstimator().run([(circuit, observables, values), (circuit, [SparsePauliOp("ZZII")], values)]).result()
    for own, other in zip(ours, theirs):
        np.testing.assert_allclose(own.data.evs, other.data.evs, atol=1e-12)
    measured = QuantumCircuit(4, 3)
    measured.compose(circuit, inplace=True)
    measured.measure([3, 0], [2, 0])
    shots = 4000
    data = SamplerV2(seed=5).run([(measured, values)], shots=shots).result()[0].data.c
    again = SamplerV2(seed=5).run([(measured, values)], shots=shots).result()[0].data.c
    assert data.shape == (5, 4) and np.array_equal(data.array, again.array)
    for index in np.ndindex(5, 4):
        expected = Statevector(circuit.assign_parameters(values[index])).probabilities([0, 3])
        counts = data[index].get_int_counts()
        assert set(counts) <= {0, 1, 4, 5}
        found = np.array([counts.get(outcome, 0) for outcome in (0, 1, 4, 5)]) / shots
        assert np.all(np.abs(found - expected) < 5 * np.sqrt(expected * (1 - expected) / shots) + 1e-9)


def test_sampler_agrees_with_qiskits():
    theta = ParameterVector("t", 3)
    circuit = QuantumCircuit(3)
    circuit.add_register(ClassicalRegister(2, "alpha"), ClassicalRegister(1, "beta"))
    for k in range(3):
        circuit.ry(theta[k], k)
    circuit.cx(0, 1)
    circuit.cx(1, 2)
    circuit.measure([0, 2], circuit.cregs[0])
    circuit.measure(1, circuit.cregs[1])
    values = np.random.default_rng(3).uniform(0, 3, (4, 2, 3))
    pubs = [(circuit, values), (circuit, values[0, 0], 500)]
    ours = SamplerV2(seed=1).run(pubs, shots=4000).result()
    theirs = StatevectorSampler(seed=2).run(pubs, shots=4000).result()
    for mine, other in zip(ours, theirs):
        assert mine.data.shape == other.data.shape and mine.metadata == other.metadata
        assert set(mine.data) == set(other.data) == {"alpha", "beta"}
        for name in mine.data:
            x, y = mine.data[name], other.data[name]
            assert (x.shape, x.num_shots, x.num_bits, x.array.shape) == (y.shape, y.num_shots, y.num_bits,
                                                                        y.array.shape)
            for index in np.ndindex(*x.shape):
                assert agree(x.get_counts(index), y.get_counts(index))
        joint = mine.join_data(), other.join_data()
        for index in np.ndindex(*joint[0].shape):
            assert agree(joint[0].get_counts(index), joint[1].get_counts(index))
    assert ours[0].data.alpha.array.tobytes() == SamplerV2(seed=1).run(pubs, shots=4000).result()[
        0].data.alpha.array.tobytes()


def test_arrays_of_values_run_side_by_side(monkeypatch):
    refuse_single_runs(monkeypatch, primitives)
    theta = ParameterVector("t", 2)
    circuit = QuantumCircuit(2)
    circuit.ry(theta[0], 0)
    circuit.ry(2 * theta[1], 1)
    measured = circuit.copy()
    measured.measure_all()
    values = np.random.default_rng(5).uniform(0, 3, (3, 5, 2))
    means = EstimatorV2().run([(circuit, ["IZ", "ZI"], values[..., None, :])]).result()[0].data.evs
    expected = np.stack([np.cos(values[..., 0]), np.cos(2 * values[..., 1])], axis=-1)
    assert np.allclose(means, expected, atol=1e-12)
    bits = SamplerV2(seed=1).run([(measured, values)], shots=4000).result()[0].data.meas
    for k in range(2):
        assert np.all(abs(bits.slice_bits(k).expectation_values("Z") - expected[..., k]) < 6 / np.sqrt(4000))


@pytest.mark.parametrize("kind", [SamplerV2, EstimatorV2])
@pytest.mark.parametrize("seed", [7, "generator"])
def test_a_job_has_the_seed_that_it_was_submitted_with(kind, seed, monkeypatch):
    circuit = QuantumCircuit(3)
    circuit.h(range(3))
    if kind is SamplerV2:
        circuit.measure_all()
    pub = (circuit,) if kind is SamplerV2 else (circuit, ["XXX", "ZZZ"], None, 0.1)
    values = (lambda result: result[0].data.meas.array.tolist()) if kind is SamplerV2 else (
        lambda result: result[0].data.evs.tolist())

    def given():
        return np.random.default_rng(7) if seed == "generator" else seed

    wanted = values(kind(seed=given()).run([pub]).result())
    started, go = threading.Event(), threading.Event()
    own = kind._run

    def late(self, *arguments):  # the job runs when its primitive has another seed
        started.set()
        assert go.wait(30)
        return own(self, *arguments)

    monkeypatch.setattr(kind, "_run", late)
    primitive = kind(seed=given())
    job = primitive.run([pub])
    assert started.wait(30)
    generator = primitive.options.seed
    if seed == "generator":
        generator.integers(1 << 63, size=5)  # somebody else draws from it
    primitive.options.seed = 8
    go.set()
    assert values(job.result()) == wanted


def test_sampler_takes_dynamic_circuits_and_many_bits():
    circuit = QuantumCircuit(2, 20)
    circuit.h(0)
    circuit.measure(0, 17)
    with circuit.if_test((circuit.clbits[17], 1)):
        circuit.x(1)
    circuit.measure(1, 3)
    counts = SamplerV2(seed=1).run([circuit], shots=300).result()[0].data.c.get_counts()
    assert set(counts) == {"0" * 20, "00100000000000001000"}
    with pytest.warns(UserWarning, match="no classical registers"):
        SamplerV2().run([QuantumCircuit(1)]).result()


def test_estimator_agrees_with_qiskits():
    theta = ParameterVector("t", 4)
    circuit = QuantumCircuit(4)
    for k in range(4):
        circuit.ry(theta[k], k)
    for k in range(3):
        circuit.cx(k, k + 1)
        circuit.rx(theta[k], k + 1)
    rng = np.random.default_rng(4)
    operators = [SparsePauliOp(random_pauli_list(4, 5, seed=k, phase=False), rng.normal(size=5)) for k in range(3)]
    for observables, values in (
            (operators[0], rng.random(4)), (operators, rng.random((3, 4))),
            ([[op] for op in operators], rng.random((5, 4))), (Pauli("XYZI"), rng.random((2, 3, 4))),
            ({"ZZII": 0.5, "IIXX": 2.0}, rng.random((1, 4))), ("IZYX", rng.random(4))):
        pub = (circuit, observables, values)
        ours, theirs = EstimatorV2().run([pub]).result()[0], StatevectorEstimator().run([pub]).result()[0]
        assert ours.data.evs.shape == theirs.data.evs.shape
        np.testing.assert_allclose(ours.data.evs, theirs.data.evs, atol=1e-10)
        np.testing.assert_array_equal(ours.data.stds, theirs.data.stds)
        assert ours.metadata == theirs.metadata
    if hasattr(theta[0], "sign"):  # a function that Qiskit does not differentiate
        signed = QuantumCircuit(1)
        signed.rx(theta[0].sign(), 0)
        evs = EstimatorV2().run([(signed, "Z", [[-2.0], [0.0], [0.5], [3.0]])]).result()[0].data.evs
        np.testing.assert_allclose(evs, np.cos([-1, 0, 1, 1]), atol=1e-12)
    noisy = EstimatorV2(seed=1).run([(circuit, [operators[0]] * 400, rng.random(4))], precision=0.1).result()[0]
    assert 0.08 < np.std(noisy.data.evs) < 0.12
    again = EstimatorV2(seed=1).run([(circuit, operators[0], np.ones(4))], precision=0.1).result()[0].data.evs
    assert again == EstimatorV2(seed=1).run([(circuit, operators[0], np.ones(4))], precision=0.1).result()[0].data.evs


def test_estimator_of_projectors_and_dynamic_circuits():
    bell = QuantumCircuit(2)
    bell.h(0)
    bell.cx(0, 1)
    values = EstimatorV2().run([(bell, ["00", "01", "++", "+-", "rl", "1Z"])]).result()[0].data.evs
    np.testing.assert_allclose(values, [0.5, 0, 0.5, 0, 0.5, -0.5], atol=1e-12)
    circuit = QuantumCircuit(2, 1)
    circuit.h(0)
    circuit.measure(0, 0)
    with circuit.if_test((circuit.clbits[0], 1)):
        circuit.x(1)
    exact = EstimatorV2().run([(circuit, ["ZZ", "ZI", "IX"])]).result()[0].data
    np.testing.assert_allclose(exact.evs, [1, 0, 0], atol=1e-12)
    assert not exact.stds.any()
    result = EstimatorV2(seed=1).run([(circuit, ["ZZ", "ZI"])], precision=0.05).result()[0].data
    assert result.evs[0] == pytest.approx(1) and abs(result.evs[1]) < 0.3
