"""Types: mypy accepts a program that uses the package and finds what is wrong in one that misuses it; every public function
says what it takes and gives."""
import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tilewave as tw

pytest.importorskip("mypy")
PACKAGE = Path(tw.__file__).parent

GOOD = '''
from typing import Any
import numpy as np
from numpy.typing import NDArray
import tilewave as tw
from tilewave.qiskit import EstimatorV2, SamplerV2, TilewaveBackend
from tilewave.sinter import TilewaveSampler

circuit: tw.Circuit = tw.Circuit.from_qasm("c.qasm", inputs={"theta": 0.5}).copy().inverse()
counts: dict[str, int] = tw.sample(circuit.measure_all(), 100, seed=1, precision="single")
bits = tw.sample_bits(circuit, 10, noise={"channels": []}, engine="stabilizer")
total: int = sum(counts.values()) + int(bits.sum())
result: tw.Result = tw.run(circuit, 10, probabilities=[0], observables=[("ZZ", 0.5)], record_steps=True)
first: float = float(result.expectations[0]) + result.plan["predicted_s"]
plan: tw.Plan = tw.plan(circuit, device="cpu")
text: str = plan.explain()
marginals = tw.marginals(circuit)
marginals += 1.0
sampler: tw.CompiledDetectorSampler = tw.compile_detector_sampler("M 0", seed=5, engine="frame")
detectors: int = sampler.num_detectors + sampler.seed
dets, obs = sampler.sample(10, separate_observables=True)
model: str = tw.detector_error_model("M 0", approximate_disjoint_errors=0.1)
land: NDArray[np.float32] = tw.entropy(np.zeros((3, 3), np.uint8), 1, mask=None, border="reflect")
again = tw.entropy([[1, 2], [3, 4]], out=land)
scaled: NDArray[np.float32] = tw.map(again, "v + 1", precision="fast")
tw.plot_plan(plan)
elsewhere: Any = None
there: Any = tw.map(elsewhere, "v")
tw.report(circuit, "page.html", observables="Z0")
tw.plot_counts(counts, most=3)
noise: tw.NoiseModel = tw.noise_model({"channels": []})
state = tw.State(circuit)
values = state.probabilities([0, 1]) + tw.probabilities(circuit, np.array([0, 1])) + state.probabilities(np.array([0, 1]))
placed = tw.Circuit(3).gate("cx", np.array([0, 1]), controls=np.array([2])).measure_all(np.array([0, 2]))
backend = TilewaveBackend(shots=5)
sampled = SamplerV2(seed=1, noise_model=noise)
estimated = EstimatorV2(default_precision=0.1)
collected = TilewaveSampler(decoder="pymatching", threads=2)
theta: list[tw.Parameter] = tw.parameters("theta", 2)
tw.Circuit(2).rx(theta[0], 0).gate("crz", [0, 1], [2 * theta[1] - 1.5])
trained: tw.CircuitFunction = tw.Circuit(2).rx(theta[0] / 2 + 0.1, 0).compile(["ZZ", {"XX": 0.5}], precision="single")
energy, gradient = trained.value_and_grad(np.zeros((3, 1)))
slopes: NDArray[np.float64] = trained.jacobian({theta[0]: 0.5})
'''
BAD = {
    'tw.sample(tw.Circuit(1), shots="many")': 'incompatible type "str"; expected "int"',
    'tw.simulate(tw.Circuit(1), precision="half")': "precision",
    'tw.compile_sampler("M 0").sample(3, bitpacked=True)': 'Unexpected keyword argument "bitpacked"',
    'tw.Circuit(1).rx(0)': "rx",
    'tw.plan(tw.Circuit(1)).explain() + 1': "Unsupported operand types",
    'tw.Circuit(1).rx("0.5", 0)': "rx",
    'tw.Circuit(1).compile("Z").gradient()': "gradient",
    'tw.entropy([[1]]).no_method()': 'no attribute "no_method"',
    'tw.State(tw.Circuit(1)).probability()': 'has no attribute "probability"',
}


def mypy(text, folder, *flags):
    file = folder / "program.py"
    file.write_text(text)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", folder / "cache",
                           *flags, file], capture_output=True, text=True, cwd=folder,
                          env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
    return done.stdout + done.stderr


def test_a_typed_program_passes_and_mistakes_are_found(tmp_path):
    assert "Success" in mypy(GOOD, tmp_path)
    lines = ["import tilewave as tw", *BAD]
    found = mypy("\n".join(lines) + "\n", tmp_path)
    for number, (line, problem) in enumerate(BAD.items(), start=2):
        errors = [text for text in found.splitlines() if text.startswith(f"program.py:{number}:")]
        assert any("error" in text for text in errors) and problem in "\n".join(errors), (line, found)


def public():
    for module in ("tilewave", "tilewave.qiskit", "tilewave.pennylane", "tilewave.cirq", "tilewave.braket", "tilewave.sinter", "tilewave.plots", "tilewave.reports"):
        other = module.split(".")[-1]
        pytest.importorskip(other if other in ("qiskit", "pennylane", "cirq", "braket", "sinter") else "numpy")
        home = importlib.import_module(module)
        for name in getattr(home, "__all__", None) or [n for n in vars(home) if not n.startswith("_")]:
            thing = getattr(home, name)
            if inspect.isfunction(thing):
                yield f"{module}.{name}", thing
            elif inspect.isclass(thing) and thing.__module__.startswith("tilewave") and "_core" not in thing.__module__:
                for key, member in vars(thing).items():
                    member = getattr(member, "fget", None) or getattr(member, "__func__", member)
                    if inspect.isfunction(member) and (not key.startswith("_") or key == "__init__"):
                        yield f"{module}.{name}.{key}", member


def test_everything_public_is_annotated():
    count = 0
    for name, function in public():
        signature = inspect.signature(function)
        missing = [p.name for p in signature.parameters.values()
                   if p.annotation is p.empty and p.name not in ("self", "cls")]
        assert not missing and signature.return_annotation is not signature.empty, (name, missing)
        count += 1
    assert count > 60


def test_the_stub_has_what_the_compiled_module_has():
    stub = (PACKAGE / "_core.pyi").read_text()
    from tilewave import _core
    for name, thing in vars(_core).items():
        if name.startswith("__"):
            continue
        if inspect.isclass(thing):
            assert f"class {name}" in stub
            for key in vars(thing):
                by_package = key == "_repr_html_"  # set by tilewave/__init__.py
                assert by_package or key.startswith("__") or f"def {key}(" in stub, (name, key)
        elif callable(thing):
            assert f"def {name}(" in stub, name
