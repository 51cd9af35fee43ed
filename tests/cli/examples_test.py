#!/usr/bin/env python3
"""Every example runs and gives what its first lines promise."""
from program import EXAMPLES, Checker, tilewave

c = Checker()


def comb(counts):
    return len(counts) == 16 and all(key.startswith("0" * 16) for key in counts)


PROMISES = {
    "bell": lambda counts: set(counts) == {"00", "11"},
    "ghz_24": lambda counts: set(counts) == {"0" * 24, "1" * 24},
    "ghz_5000": lambda counts: set(counts) == {"00", "11"},
    "qft_20": comb,
    "walkthrough": lambda counts: set(counts) == {"001", "100"},
    "grover_3": lambda counts: counts["101"] > 850,
    "phase_estimation": lambda counts: counts == {"1011": 1000},
    "phase_feedback": lambda counts: counts == {"0101": 1000},
    "until_success": lambda counts: set(counts) == {"01 1", "10 1", "11 0", "11 1"},
    "teleport": lambda counts: len(counts) == 4 and all(key.startswith("0 ") for key in counts),
}

names = {path.stem for path in EXAMPLES.glob("*.qasm")}
c.check(names == set(PROMISES), f"examples {names} and promises {set(PROMISES)}")
for name, promise in PROMISES.items():
    for precision in ("double", "single"):
        counts = tilewave("run", EXAMPLES / f"{name}.qasm", "--json", "--shots", "1000", "--seed", "5",
                          "--precision", precision).json()["counts"]
        c.check(sum(counts.values()) == 1000 and promise(counts), f"{name} ({precision}): {counts}")
c.finish()
