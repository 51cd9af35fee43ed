"""Amazon Braket on Tilewave: the local simulator "tilewave".

    from braket.circuits import Circuit
    from braket.devices import LocalSimulator

    LocalSimulator("tilewave").run(Circuit().h(0).cnot(0, 1), shots=1000).result().measurement_counts
"""
from .simulator import TilewaveSimulator

__all__ = ["TilewaveSimulator"]
