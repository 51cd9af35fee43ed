"""Tilewave: quantum circuits, error-correction sampling, local entropy and fused maps, fast.

Circuits::

    import tilewave as tw
    bell = tw.Circuit(2).h(0).cx(0, 1)
    tw.simulate(bell)                     # the state, an array of 4 complex numbers
    tw.sample(bell.measure_all(), 1000)   # {'00': 503, '11': 497}

Basis states are numbered with qubit 0 as the least significant bit; strings of bits show it rightmost, as in Qiskit.
Errors are ValueError for what was asked or written wrongly, a CUDA device in a build without CUDA too, and MemoryError for
what does not fit and for a device that is not there.
"""
from typing import TYPE_CHECKING, Any

from ._core import Result, __version__, built_with_cuda, gate_names
from .arrays import DeviceArray, to_device, to_host
from .circuits import Circuit, Operation
from .diagrams import Diagram, diagram
from .fields import entropy, map
from .functions import CircuitFunction
from .models import CompiledDemSampler, compile_dem_sampler, shortest_graphlike_error
from .noise import NoiseModel, noise_model
from .runs import (Executable, Plan, State, amplitudes, compile, expectation, free_memory, marginals, plan, probabilities, run, sample,
                   sample_bits, simulate)
from .angles import Parameter, ParameterExpression, parameters
from .shifts import ShiftGradient, shift_gradient
from .notebooks import result_html as _result_html
from .samplers import (CompiledDetectorSampler, CompiledMeasurementsToDetectionEventsConverter, CompiledSampler, KeptShots, ShotLists,
                       compile_detector_sampler, compile_m2d_converter, compile_sampler, convert_circuit, detector_error_model)
from .strata import Estimate, Strata, Stratum, fault_probabilities, sample_strata

if TYPE_CHECKING:
    from .collection import collect
    from .plots import plot_counts, plot_entropy, plot_error_rates, plot_plan, plot_probabilities
    from .reports import report

__all__ = [
    "Circuit", "CircuitFunction", "CompiledDemSampler", "CompiledDetectorSampler", "CompiledMeasurementsToDetectionEventsConverter",
    "CompiledSampler", "DeviceArray", "Diagram", "Estimate", "Executable", "KeptShots", "NoiseModel", "Operation", "Parameter",
    "ParameterExpression", "Plan", "Result", "ShiftGradient", "ShotLists", "State", "Strata", "Stratum", "__version__", "amplitudes",
    "built_with_cuda", "collect", "compile", "compile_dem_sampler", "compile_detector_sampler", "compile_m2d_converter", "compile_sampler",
    "convert_circuit", "detector_error_model", "diagram", "entropy", "expectation", "fault_probabilities", "free_memory", "gate_names",
    "map", "marginals", "noise_model", "parameters", "plan", "plot_counts", "plot_entropy", "plot_error_rates", "plot_plan",
    "plot_probabilities", "probabilities", "report", "run", "sample", "sample_bits", "sample_strata", "shift_gradient",
    "shortest_graphlike_error", "simulate", "to_device", "to_host",
]

Result._repr_html_ = _result_html  # type: ignore[attr-defined]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_LATER = {"plot_counts": "plots", "plot_probabilities": "plots", "plot_plan": "plots", "plot_entropy": "plots",
          "plot_error_rates": "plots", "report": "reports", "collect": "collection"}


def __getattr__(name: str) -> Any:
    """Helpers that need further packages are imported when they are first used."""
    if name in _LATER:
        from importlib import import_module
        return getattr(import_module("." + _LATER[name], __name__), name)
    raise AttributeError(f"module 'tilewave' has no attribute '{name}'")
