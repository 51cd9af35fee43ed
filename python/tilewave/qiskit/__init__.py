"""Qiskit on Tilewave: a backend, the V2 primitives, and conversion of circuits.

    from tilewave.qiskit import TilewaveBackend, SamplerV2, EstimatorV2

    counts = TilewaveBackend().run(circuit, shots=1000).result().get_counts()
    bits = SamplerV2().run([(circuit, parameters)]).result()[0].data.meas
    values = EstimatorV2().run([(circuit, observables, parameters)]).result()[0].data.evs
"""
from .backend import TilewaveBackend
from .convert import from_qiskit
from .primitives import EstimatorV2, SamplerV2

__all__ = ["EstimatorV2", "SamplerV2", "TilewaveBackend", "from_qiskit"]
