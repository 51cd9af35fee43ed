"""Amazon Braket on Tilewave: the local simulator "tilewave".

    from braket.circuits import Circuit
    from braket.devices import LocalSimulator

    LocalSimulator("tilewave").run(Circuit().h(0).cnot(0, 1), shots=1000).result().measurement_counts
"""
from .._optional import need

need("braket.default_simulator", "braket")

from .simulator import TilewaveSimulator  # noqa: E402

__all__ = ["TilewaveSimulator"]
