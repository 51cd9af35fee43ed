"""Parts of gpu.py whose results are arrays: detection events delivered to NumPy and tableau runs beside QuaSARQ, local
entropy beside cuCIM. Tilewave's side is its Python package.

Every function yields rows; each compares results before it times anything and ends the program where they differ.
"""

import math
import random
import statistics
import sys
import time

import numpy as np

CHECK_SHOTS = 1 << 15
MOST_BYTES = 4 << 30  # of one delivered array
ENTROPY_WIDTH, WINDOWS, CLASSES, MOST_BITS_OFF = 4096, (5, 11, 21, 51), (16, 256), 5e-5


def tilewave_package():
    try:
        import tilewave
    except ImportError as problem:
        sys.exit(f"error: the parts delivered, tableau and entropy time Tilewave's Python package: {problem}")
    return tilewave


def median_s(call, rounds, budget_s):
    """Times of a call after one that does not count; fewer than `rounds` where they take longer than `budget_s`."""
    call()
    times = []
    while len(times) < rounds and (not times or sum(times) < budget_s):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times), times


# -- detection events in NumPy arrays ----------------------------------------------------------------------------------


class QuaSarq:
    name, package = "quasarq", "quasarq"

    def __init__(self):
        import quasarq

        if not quasarq.device_name():
            raise RuntimeError("QuaSARQ finds no CUDA device")
        self.quasarq = quasarq

    def detector_sampler(self, text):
        sampler = self.quasarq.compile_detector_sampler(text, seed=5)
        return lambda shots: sampler.sample(shots, bit_packed=True)

    def outcomes(self, text):
        return np.asarray(self.quasarq.simulate(text).measurements(), bool)


