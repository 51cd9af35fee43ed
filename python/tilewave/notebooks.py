"""How circuits, results and plans look in a notebook: small HTML tables."""
from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

_MOST_ROWS = 20


def _table(caption: str, head: Iterable[str], rows: list[list[Any]], total: int) -> str:
    cells = "".join("<tr>" + "".join(f"<td style='text-align:left'>{escape(str(cell))}</td>" for cell in row) + "</tr>"
                    for row in rows)
    more = f"<p>... and {total - len(rows)} more</p>" if total > len(rows) else ""
    titles = "".join(f"<th style='text-align:left'>{escape(title)}</th>" for title in head)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{titles}</tr></thead><tbody>{cells}</tbody></table>{more}"


def circuit_html(circuit: Any) -> str:
    """The first operations of a circuit."""
    caption = (f"{circuit.num_qubits} qubits, {circuit.num_clbits} classical bits, {len(circuit)} operations, "
               f"depth {circuit.depth()}")
    rows = []
    for k in range(min(len(circuit), _MOST_ROWS)):
        name, qubits, params, clbits, *_ = circuit._operation(k)
        rows.append([k, name, ", ".join(f"{p:.6g}" for p in params), ", ".join(map(str, qubits)), ", ".join(map(str, clbits))])
    return _table(caption, ["", "operation", "angles", "qubits", "writes bits"], rows, len(circuit))


def result_html(result: Any) -> str:
    """The most frequent outcomes, and the other answers of a run."""
    caption = f"{result.num_qubits} qubits, {result.engine} on {result.device}, seed {result.seed}"
    parts = []
    if result.counts:
        counts = sorted(result.counts.items(), key=lambda item: (-item[1], item[0]))
        rows = [[key, count, f"{count / result.shots:.1%}"] for key, count in counts[:_MOST_ROWS]]
        parts.append(_table(f"{caption}: {result.shots} shots", ["outcome", "shots", "share"], rows, len(counts)))
    for title, values, errors in (("P(qubit = 1)", result.probabilities, result.probability_errors),
                                  ("expectation", result.expectations, result.expectation_errors)):
        if len(values):
            rows = [[k, f"{value:.9g}" + (f" ± {errors[k]:.2g}" if len(errors) and errors[k] == errors[k] else "")]
                    for k, value in enumerate(values[:_MOST_ROWS])]
            parts.append(_table("" if parts else caption, ["", title], rows, len(values)))
    return "".join(parts) or f"<p>{escape(caption)}</p>"


def plan_html(plan: Any) -> str:
    """What a plan says in words, as it is laid out."""
    return f"<p>{escape(repr(plan)[1:-1])}</p><pre>{escape(plan.explain())}</pre>"
