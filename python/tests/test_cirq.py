"""Cirq's circuits on Tilewave against Cirq's own simulators."""
import numpy as np
import pytest

cirq = pytest.importorskip("cirq", reason="cirq-core is not installed")
import sympy  # noqa: E402

import tilewave as tw  # noqa: E402
from cores import functions_on_the_cpu, refuse_single_runs  # noqa: E402
from tilewave.cirq import TilewaveOptions, TilewaveSimulator, from_cirq, simulator  # noqa: E402

A, B, C, D = cirq.LineQubit.range(4)
ORDER = [B, D, A, C]
T, P = sympy.symbols("t p")


def double(**options):
    return TilewaveSimulator(dtype=np.complex128, **options)


def theirs(circuit, resolver=None, order=ORDER, initial=None):
    simulator = cirq.Simulator(dtype=np.complex128, split_untangled_states=False)
    return simulator.simulate(circuit, resolver, qubit_order=order, initial_state=initial).final_state_vector


def gates(t, p, s):
    return [
        cirq.XPowGate(exponent=t, global_shift=s), cirq.YPowGate(exponent=t, global_shift=s),
        cirq.ZPowGate(exponent=t, global_shift=s), cirq.HPowGate(exponent=t, global_shift=s),
        cirq.CXPowGate(exponent=t, global_shift=s), cirq.CZPowGate(exponent=t, global_shift=s),
        cirq.CCXPowGate(exponent=t, global_shift=s), cirq.CCZPowGate(exponent=t, global_shift=s),
        cirq.SwapPowGate(exponent=t, global_shift=s), cirq.ISwapPowGate(exponent=t, global_shift=s),
        cirq.XXPowGate(exponent=t, global_shift=s), cirq.YYPowGate(exponent=t, global_shift=s),
        cirq.ZZPowGate(exponent=t, global_shift=s), cirq.PhasedXPowGate(phase_exponent=p, exponent=t, global_shift=s),
        cirq.PhasedXZGate(x_exponent=t, z_exponent=p, axis_phase_exponent=p * 2),
        cirq.PhasedISwapPowGate(phase_exponent=p, exponent=t), cirq.FSimGate(t, p),
        cirq.PhasedFSimGate(t, p, 2 * p, t - p, 3 * t),
        cirq.CSwapGate(), cirq.rx(t), cirq.ry(t), cirq.rz(t), cirq.givens(t), cirq.ms(t), cirq.cphase(t), cirq.riswap(t),
        cirq.QuantumFourierTransformGate(3), cirq.TwoQubitDiagonalGate([.1, .2, .3, .4]),
        cirq.ThreeQubitDiagonalGate(range(8)),
        cirq.DiagonalGate(list(range(8))), cirq.IdentityGate(2), cirq.WaitGate(cirq.Duration(nanos=3))]


@pytest.mark.parametrize("t, p, shift", [(.3, .7, 0), (1, .25, 0), (1, .3, .7), (-.5, 0, -.5), (2.7, -1.3, .3), (.25, 1, 0),
                                         (-1, .5, 0), (0, 0, .2), (.5, .5, 0)])
def test_every_gate_under_controls_with_numbers_and_symbols(t, p, shift):
    before = cirq.Circuit((cirq.ry(.3 + .2 * k)(q), cirq.rz(.5 - .4 * k)(q)) for k, q in enumerate((A, B, C, D)))
    for symbolic in (False, True):
        for gate in gates(T if symbolic else t, P if symbolic else p, shift):
            op = gate.on(*[C, A, D][:cirq.num_qubits(gate)])
            for variant in (op, op.controlled_by(B), op.controlled_by(B, control_values=[0]), op.with_tags("x")):
                circuit, resolver = before + cirq.Circuit(variant), {"t": t, "p": p}
                found = double().simulate(circuit, resolver, qubit_order=ORDER).final_state_vector
                assert np.allclose(found, theirs(circuit, resolver), atol=1e-12), variant


