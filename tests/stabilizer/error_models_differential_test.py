"""Error models against those of the `stim` package: the same errors with the same probabilities, and where the split and
the folding are those of Stim, the same text.

Usage: error_models_differential_test.py PATH/TO/tilewave FOLDER_FOR_THE_ENVIRONMENT
"""
import itertools
import random
import re
import subprocess
import sys

from stim_python import need_stim

need_stim(sys.argv[2])
import stim

from stim_comparison import ONE, PROGRAM, SEED, TWO, run, run_tests


def models(a):
    out = {}
    for i in a.flattened():
        if i.type == "error":
            key = frozenset()
            for t in i.targets_copy():
                if not t.is_separator():
                    key ^= {str(t)}
            p, q = i.args_copy()[0], out.get(key, 0)
            out[key] = p * (1 - q) + q * (1 - p)
    out.pop(frozenset(), None)
    return out


def test_error_models():
    noise = dict(after_clifford_depolarization=0.001, before_round_data_depolarization=0.002,
                 before_measure_flip_probability=0.003, after_reset_flip_probability=0.004)
    for code in ["surface_code:rotated_memory_x", "surface_code:unrotated_memory_z", "repetition_code:memory",
                 "color_code:memory_xyz"]:
        c = stim.Circuit.generated(code, distance=5, rounds=11, **noise)
        want = c.detector_error_model()
        for flags in [], ["--fold_loops"], ["--decompose_errors"], ["--decompose_errors", "--fold_loops"]:
            if "color" in code and "--decompose_errors" in flags:
                continue
            got = stim.DetectorErrorModel(run(["analyze_errors"] + flags, str(c)).decode())
            a, b = models(want), models(got)
            assert a.keys() == b.keys() and all(abs(a[k] - b[k]) < 1e-12 for k in a), (code, flags)
            assert want.get_detector_coordinates() == got.get_detector_coordinates(), (code, flags)


def random_noisy_circuit(rng, n):
    """Every kind of noise, measurement and annotation; records are looked back at as far as there are some."""
    lines, records = [], 0

    def body(count):
        nonlocal records
        for _ in range(count):
            r = rng.random()
            a, b = rng.sample(range(n), 2)
            heralds = {"HERALDED_ERASE(0.1)": 1, "HERALDED_PAULI_CHANNEL_1(0.1, 0.05, 0.02, 0.01)": 1,
                       "HERALDED_PAULI_CHANNEL_1(0, 0.1, 0, 0)": 1}
            if r < 0.2:
                lines.append(f"{rng.choice(ONE)} {a}")
            elif r < 0.4:
                lines.append(f"{rng.choice(TWO)} {a} {b}")
            elif r < 0.5:
                lines.append(f"{rng.choice(['M', 'MX', 'MY', 'MR', 'MRX', 'MRY'])}({rng.choice([0, 0.1])}) {rng.choice(['', '!'])}{a}")
                records += 1
            elif r < 0.55:
                lines.append(f"{rng.choice(['R', 'RX', 'RY'])} {a}")
            elif r < 0.6:
                lines.append(f"{rng.choice(['MXX', 'MYY', 'MZZ'])}(0.02) {a} {b}")
                records += 1
            elif r < 0.65:
                lines.append("MPP(0.01) " + "*".join(rng.choice("XYZ") + str(q) for q in rng.sample(range(n), min(n, 3))))
                records += 1
            elif r < 0.75:
                lines.append(f"{rng.choice(['X_ERROR', 'Y_ERROR', 'Z_ERROR', 'DEPOLARIZE1'])}({rng.choice([0.1, 0.001])}) {a}")
            elif r < 0.8:
                lines.append(f"DEPOLARIZE2(0.05) {a} {b}")
            elif r < 0.82:
                lines.append(f"{rng.choice(list(heralds))} {a}")
                records += 1
            elif r < 0.85:
                lines.append(rng.choice([
                    f"PAULI_CHANNEL_1(0.1, 0.2, 0.05) {a}", f"E(0.1) X{a} Y{b}", f"E(0.1) X{a}\nELSE_CORRELATED_ERROR(0.2) Z{b}",
                    f"PAULI_CHANNEL_2(.01,.02,.03,.04,.05,.06,.07,.01,.02,.03,.04,.05,.06,.07,.08) {a} {b}"]))
            elif r < 0.88:
                lines.append(f"{rng.choice(['SPP', 'SPP_DAG'])} X{a}*Z{b}")
            elif r < 0.91 and records:
                lines.append(f"C{rng.choice('XYZ')} rec[-1] {a}")
            elif records and r < 0.98:
                detectors(1)
            elif records:
                lines.append(f"OBSERVABLE_INCLUDE({rng.randrange(3)}) {rng.choice(['rec[-1]', f'X{a}', f'Z{a} Y{b}'])}")

    def detectors(count):
        for _ in range(count):
            back = (f"rec[-{rng.randint(1, min(records, 4))}]" for _ in range(rng.randint(1, 3)))
            lines.append(f"DETECTOR({rng.randrange(5)}) " + " ".join(back))

    body(rng.randint(3, 20))
    if rng.random() < 0.4:
        lines.append("M 0")
        records += 1
        lines.append(f"REPEAT {rng.choice([2, 5, 37])} {{")
        body(rng.randint(3, 10))
        lines.append("SHIFT_COORDS(1)\n}")
    body(rng.randint(3, 10))
    lines.append("M " + " ".join(map(str, range(n))))
    records += n
    detectors(3)
    return "\n".join(lines)