def fired(rows, num_detectors):
    """How often each detector fired in bit-packed shots."""
    pieces = np.array_split(rows, max(1, len(rows) // 4096))
    bits = (np.unpackbits(piece, axis=1, bitorder="little")[:, :num_detectors] for piece in pieces)
    return sum(piece.sum(axis=0, dtype=np.int64) for piece in bits)


def compare_fired(what, ours, theirs):
    if ours.shape != theirs.shape:
        sys.exit(f"error: {what}: Tilewave has {len(ours)} detectors, the peer {len(theirs)}")
    off = np.abs(ours - theirs) / np.sqrt(ours + theirs + 1)
    if off.max(initial=0) > 6:
        d = int(off.argmax())
        sys.exit(f"error: {what}: detector {d} fires {theirs[d]} and {ours[d]} times in {CHECK_SHOTS} shots")


def best_rate(sample, rounds, row_bytes, budget_s=2.0):
    best = {"shots_per_s": 0}
    for shots in (1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22):
        if shots * row_bytes > MOST_BYTES:
            break
        seconds, times = median_s(lambda: sample(shots), rounds, budget_s)
        if shots / seconds > best["shots_per_s"]:
            best = {"shots_per_s": shots / seconds, "batch": shots, "times_s": times}
    return best


def measure_delivered(arguments, peer, codes):
    """`codes`: (distance, p, text of the circuit)."""
    tilewave = tilewave_package()
    for distance, p, text in codes:
        made = tilewave.CompiledDetectorSampler(text, seed=3, device=arguments.device)
        samplers = {"tilewave": lambda shots: made.sample(shots, bit_packed=True)}
        what = f"surface code of distance {distance}, p = {p}"
        ours = samplers["tilewave"](CHECK_SHOTS)
        if peer:
            samplers[peer.name] = peer.detector_sampler(text)
            theirs = np.asarray(samplers[peer.name](CHECK_SHOTS))
            if theirs.shape != ours.shape:
                sys.exit(f"error: {what}: {peer.name} gives an array {theirs.shape}, Tilewave {ours.shape}")
            compare_fired(what, fired(ours, made.num_detectors), fired(theirs, made.num_detectors))
        times = {name: best_rate(sample, arguments.rounds, ours.shape[1]) for name, sample in samplers.items()}
        row = {"distance": distance, "p": p, "row_bytes": ours.shape[1], "times": times}
        if peer:
            row["ratio"] = times["tilewave"]["shots_per_s"] / times[peer.name]["shots_per_s"]
        rates = {name: f"{t['shots_per_s']:.4g}" for name, t in times.items()}
        print(f"delivered, {what}: {rates} ratio {row.get('ratio', 0):.2f}", flush=True)
        yield row


# -- one run of a tableau ----------------------------------------------------------------------------------------------


def clifford_lines(num_qubits, layers, seed, inverse=False):
    """Layers of a random gate of H, S and S_DAG on every qubit and CX on neighbours, in Stim's language."""
    draw, lines, undone = random.Random(seed), [], {"S": "S_DAG", "S_DAG": "S"}
    for layer in range(layers):
        at = {"H": [], "S": [], "S_DAG": []}
        for q in range(num_qubits):
            at[draw.choice(list(at))].append(q)
        lines += [(name, targets) for name, targets in at.items() if targets]
        pairs = [q for first in range(layer % 2, num_qubits - 1, 2) for q in (first, first + 1)]
        lines.append(("CX", pairs))
    if inverse:
        lines = [(undone.get(name, name), targets) for name, targets in reversed(lines)]
    return [f"{name} {' '.join(map(str, targets))}" for name, targets in lines if targets]


def clifford_text(num_qubits, layers, seed):
    measured = "M " + " ".join(map(str, range(num_qubits)))
    return "\n".join([*clifford_lines(num_qubits, layers, seed), measured]) + "\n"


def certain_text(num_qubits, layers, seed):
    """A circuit, its inverse and the outcomes, which the flips in front of them make certain."""
    ones = [q for q in range(num_qubits) if random.Random(seed + q).random() < 0.5]
    lines = [f"X {' '.join(map(str, ones))}", *clifford_lines(num_qubits, layers, seed)]
    lines += [*clifford_lines(num_qubits, layers, seed, inverse=True), "M " + " ".join(map(str, range(num_qubits)))]
    return "\n".join(lines) + "\n", np.isin(np.arange(num_qubits), ones)


def measure_tableaus(arguments, peer, sizes):
    """`sizes`: (qubits, layers)."""
    tilewave = tilewave_package()
    runs = {"tilewave": lambda text: tilewave.CompiledSampler(text, seed=1).sample(1)[0]}
    if peer:
        runs[peer.name] = peer.outcomes
    text, expected = certain_text(200, 20, 7)
    for name, run in runs.items():
        if not np.array_equal(run(text), expected):
            sys.exit(f"error: {name} measures something else than the certain outcomes of a circuit and its inverse")
    print("tableau: 200 certain outcomes are right", flush=True)
    for num_qubits, layers in sizes:
        text = clifford_text(num_qubits, layers, 1)
        row = {"qubits": num_qubits, "layers": layers, "times": {}}
        for name, run in runs.items():
            seconds, times = median_s(lambda: run(text), arguments.rounds, arguments.seconds)
            row["times"][name] = {"median_s": seconds, "times_s": times}
        if peer:
            row["ratio"] = row["times"][peer.name]["median_s"] / row["times"]["tilewave"]["median_s"]
        shown = {name: f"{1e3 * t['median_s']:.4g} ms" for name, t in row["times"].items()}
        print(f"tableau, {num_qubits} qubits, {layers} layers: {shown} ratio {row.get('ratio', 0):.2f}", flush=True)
        yield row


# -- local entropy -----------------------------------------------------------------------------------------------------


class CuCim:
    """skimage.filters.rank.entropy on CuPy arrays, at the faster of its two backends."""

    name, package = "cucim", "cucim-cu13"

    def __init__(self):
        import cupy
        from cucim.skimage.filters import rank

        self.cupy, self.rank = cupy, rank

    def backends(self, window):
        """Its own choice is the histogram from 25 x 25 on; one that sorts every window takes seconds there."""
        return ["histogram"] if window >= 25 else ["elementwise", "histogram"]

    def entropy(self, image, window, out, backend):
        self.rank.entropy(image, self.cupy.ones((window, window), self.cupy.uint8), out=out, backend=backend)


def measure_entropy(arguments, peer, width=ENTROPY_WIDTH, windows=WINDOWS):
    """Images and results lie on the device; borders are reflected, as cuCIM does."""
    try:
        import cupy
    except ImportError as problem:
        sys.exit(f"error: the part entropy needs CuPy for arrays on the device: {problem}")
    tilewave = tilewave_package()
    finished = cupy.cuda.Device().synchronize
    draw = np.random.default_rng(1)
    for classes in CLASSES:
        image = cupy.asarray(draw.integers(0, classes, (width, width), np.uint8))
        ours, theirs = (cupy.empty(image.shape, cupy.float32) for _ in range(2))
        for window in windows:
            footprint = np.ones((window, window), np.uint8)

            def run_ours():
                tilewave.entropy(image, footprint, ours, border="reflect", levels=classes)
                finished()

            row = {"width": width, "window": window, "classes": classes, "times": {}}
            seconds, times = median_s(run_ours, arguments.rounds, arguments.seconds)
            row["times"]["tilewave"] = {"median_s": seconds, "times_s": times}
            for backend in peer.backends(window) if peer else []:

                def run_theirs():
                    peer.entropy(image, window, theirs, backend)
                    finished()

                seconds, times = median_s(run_theirs, arguments.rounds, arguments.seconds)
                off = float(cupy.abs(ours - theirs).max())
                if not off <= MOST_BITS_OFF:
                    sys.exit(f"error: entropy of {window} x {window} windows, {classes} classes: {peer.name} "
                             f"({backend}) and Tilewave differ by {off:.1e} bits")
                if seconds < row["times"].get(peer.name, {}).get("median_s", math.inf):
                    row["times"][peer.name] = {"median_s": seconds, "times_s": times, "backend": backend, "off": off}
            if peer:
                row["ratio"] = row["times"][peer.name]["median_s"] / row["times"]["tilewave"]["median_s"]
            shown = {name: f"{1e3 * t['median_s']:.4g} ms {t.get('backend', '')}" for name, t in row["times"].items()}
            what = f"entropy, {window} x {window}, {classes} classes"
            print(f"{what}: {shown} ratio {row.get('ratio', 0):.2f}", flush=True)
            yield row
