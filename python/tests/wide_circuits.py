"""Circuits of more qubits than a state has room for."""
import tilewave as tw


def all_qubits(n):
    """A circuit that touches every qubit, so that none is left out of its state."""
    circuit = tw.Circuit(n)
    for q in range(n):
        circuit.h(q)
    return circuit