def test_random_circuits():
    for seed in range(60):
        circuit = cirq.testing.random_circuit(5, 20, 0.8, random_state=seed)
        order = sorted(circuit.all_qubits())
        initial = cirq.testing.random_superposition(2 ** len(order), random_state=seed) if seed % 3 else seed % 2
        expected = theirs(circuit, order=order, initial=initial)
        assert np.allclose(double().simulate(circuit, initial_state=initial).final_state_vector, expected, atol=1e-12), seed
        single = TilewaveSimulator().simulate(circuit, initial_state=initial)
        assert single.final_state_vector.dtype == np.complex64 and np.allclose(single.final_state_vector, expected, atol=1e-5)


def test_operations_of_other_kinds():
    matrix = cirq.testing.random_unitary(8, random_state=1)
    big = cirq.testing.random_unitary(32, random_state=2)

    class Twice(cirq.Gate):
        def _num_qubits_(self):
            return 4

        def _decompose_(self, qubits):
            yield cirq.CNOT(qubits[0], qubits[3])
            yield cirq.T(qubits[1]) ** 0.3
            yield cirq.ISWAP(qubits[2], qubits[0])

    values = cirq.SumOfProducts([(0, 1), (1, 0)])
    e = cirq.LineQubit(4)
    inner = cirq.FrozenCircuit(cirq.H(A), cirq.CNOT(A, B) ** 0.3)
    circuit = cirq.Circuit(
        cirq.H.on_each(A, B, C, D, e), cirq.MatrixGate(matrix).on(D, A, C), Twice().on(A, B, C, D),
        cirq.X(A).controlled_by(B, C, control_values=values),
        cirq.MatrixGate(matrix).on(A, B, D).controlled_by(C, control_values=[0]),
        cirq.ControlledGate(cirq.Y ** 0.4, 2, control_values=[(0, 1), 1]).on(B, C, D), cirq.MatrixGate(big).on(D, e, B, A, C),
        cirq.CircuitOperation(inner, repetitions=3, qubit_map={A: C}), cirq.X(A) * cirq.Y(C) * cirq.Z(e),
        cirq.global_phase_operation(1j),
        cirq.PauliStringPhasor(cirq.X(A) * cirq.Z(D), exponent_neg=0.3), np.exp(0.2j * cirq.X(B) * cirq.Y(A)),
        cirq.DensePauliString("XYZ").on(A, C, D),
        cirq.ops.BooleanHamiltonianGate(["x0", "x1"], ["x0 ^ x1"], 0.3).on(A, B))
    order = [A, B, C, D, e]
    found = double().simulate(circuit, qubit_order=order).final_state_vector
    assert np.allclose(found, theirs(circuit, order=order), atol=1e-11)


def test_gates_that_act_on_vectors_in_place():
    class Exchange(cirq.testing.SingleQubitGate):
        def _has_unitary_(self):
            return True

        def _apply_unitary_(self, args):
            args.target_tensor[0], args.target_tensor[1] = args.target_tensor[1], args.target_tensor[0]
            return args.target_tensor
    state = np.array([0.6, 0.8j], np.complex64)
    found = TilewaveSimulator().simulate(cirq.Circuit(Exchange()(A)), initial_state=state).final_state_vector
    assert np.allclose(found, [0.8j, 0.6]) and np.allclose(state, [0.6, 0.8j])