def test_error_models_of_random_circuits():
    """All options: what one program refuses the other does, else the models are equal."""
    rng = random.Random(SEED)
    equal = gauges = 0
    for _ in range(250):
        text = random_noisy_circuit(rng, rng.randrange(2, 7))
        gauge, disjoint = rng.random() < 0.8, rng.random() < 0.8
        flags = ["--allow_gauge_detectors"] * gauge + ["--approximate_disjoint_errors"] * disjoint
        flags += ["--fold_loops"] * (rng.random() < 0.4)
        try:
            want = stim.Circuit(text).detector_error_model(allow_gauge_detectors=gauge, approximate_disjoint_errors=disjoint)
        except ValueError:
            refused = subprocess.run([PROGRAM, "analyze_errors", *flags], input=text.encode(), capture_output=True)
            assert refused.returncode == 4, (flags, text)
            continue
        got = stim.DetectorErrorModel(run(["analyze_errors", *flags], text).decode())
        a, b = models(want), models(got)
        assert a.keys() == b.keys() and all(abs(a[k] - b[k]) < 1e-12 for k in a), (flags, text)
        assert want.num_detectors == got.num_detectors and want.num_observables == got.num_observables, text
        assert want.get_detector_coordinates() == got.get_detector_coordinates(), text
        equal += 1
        gauges += 0.5 in a.values()
    assert equal > 80 and gauges > 30, (equal, gauges)


NUMBER = re.compile(r"(error(?:\[[^\]]*\])?)\(([^)]*)\)")


def without_empty_blocks(text):
    """Stim writes a block for a loop in which nothing happens."""
    while True:
        shorter = re.sub(r"(?m)^ *repeat[^\n]*\{\s*\}\n?", "", text)
        if shorter == text:
            return text.rstrip("\n")
        text = shorter


def same_text(want, got):
    """Byte by byte, but for the last digits of probabilities."""
    want, got = without_empty_blocks(want).split("\n"), got.rstrip("\n").split("\n")
    if len(want) != len(got):
        return False
    for a, b in zip(want, got):
        if NUMBER.sub(r"\1", a) != NUMBER.sub(r"\1", b):
            return False
        p, q = ([float(x[1]) for x in NUMBER.findall(line)] for line in (a, b))
        if any(abs(x - y) > 1e-9 * x for x, y in zip(p, q)):
            return False
    return True


