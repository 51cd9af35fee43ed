"""Cirq on Tilewave: a simulator with the interfaces and options of qsimcirq's.

    from tilewave.cirq import TilewaveSimulator

    result = TilewaveSimulator().simulate(circuit)
    samples = TilewaveSimulator(seed=1).run(circuit, repetitions=1000)
"""
from .convert import from_cirq
from .simulator import TilewaveOptions, TilewaveSimulator

__all__ = ["TilewaveOptions", "TilewaveSimulator", "from_cirq"]