def test_sweeps_are_converted_once(monkeypatch):
    from tilewave.cirq import converted as module
    count = [0]
    original = module.Converter

    def counted(*arguments):
        count[0] += 1
        return original(*arguments)
    monkeypatch.setattr(module, "Converter", counted)
    circuit = cirq.Circuit(cirq.X(A) ** T, cirq.CZ(A, B) ** (2 * T + P), cirq.rx(P)(B),
                           cirq.PhasedXPowGate(phase_exponent=P * T)(A))
    sweep = cirq.Product(cirq.Linspace("t", -1, 1, 5), cirq.Points("p", [0, 0.3, 1]))
    results = double().simulate_sweep(circuit, sweep)
    assert count[0] == 1 and len(results) == 15
    for result, resolver in zip(results, sweep):
        assert result.params == resolver
        assert np.allclose(result.final_state_vector, theirs(circuit, resolver, [A, B]), atol=1e-12)
    observables = [cirq.Z(A) + 0.3 * cirq.X(B) * cirq.Y(A), cirq.PauliSum() + 2.5]
    for values, expected in zip(double().simulate_expectation_values_sweep(circuit, observables, sweep),
                                cirq.Simulator(dtype=np.complex128).simulate_expectation_values_sweep(
                                    circuit, observables, sweep)):
        assert np.allclose(values, expected, atol=1e-12)
    measured = circuit + cirq.Circuit(cirq.measure(A, B, key="m"))
    count[0] = 0
    assert len(TilewaveSimulator(seed=1).run_sweep(measured, sweep, repetitions=3)) == 15 and count[0] == 1
    kept = TilewaveSimulator(circuit_memoization_size=2)
    count[0] = 0
    for _ in range(3):
        kept.simulate(circuit, {"t": 0.1, "p": 0.2})
    assert count[0] == 1
    circuit.append(cirq.H(B))  # is another circuit then
    kept.simulate(circuit, {"t": 0.1, "p": 0.2})
    assert count[0] == 2


def test_sweeps_run_side_by_side(monkeypatch):
    gates_only = cirq.Circuit(cirq.X(A) ** T, cirq.CZ(A, B) ** (2 * T + P), cirq.rx(P)(B), cirq.ry(0.5 * T)(C), cirq.CX(B, C))
    rng = np.random.default_rng(4)
    values = rng.uniform(-1, 1, (300, 2))  # more than run at a time
    resolvers = [cirq.ParamResolver({"t": t, "p": p}) for t, p in values.tolist()]
    order, start = [C, A, B], rng.normal(size=8) + 1j * rng.normal(size=8)
    start /= np.linalg.norm(start)
    observables = [cirq.Z(A) + 0.3 * cirq.X(B) * cirq.Y(C)]
    checked = (0, 1, 255, 256, 299)
    expected = {k: theirs(gates_only, resolvers[k], order, start) for k in checked}
    means = {k: cirq.Simulator(dtype=np.complex128).simulate_expectation_values(
        gates_only, observables, resolvers[k], qubit_order=order, initial_state=start) for k in checked}
    alone = {k: double().simulate(gates_only, resolvers[k], qubit_order=order).final_state_vector for k in checked}
    refuse_single_runs(monkeypatch, simulator)
    states = double().simulate_sweep(gates_only, resolvers, qubit_order=order, initial_state=start)
    amplitudes = double().compute_amplitudes_sweep(gates_only, [3, 6], resolvers, qubit_order=order)
    found = double().simulate_expectation_values_sweep(gates_only, observables, resolvers, order, start)
    assert len(states) == len(amplitudes) == len(found) == 300
    for k in checked:
        assert np.allclose(states[k].final_state_vector, expected[k], atol=1e-12) and states[k].params == resolvers[k]
        assert np.allclose(amplitudes[k], alone[k][[3, 6]], atol=1e-12)
        assert np.allclose(found[k], means[k], atol=1e-12)
    single = TilewaveSimulator().simulate_sweep(gates_only, resolvers[:4], qubit_order=order)
    assert single[0].final_state_vector.dtype == np.complex64
    measured = gates_only + cirq.Circuit(cirq.measure(B, key="b"), cirq.measure(C, A, key="ca", invert_mask=(False, True)))
    results = TilewaveSimulator(seed=2).run_sweep(measured, resolvers, repetitions=4000)
    for k in checked:
        probabilities = np.abs(alone[k].reshape(2, 2, 2))**2  # [C, A, B]
        b, ca = results[k].records["b"][:, 0, 0], results[k].records["ca"][:, 0]
        assert results[k].params == resolvers[k] and ca.shape == (4000, 2)
        for outcome in np.ndindex(2, 2, 2):
            seen = np.mean((ca[:, 0] == outcome[0]) & (ca[:, 1] == 1 - outcome[1]) & (b == outcome[2]))
            assert abs(seen - probabilities[outcome]) < 6 * np.sqrt(probabilities[outcome] / 4000) + 1e-3
    again = TilewaveSimulator(seed=2).run_sweep(measured, resolvers, repetitions=4000)
    assert all(np.array_equal(a.records["ca"], b.records["ca"]) for a, b in zip(results, again))
    assert not np.array_equal(results[0].records["ca"], results[1].records["ca"])