def stim_model(text, flags):
    """The text, or None where it is refused."""
    try:
        return str(stim.Circuit(text).detector_error_model(
            decompose_errors="--decompose_errors" in flags, flatten_loops="--fold_loops" not in flags,
            allow_gauge_detectors="--allow_gauge_detectors" in flags, approximate_disjoint_errors=True,
            ignore_decomposition_failures="--ignore_decomposition_failures" in flags,
            block_decomposition_from_introducing_remnant_edges="--block_decompose_from_introducing_remnant_edges" in flags))
    except ValueError:
        return None


def model_text(text, flags):
    r = subprocess.run([PROGRAM, "analyze_errors", "--approximate_disjoint_errors", *flags], input=text.encode(), capture_output=True)
    assert r.returncode in (0, 4), (flags, r.stderr, text)
    return r.stdout.decode() if r.returncode == 0 else None


def test_models_of_codes_have_the_same_text():
    noise = dict(after_clifford_depolarization=0.001, before_round_data_depolarization=0.002,
                 before_measure_flip_probability=0.003, after_reset_flip_probability=0.004)
    tasks = ["surface_code:rotated_memory_x", "surface_code:rotated_memory_z", "surface_code:unrotated_memory_x",
             "surface_code:unrotated_memory_z", "repetition_code:memory", "color_code:memory_xyz"]
    for task, distance, rounds in itertools.product(tasks, [3, 5], [2, 4, 5, 12]):
        text = str(stim.Circuit.generated(task, distance=distance, rounds=rounds, **noise))
        for flags in [], ["--decompose_errors"], ["--decompose_errors", "--ignore_decomposition_failures"]:
            for fold in [], ["--fold_loops"]:
                if "color" in task and fold and len(flags) == 2:
                    continue  # errors across the ends of loops, which Stim keeps whole, are split
                want, got = stim_model(text, flags + fold), model_text(text, flags + fold)
                assert (want is None) == (got is None), (task, distance, rounds, flags, fold)
                assert want is None or same_text(want, got), (task, distance, rounds, flags, fold)


def random_splits(rng):
    """Errors and channels whose branches flip a few checks of two Bell pairs: most flip more than two detectors."""
    checks = [a + b for a in "IXYZ" for b in "IXYZ"][1:]
    lines = ["H 0 1", "CX 0 2 1 3"]
    for _ in range(rng.randint(1, 4)):
        r, tag = rng.randrange(8), rng.choice(["", "[a]", "[b]"])
        paulis = [p + str(q) for q, p in enumerate(rng.choice(checks)) if p != "I"]
        some = [rng.choice([0, 0, 0.01, 0.02]) for _ in range(15)]
        noise = [f"E{tag}(0.1) " + " ".join(paulis)] * 3 + [
            f"DEPOLARIZE1{tag}(0.1) 0 1", f"DEPOLARIZE2{tag}(0.1) {rng.choice(['0 1', '1 0'])}",
            f"PAULI_CHANNEL_1{tag}({some[0]}, {some[1]}, {some[2]}) 1", f"PAULI_CHANNEL_2{tag}({', '.join(map(str, some))}) 0 1",
            f"HERALDED_ERASE{tag}(0.1) !0 1\nDETECTOR rec[-1]\nDETECTOR rec[-2]"]
        lines.append(noise[r])
    for k in range(rng.randint(1, 8)):
        a, b = rng.choice(checks)
        product = "*".join(p + str(q) for p, qubits in ((a, (0, 2)), (b, (1, 3))) if p != "I" for q in qubits)
        kind = f"OBSERVABLE_INCLUDE({rng.randrange(2)})" if k % 4 == 3 else "DETECTOR"
        lines += [f"MPP {product}", f"{kind} rec[-1]"]
    return "\n".join(lines)


