"""PennyLane on Tilewave: the device ``tilewave.qubit``.

    import pennylane as qml

    dev = qml.device("tilewave.qubit", wires=3)

    @qml.qnode(dev)
    def circuit(x):
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        return qml.expval(qml.Z(1))
"""
from .._optional import need

need("pennylane", "pennylane")

from .device import TilewaveQubit  # noqa: E402
from .metric import metric_tensor  # noqa: E402

__all__ = ["TilewaveQubit", "metric_tensor"]