def test_sweeps_are_asked_of_the_gpu(monkeypatch):
    asked = functions_on_the_cpu(monkeypatch)
    refuse_single_runs(monkeypatch, simulator)
    circuit, resolvers = cirq.Circuit(cirq.X(A) ** T), [{"t": t} for t in (0.0, 1.0, 0.0)]
    gpu = double(device="cuda:1")
    assert [abs(r.final_state_vector[1]).round(12) for r in gpu.simulate_sweep(circuit, resolvers)] == [0, 1, 0]
    assert np.allclose(gpu.simulate_expectation_values_sweep(circuit, cirq.Z(A), resolvers), [[1], [-1], [1]])
    measured = circuit + cirq.Circuit(cirq.measure(A, key="a"))
    assert [r.records["a"].all() for r in gpu.run_sweep(measured, resolvers, repetitions=5)] == [False, True, False]
    assert asked == ["cuda:1"] * 3


@pytest.mark.parametrize("sets", [1, 3])
@pytest.mark.parametrize("index", [-1, 4])
def test_amplitudes_that_there_are_not(sets, index):
    circuit = cirq.Circuit(cirq.X(A) ** T, cirq.CX(A, B))
    with pytest.raises(ValueError, match=f"amplitude {index} does not exist: a state of 2 qubits has indices 0 to 3"):
        TilewaveSimulator().compute_amplitudes_sweep(circuit, [0, index], [{"t": 0.5}] * sets)


def test_sweeps_of_measurements_in_the_middle_agree_with_single_runs():
    circuit = cirq.Circuit(cirq.ry(np.pi * T)(A), cirq.measure(A, key="a"), cirq.CX(A, B), cirq.measure(B, key="b"))
    resolvers = [{"t": t} for t in (0, 1, 1, 0)]
    for result, want in zip(TilewaveSimulator(seed=2).run_sweep(circuit, resolvers, repetitions=20), (0, 1, 1, 0)):
        assert np.all(result.records["a"] == want) and np.all(result.records["b"] == want)
    integers = [cirq.ParamResolver({T: 1}), cirq.ParamResolver({"t": P, "p": 0}), cirq.ParamResolver({"t": 1.0})]
    plain = cirq.Circuit(cirq.X(A) ** T, cirq.measure(A, key="a"))
    for result, want in zip(TilewaveSimulator(seed=2).run_sweep(plain, integers, repetitions=20), (1, 0, 1)):
        assert np.all(result.records["a"] == want)
    with pytest.raises(ValueError, match="symbols were not specified.*t"):
        TilewaveSimulator().run_sweep(plain, [{"p": 1.0}, {"p": 2.0}, {"p": 3.0}])


def test_symbols_where_values_decide_the_structure():
    circuit = cirq.Circuit(cirq.global_phase_operation(sympy.exp(sympy.I * T)), cirq.H(A),
                           cirq.CircuitOperation(cirq.FrozenCircuit(cirq.X(A) ** 0.2), repetitions=P, use_repetition_ids=False))
    for values in ({"t": 0.4, "p": 2}, {"t": 1.0, "p": 3}):
        assert np.allclose(double().simulate(circuit, values).final_state_vector, theirs(circuit, values, [A]), atol=1e-12)


# --- measurements

def test_samples_of_repeated_inverted_and_confused_keys():
    matrix = np.array([[0.9, 0.1], [0.3, 0.7]])
    circuit = cirq.Circuit(cirq.X(A), cirq.measure(A, B, key="k"), cirq.X(B),
                           cirq.measure(B, A, key="k", invert_mask=(False, True)),
                           cirq.measure(A, key="c", confusion_map={(0,): matrix}))
    result = TilewaveSimulator(seed=3).run(circuit, repetitions=5000)
    assert result.records["k"].shape == (5000, 2, 2)
    assert np.all(result.records["k"][:, 0] == [1, 0]) and np.all(result.records["k"][:, 1] == [1, 0])
    assert abs(result.records["c"].mean() - 0.7) < 0.03


