"""Circuits, wires and reference answers that several tests of the PennyLane device share."""
import numpy as np
import pytest

qml = pytest.importorskip("pennylane", minversion="0.45", reason="PennyLane 0.45 or newer is not installed")

from tilewave.pennylane import gates  # noqa: E402

LABELS = ["a", 7, -3, "b", 2.5]


def arguments(name, op_class, rng):
    """Some parameters for an operation."""
    special = [0.0, np.pi / 2, np.pi, -np.pi, 1e-9]
    count = {"MultiRZ": 1, "PauliRot": 1}.get(name, op_class.num_params if isinstance(op_class.num_params, int) else 0)
    return [float(rng.choice([*special, *rng.uniform(-7, 7, 10)])) for _ in range(count)]


def make(name, rng, labels=LABELS):
    op_class, wires = getattr(qml, name), list(rng.permutation(len(labels)))
    numbers = arguments(name, op_class, rng)
    if name == "PauliRot":
        return qml.PauliRot(numbers[0], "".join(rng.choice(list("IXYZ"), 3)), [labels[w] for w in wires[:3]])
    if name == "MultiControlledX":
        return qml.MultiControlledX([labels[w] for w in wires[:4]], control_values=[bool(b) for b in rng.integers(0, 2, 3)])
    if name == "BasisState":
        return qml.BasisState(rng.integers(0, 2, 3), [labels[w] for w in wires[:3]])
    width = op_class.num_wires if isinstance(op_class.num_wires, int) else 3
    return op_class(*numbers, wires=[labels[w] for w in wires[:width]])


NAMES = sorted(set(gates._HANDLERS) - {"Barrier", "WireCut", "SQISW", "BasisState"})


def ansatz(x, y):
    qml.BasisState([0, 1], ["a", "b"])
    qml.RX(x, "a")
    qml.CRot(y, 0.2, x, [7, "a"])
    qml.Hadamard(7)
    qml.IsingXY(y, ["b", 7])
    qml.SingleExcitation(x, [-3, 2.5])
    qml.CNOT(["b", -3])
    qml.RY(0.3, 2.5)
    qml.CNOT([-3, 2.5])


MATRIX = np.array([[1, 2j, 0, 1], [-2j, 0.5, 1, 0], [0, 1, -1, 3], [1, 0, 3, 2]])
