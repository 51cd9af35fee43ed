"""Circuits that measure in the middle, with shots: the engine groups shots by outcome; shots whose outcomes are not those of
a postselection are left out, or, for "fill-shots", others are drawn in their place."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

import numpy as np
from pennylane.transforms.dynamic_one_shot import gather_mcm

from .shots import ShotPlan, without_shots

_MOST_TRIES = 1 << 27  # shots in all, for a postselection that hardly ever holds


def measure_branches(tape: Any, clbits: dict, wires: dict, run: Callable[[Any, Any, int], Any],
                     mode: Optional[str]) -> list[Any]:
    """For each measurement a list of answers, one an entry of the shot vector. `run(rotations, operations, shots)` gives
    classical bits and qubits of new shots; `clbits` are those of the measurements in the middle."""
    wanted = [(bit, bool(m.postselect)) for m, bit in clbits.items() if m.postselect is not None]
    bins = list(tape.shots.bins())
    seen: list[Any] = []  # classical bits, bins

    def draw(rotations, operations):
        if mode == "fill-shots" and wanted:
            bits, qubits = _filled(run, rotations, operations, wanted, bins[-1][1])
            own = bins if len(bits) == bins[-1][1] else [(0, 0)] * len(bins)
        else:
            bits, qubits = run(rotations, operations, bins[-1][1])
            valid, own, at = _valid(bits, wanted), [], 0
            for lower, upper in bins:
                count = int(valid[lower:upper].sum())
                own.append((at, at + count))
                at += count
            bits, qubits = bits[valid], qubits[valid]
        if not seen:
            seen.extend((bits, own))
        return qubits, own

    of_state = [mp for mp in tape.measurements if mp.mv is None]
    answers = iter(ShotPlan(of_state, wires).answer(draw) if of_state else ())
    if not seen:
        draw([], None)
    bits, own = seen
    found = []
    for mp in tape.measurements:
        if mp.mv is None:
            found.append(next(answers))
            continue
        values = []
        for lower, upper in own:
            samples = {m: bits[lower:upper, bit:bit + 1].astype(np.int64) for m, bit in clbits.items()}
            values.append(gather_mcm(mp, samples, np.ones(upper - lower, bool)) if upper > lower
                          else without_shots(mp, list(wires)))
        found.append(values)
    return found


def _valid(bits, wanted):
    valid = np.ones(len(bits), bool)
    for bit, value in wanted:
        valid &= bits[:, bit] == value
    return valid


def _filled(run, rotations, operations, wanted, count):
    """So many shots for which the postselection holds; none where it does in none of many."""
    parts, have, tried = [], 0, 0
    now = count
    while have < count and tried < _MOST_TRIES:
        bits, qubits = run(rotations, operations, now)
        valid = _valid(bits, wanted)
        parts.append((bits[valid], qubits[valid]))
        have += int(valid.sum())
        tried += now
        if have == 0 and tried >= max(1 << 20, 16 * count):
            break
        now = min(max(count, int(1.2 * (count - have) * tried / max(have, 1))), 1 << 22)
    bits, qubits = (np.concatenate([part[k] for part in parts])[:count] for k in (0, 1))
    return bits, qubits