def test_classical_controls_and_resets_agree_with_cirq():
    circuit = cirq.Circuit(
        cirq.ry(1.0)(A), cirq.measure(A, key="a", invert_mask=(True,)), cirq.X(B).with_classical_controls("a"), cirq.ry(0.7)(C),
        cirq.measure(B, C, key="bc"), cirq.reset(A), cirq.Y(A).with_classical_controls("bc"),
        cirq.X(D).with_classical_controls(sympy.Symbol("bc") > 1), cirq.H(B).with_classical_controls("a", "bc"),
        cirq.CZ(A, B).with_classical_controls("a"), cirq.measure(A, B, C, D, key="end"))
    ours = TilewaveSimulator(seed=1).run(circuit, repetitions=20000).histogram(key="end")
    expected = cirq.Simulator(seed=2).run(circuit, repetitions=2000).histogram(key="end")  # each costs it a millisecond
    for outcome in set(ours) | set(expected):
        a, b = ours[outcome] / 10, expected[outcome]
        assert abs(a - b) < 6 * np.sqrt(a + b) + 1, outcome


M = sympy.Symbol("m")


@pytest.mark.parametrize("condition, acts", [
    (sympy.Eq(M, M), 1), (sympy.true, 1), (sympy.Or(M < 1, M >= 1), 1), (M < 2, 1), (sympy.Eq(M, 0), 1),
    (sympy.false, 0), (sympy.Ne(M, M), 0), (sympy.And(M > 3, M < 1), 0), (M > 1, 0)], ids=str)