def random_parts(rng):
    """Errors that flip given detectors and observables, some of them parts of others."""
    detectors, observables = rng.randint(3, 7), rng.randint(0, 2)
    n = detectors + observables
    lines = []
    for k in range(rng.randint(2, 10)):
        some = rng.sample(range(detectors), min(detectors, rng.choice([1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6])))
        some += [q for q in range(detectors, n) if rng.random() < 0.3]
        lines.append(f"E({0.01 * (k + 1):.2f}) " + " ".join(f"X{q}" for q in some))
    lines.append("M " + " ".join(map(str, range(n))))
    lines += [f"DETECTOR rec[-{n - q}]" for q in range(detectors)]
    lines += [f"OBSERVABLE_INCLUDE({q - detectors}) rec[-{n - q}]" for q in range(detectors, n)]
    return "\n".join(lines)


def test_models_of_random_circuits_have_the_same_text():
    """Where the split that Stim suggests flips other observables than the error, ours does not follow."""
    rng = random.Random(SEED)
    equal = splits = other = 0
    for k in range(500):
        text = [random_parts, random_splits, lambda r: random_noisy_circuit(r, r.randrange(2, 7))][k % 3](rng)
        flags = ["--allow_gauge_detectors"] + ["--decompose_errors"] * (k % 3 < 2 or rng.random() < 0.6)
        flags += ["--ignore_decomposition_failures"] * (rng.random() < 0.6)
        flags += ["--block_decompose_from_introducing_remnant_edges"] * (rng.random() < 0.3)
        want, got = stim_model(text, flags), model_text(text, flags)
        if want is not None:
            whole = models(stim.Circuit(text).detector_error_model(allow_gauge_detectors=True, approximate_disjoint_errors=True))
            split = models(stim.DetectorErrorModel(want))
            if split.keys() != whole.keys() or any(abs(split[e] - whole[e]) > 1e-9 for e in whole):
                other += 1
                if got is not None:
                    ours = models(stim.DetectorErrorModel(got))
                    assert ours.keys() == whole.keys(), (flags, text, got)
                continue
        assert (want is None) == (got is None), (flags, text, want, got)
        if want is None:
            continue
        assert same_text(want, got), (flags, text, want, got)
        equal += 1
        splits += "^" in want
    assert equal > 250 and splits > 100 and other < 50, (equal, splits, other)


def random_loops(rng):
    """Loops whose iterations measure afresh, in each other, with shifts of coordinates anywhere in them."""
    lines = []

    def body(depth):
        lines.append("MR 0")  # which annotations up to the next one look at
        for _ in range(rng.randint(1, 6)):
            r, tag = rng.random(), rng.choice(["", "", "[t]"])
            if r < 0.35:
                lines.append(f"SHIFT_COORDS{tag}" + rng.choice(["", "(0)", "(1)", "(0, 0)", "(0, 2)", "(0.5, 0, -1)"]))
            elif r < 0.6:
                lines.append(f"X_ERROR({rng.choice([0.125, 0.25])}) 0\nMR 0")
            elif r < 0.8:
                lines.append(f"DETECTOR{tag}{rng.choice(['', '(1, 2)'])} " + rng.choice(["rec[-1]", "rec[-1]", ""]))
            elif r < 0.85:
                lines.append("TICK")
            elif depth < 2:
                loop(depth + 1)

    def loop(depth):
        lines.append(f"REPEAT {rng.choice([1, 2, 3, 7, 20])} {{")
        body(depth)
        lines.append("}")

    body(1)
    for _ in range(rng.randint(1, 2)):
        loop(0)
        body(1)
    return "\n".join(lines)

def test_folded_loops_have_the_same_shifts():
    """Where a shift of coordinates is the last line of a loop's body, it shifts the detectors too."""
    rng = random.Random(SEED)
    in_one_line = 0
    for _ in range(400):
        text = random_loops(rng)
        want, got = stim_model(text, ["--fold_loops"]), model_text(text, ["--fold_loops"])
        assert same_text(want, without_empty_blocks(got)), (text, want, got)
        in_one_line += re.search(r"shift_detectors\S*\([^)]*\) [1-9]", want) is not None
    assert in_one_line > 40, in_one_line


if __name__ == "__main__":
    run_tests(globals())
