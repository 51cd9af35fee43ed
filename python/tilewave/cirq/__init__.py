"""Cirq on Tilewave: a simulator with the interfaces and options of qsimcirq's.

    from tilewave.cirq import TilewaveSimulator

    result = TilewaveSimulator().simulate(circuit)
    samples = TilewaveSimulator(seed=1).run(circuit, repetitions=1000)
"""
from .._optional import need

need("cirq", "cirq")

from .convert import from_cirq  # noqa: E402
from .simulator import TilewaveOptions, TilewaveSimulator  # noqa: E402

__all__ = ["TilewaveOptions", "TilewaveSimulator", "from_cirq"]