def test_conditions_that_always_or_never_hold(condition, acts):
    circuit = cirq.Circuit(cirq.I(A), cirq.measure(A, key="m"), cirq.X(B).with_classical_controls(condition),
                           cirq.X(C).with_classical_controls(condition, sympy.Eq(M, 0)), cirq.measure(B, C, key="end"))
    for simulator in (cirq.Simulator(), TilewaveSimulator()):
        assert simulator.run(circuit, repetitions=3).records["end"].tolist() == [[[acts, acts]]] * 3
        assert list(simulator.simulate(circuit).measurements["end"]) == [acts, acts]
        assert list(list(simulator.simulate_moment_steps(circuit))[-1].measurements["end"]) == [acts, acts]
    assert tw.sample(from_cirq(circuit), 3) == {f"{acts}{acts}0": 3}
    # without a measurement that the condition could read, and beside symbols, one by one and side by side
    if not condition.free_symbols:
        free = cirq.Circuit(cirq.X(B).with_classical_controls(condition), cirq.rx(T)(A), cirq.measure(A, B, key="end"))
        for count in (1, 4):
            for found in TilewaveSimulator().run_sweep(free, [{"t": np.pi}] * count, 2):
                assert found.records["end"].tolist() == [[[1, acts]]] * 2
            for found in double().simulate_sweep(free[:-1], [{"t": np.pi}] * count):
                assert np.allclose(found.final_state_vector, -1j * np.eye(4)[2 + acts], atol=1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_named(value):
    circuit = cirq.Circuit(cirq.rx(2 * sympy.Symbol("alpha"))(A), cirq.ry(sympy.Symbol("beta"))(A), cirq.measure(A, key="m"))
    for count in (1, 2, 3, 5):
        resolvers = [{"alpha": 0.1, "beta": 0.2}] * (count - 1) + [{"alpha": value, "beta": 0.2}]
        for ask in (lambda: TilewaveSimulator().run_sweep(circuit, resolvers, 5),
                    lambda: TilewaveSimulator().simulate_sweep(circuit[:-1], resolvers),
                    lambda: TilewaveSimulator().simulate_expectation_values_sweep(circuit[:-1], [cirq.Z(A)], resolvers)):
            with pytest.raises(ValueError, match=f"^the parameter .*alpha.* is {value}: give finite numbers$"):
                ask()


def test_simulate_gives_measurements_and_the_state_that_belongs_to_them():
    simulator = double(seed=5)
    circuit = cirq.Circuit(cirq.H(A), cirq.CNOT(A, B), cirq.ry(0.8)(C), cirq.measure(A, key="a"), cirq.H(C),
                           cirq.X(C).with_classical_controls("a"), cirq.reset(A))
    seen = set()
    for _ in range(30):
        result = simulator.simulate(circuit)
        a = int(result.measurements["a"][0])
        seen.add(a)
        c = cirq.unitary(cirq.H) @ [np.cos(0.4), np.sin(0.4)]
        expected = np.zeros((2, 2, 2), complex)
        expected[0, a] = c[::-1] if a else c
        assert np.allclose(result.final_state_vector, expected.reshape(-1), atol=1e-12)
    assert seen == {0, 1}


def test_moments_one_by_one():
    circuit = cirq.Circuit(cirq.H(A), cirq.CNOT(A, B), cirq.measure(A, key="a"), cirq.H(A))
    steps = list(double(seed=1).simulate_moment_steps(circuit))
    assert len(steps) == 4 and "a" not in steps[1].measurements
    assert np.allclose(steps[0].state_vector(), [np.sqrt(.5), 0, np.sqrt(.5), 0])
    a = int(steps[2].measurements["a"][0])
    assert np.allclose(steps[2].state_vector(), np.eye(4)[3 * a])
    assert steps[3].sample([B], repetitions=20).tolist() == [[bool(a)]] * 20
    asked = {0: cirq.X(A), 1: [cirq.Z(A), cirq.Z(A) * cirq.Z(B)]}
    values = double().simulate_moment_expectation_values(circuit[:2], asked, {})
    assert np.allclose(values[0], [1]) and np.allclose(values[1], [0, 1])
    assert np.allclose(double().simulate_moment_expectation_values(circuit[:2], cirq.Z(B), None), [[1], [0]])


# --- noise

def test_noise_agrees_with_density_matrices():
    circuit = cirq.Circuit(cirq.ry(0.9)(A), cirq.amplitude_damp(0.3)(A), cirq.CNOT(A, B),
                           cirq.depolarize(0.1, n_qubits=2)(A, B),
                           cirq.phase_damp(0.2)(B), cirq.rx(0.4)(B), cirq.generalized_amplitude_damp(0.4, 0.2)(B))
    observables = [cirq.Z(A), cirq.X(A) * cirq.X(B), cirq.Z(B) - 0.5 * cirq.Y(A) * cirq.Z(B)]
    rho = cirq.DensityMatrixSimulator(dtype=np.complex128).simulate(circuit).final_density_matrix
    qubits = {A: 0, B: 1}
    expected = [cirq.PauliSum.wrap(o).expectation_from_density_matrix(rho, qubits) for o in observables]
    assert np.allclose(double().simulate_expectation_values(circuit, observables), expected, atol=1e-10)  # exactly
    drawn = double(options={"r": 20000}, seed=1).simulate_expectation_values(circuit, observables)
    assert np.allclose(drawn, expected, atol=0.04) and not np.allclose(drawn, expected, atol=1e-6)
    simulator, mean = double(seed=2), np.zeros((4, 4), complex)
    for _ in range(1500):  # states of trajectories
        state = simulator.simulate(circuit).final_state_vector
        mean += np.outer(state, state.conj()) / 1500
    assert np.allclose(mean, rho, atol=0.06)
    measured = circuit + cirq.Circuit(cirq.measure(A, B, key="m"))
    counts = TilewaveSimulator(seed=3).run(measured, repetitions=40000).histogram(key="m")
    assert np.allclose([counts[k] / 40000 for k in range(4)], rho.diagonal().real, atol=0.015)


def test_noise_models():
    circuit = cirq.Circuit(cirq.H(A), cirq.CNOT(A, B))
    noisy = TilewaveSimulator(noise=cirq.depolarize(0.05), dtype=np.complex128)
    expected = cirq.DensityMatrixSimulator(noise=cirq.ConstantQubitNoiseModel(cirq.depolarize(0.05)), dtype=np.complex128)
    rho = expected.simulate(circuit).final_density_matrix
    value = cirq.PauliSum.wrap(cirq.Z(A) * cirq.Z(B)).expectation_from_density_matrix(rho, {A: 0, B: 1})
    assert np.isclose(noisy.simulate_expectation_values(circuit, cirq.Z(A) * cirq.Z(B))[0], value, atol=1e-10)


# --- the rest of the interfaces

def test_amplitudes_and_arrays():
    circuit = cirq.Circuit(cirq.X(A), cirq.H(A), cirq.H(B))
    assert np.allclose(double().compute_amplitudes(circuit, [1, 2, 3]), [.5, -.5, -.5])
    assert np.allclose(double().compute_amplitudes(circuit, (1, 2, 3), qubit_order=(B, A)), [-.5, .5, -.5])
    sampled = TilewaveSimulator(seed=1).sample_from_amplitudes(circuit, {}, np.random.RandomState(1), repetitions=200)
    assert set(sampled) == {0, 1, 2, 3}
    resolver, amplitudes, order = TilewaveSimulator().simulate_into_1d_array(circuit, qubit_order=[C, B, A])
    assert amplitudes.shape == (8,) and amplitudes.dtype == np.complex64 and tuple(order) == (C, B, A)
    assert np.allclose(amplitudes, [.5, -.5, .5, -.5, 0, 0, 0, 0])
    assert np.allclose(double().simulate(cirq.Circuit(cirq.global_phase_operation(1j))).final_state_vector, [1j])
    kept = from_cirq(circuit + cirq.Circuit(cirq.measure(A, key="m")), [B, A])
    assert isinstance(kept, tw.Circuit) and np.allclose(tw.simulate(from_cirq(circuit, [B, A])), [.5, -.5, .5, -.5])


def test_options_and_seeds():
    assert TilewaveSimulator({"t": 2, "f": 4, "v": 0}).options["t"] == 2
    assert TilewaveSimulator(qsim_options=TilewaveOptions(cpu_threads=3, ev_noisy_repetitions=7)).qsim_options["r"] == 7
    circuit = cirq.Circuit(cirq.H(A), cirq.measure(A, key="m"))
    first, again = TilewaveSimulator(seed=9), TilewaveSimulator(seed=9)
    a, b = first.run(circuit, repetitions=50), again.run(circuit, repetitions=50)
    assert a == b and first.run(circuit, repetitions=50) != a


def test_expectation_values_of_circuits_that_reset():
    circuit = cirq.Circuit(cirq.H(A), cirq.CNOT(A, B), cirq.ry(0.3)(B), cirq.reset(A), cirq.rx(0.4)(A), cirq.ry(T)(B))
    observables = [cirq.Z(A), cirq.X(B), cirq.Z(A) * cirq.Z(B)]
    damped = circuit[:2] + cirq.Circuit(cirq.amplitude_damp(0.2)(B)) + circuit[2:]
    for asked in (circuit, damped):
        for initial in (0, 2):
            found = double().simulate_expectation_values_sweep(asked, observables, [{"t": 0.2}, {"t": 1.1}], initial_state=initial)
            for t, values in zip((0.2, 1.1), found):
                rho = cirq.DensityMatrixSimulator(dtype=np.complex128).simulate(asked, {"t": t}, initial_state=initial)
                expected = [cirq.PauliSum.wrap(o).expectation_from_density_matrix(rho.final_density_matrix, {A: 0, B: 1})
                            for o in observables]
                np.testing.assert_allclose(values, np.real(expected), atol=1e-10)


def test_errors():
    plain = cirq.Circuit(cirq.X(A))
    qutrit = cirq.LineQid(0, 3)
    for wrong, message in [
            (lambda: TilewaveSimulator({"c": 1}), "reserved"),
            (lambda: TilewaveSimulator({"speed": 1}), "unknown option 'speed'"),
            (lambda: TilewaveSimulator({"r": -3}), "ev_noisy_repetitions=-3"),
            (lambda: TilewaveSimulator(dtype=np.int32), "complex"),
            (lambda: TilewaveSimulator().run(plain), "no measurements"),
            (lambda: TilewaveSimulator().run(plain + cirq.measure(A), repetitions=-1), "-1 shots cannot be taken: ask for 0 or more"),
            (lambda: TilewaveSimulator().run(plain + cirq.measure(A), repetitions=10**12), "at most 100000000 shots in one run"),
            (lambda: TilewaveSimulator().simulate_moment_expectation_values(plain, {5: cirq.Z(A)}, None), "moment 5: the circuit has"),
            (lambda: TilewaveSimulator().simulate(cirq.Circuit(cirq.X(A) ** T)), "symbols were not specified.*t"),
            (lambda: TilewaveSimulator().simulate(plain, qubit_order=[B]), "qubits"),
            (lambda: TilewaveSimulator().simulate(cirq.Circuit(cirq.XPowGate(dimension=3)(qutrit))), "3 levels"),
            (lambda: TilewaveSimulator().simulate(plain, initial_state=np.zeros(2, complex)), "norm 0"),
            (lambda: TilewaveSimulator().simulate(plain, initial_state=np.ones(4, complex)), "must match number of qubits"),
            (lambda: TilewaveSimulator().simulate_expectation_values(plain + cirq.measure(A), cirq.Z(A)),
             "terminal measurements"),
            (lambda: TilewaveSimulator().simulate_expectation_values(plain, cirq.Z(B)), "none of the circuit's qubits"),
            (lambda: TilewaveSimulator().simulate(cirq.Circuit(cirq.X(A).with_classical_controls("z"))), "missing"),
            (lambda: from_cirq(cirq.Circuit(cirq.X(A) ** T)), "symbols t have no value"),
            (lambda: TilewaveSimulator().run(cirq.Circuit(cirq.measure(A, key="k"), cirq.measure(A, B, key="k"))),
             "different numbers")]:
        with pytest.raises(ValueError, match=message):
            wrong()
    for repetitions in (float("nan"), 2.5, "3", True):
        with pytest.raises(TypeError, match=f"^repetitions is {repetitions!r} .*: give a whole number"):
            TilewaveSimulator().run(plain + cirq.measure(A), repetitions=repetitions)
    nothing = cirq.Circuit(cirq.global_phase_operation(1j))
    for simulator in (double(), cirq.Simulator(dtype=np.complex128)):
        assert np.allclose(simulator.simulate(nothing).final_state_vector, [1j])
        assert np.allclose(simulator.simulate_expectation_values(nothing, cirq.PauliString(coefficient=2)), [2])
    if not tw.built_with_cuda():
        with pytest.raises(ValueError, match="GPU execution requested"):
            TilewaveSimulator(TilewaveOptions(use_gpu=True))

    class Strange(cirq.Operation):
        qubits = (A,)

        def with_qubits(self, *qubits):
            return self
    with pytest.raises(TypeError, match="neither a unitary"):
        TilewaveSimulator().simulate(cirq.Circuit(Strange()))


def test_records_have_the_type_of_cirqs():
    a, b = cirq.LineQubit.range(2)
    circuit = cirq.Circuit(cirq.X(a), cirq.measure(a, b, key="m", invert_mask=(False, True)))
    for repetitions in (1, 5):
        ours, theirs = (simulator.run(circuit, repetitions=repetitions) for simulator in (TilewaveSimulator(), cirq.Simulator()))
        assert ours.measurements["m"].dtype == theirs.measurements["m"].dtype
        assert (1 - 2 * ours.measurements["m"] == [-1, -1]).all()
    swept = TilewaveSimulator().run_sweep(circuit, [{}] * 4, 3)
    assert all((1 - 2 * result.measurements["m"] == -1).all() for result in swept)


def test_expectation_values_of_clifford_circuits_that_no_memory_holds():
    grid = cirq.GridQubit.rect(7, 10)
    circuit = cirq.Circuit(cirq.H(grid[0]), [cirq.CNOT(grid[0], qubit) for qubit in grid[1:]])
    observables = [cirq.Z(grid[0]) * cirq.Z(grid[69]) - 0.5, cirq.X(grid[0]), cirq.PauliString({qubit: cirq.X for qubit in grid})]
    assert np.allclose(TilewaveSimulator().simulate_expectation_values(circuit, observables), [0.5, 0, 1], atol=1e-12)
