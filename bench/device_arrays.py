#!/usr/bin/env python3
"""Shots that stay on a GPU, as tensors of another package, beside the same shots counted on the device.

    bench/device_arrays.py --tilewave build/cuda/tilewave [--only EXPRESSION] [--quick] [--json FILE]

The rotated surface code, rounds = distance, the same probability on all four noise channels. `counted` is the rate of
`tilewave detect --device cuda --out_format counts`: the shots beyond a short run over the time beyond it, so without the
start of a process. An array's rate is that of a loop which asks the sampler for `batch` shots, makes a tensor of PyTorch (or
CuPy) over every array by DLPack and lets it go; the first call is not counted. Medians; the ratio is to `counted` of the same
circuit and engine, measured before and after its arrays.
"""
import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tilewave as tw

CODES = [(11, 0.001), (11, 0.01), (31, 0.001)]
LAYOUTS = {
    "packed": lambda s, n: [s.sample(n, bit_packed=True, append_observables=True, on_device=True)],
    "packed, observables apart": lambda s, n: s.sample(n, bit_packed=True, separate_observables=True, on_device=True),
    "detector-major": lambda s, n: s.sample_detector_major(n, on_device=True),
    "lists": lambda s, n: s.sample_lists(n, on_device=True),
    "bools": lambda s, n: [s.sample(n, append_observables=True, on_device=True)],
}
LARGEST_BYTES = 12 << 30  # of the arrays of a call


def tensors():
    """How the arrays are taken, and the package's name, version and way to wait for the device."""
    try:
        import torch
        return torch.from_dlpack, f"PyTorch {torch.__version__}", torch.cuda.get_device_name(), torch.cuda.synchronize
    except ImportError:
        import cupy
        name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        return cupy.asarray, f"CuPy {cupy.__version__}", name, cupy.cuda.runtime.deviceSynchronize


def circuit(program, folder, distance, p):
    path = Path(folder) / f"d{distance}_p{p}.stim"
    noise = [w for k in ("after_clifford_depolarization", "before_round_data_depolarization", "before_measure_flip_probability",
                         "after_reset_flip_probability") for w in ("--" + k, str(p))]
    subprocess.run([program, "gen", "--code", "surface_code", "--task", "rotated_memory_z", "--distance", str(distance),
                    "--rounds", str(distance), "--out", path, *noise], check=True)
    return path


def command_seconds(program, path, engine, shots):
    start = time.perf_counter()
    subprocess.run([program, "detect", "--in", path, "--shots", str(shots), "--out", "/dev/null", "--out_format", "counts",
                    "--append_observables", "--device", "cuda", "--engine", engine], check=True)
    return time.perf_counter() - start


def counted(program, path, engine, seconds):
    """Shots a second; the longer run is made so long that it takes about `seconds` beyond the short one."""
    few, more = 1 << 22, 1 << 27
    start = command_seconds(program, path, engine, few)
    guess = (more - few) / max(1e-3, command_seconds(program, path, engine, more) - start)
    many = few + int(guess * seconds) // 1024 * 1024
    return (many - few) / (command_seconds(program, path, engine, many) - command_seconds(program, path, engine, few))


def array_rate(sampler, make, batch, take, wait, seconds):
    def some(calls):
        start = time.perf_counter()
        for _ in range(calls):
            held = [take(array) for array in make(sampler, batch)]  # the one before is let go when this is there
        wait()
        return time.perf_counter() - start, sum(t.nbytes for t in held)
    some(2)
    calls = max(3, int(seconds / (some(2)[0] / 2)))
    rates = []
    for _ in range(5):
        took, num_bytes = some(calls)
        rates.append(calls * batch / took)
    return statistics.median(rates), num_bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tilewave", required=True, help="the program, built with CUDA")
    parser.add_argument("--only", default="", help="rows whose name has this regular expression")
    parser.add_argument("--quick", action="store_true", help="short runs, batches of 2^20 only")
    parser.add_argument("--json", help="where the rows go")
    a = parser.parse_args()
    take, package, device, wait = tensors()
    seconds = 0.05 if a.quick else 0.1
    rows = []
    print(f"{device}; {package}\n{'row':44} {'batch':>9} {'M shots/s':>10} {'GB/s':>7} {'of counted':>10}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for distance, p in CODES:
            path = circuit(a.tilewave, folder, distance, p)
            for engine in "sparse", "frame":
                name = f"d={distance} p={p} {engine}"
                layouts = {k: v for k, v in LAYOUTS.items() if re.search(a.only, f"{name} {k}")}
                if not layouts:
                    continue
                counts = [counted(a.tilewave, path, engine, 8 * seconds)]
                sampler = tw.compile_detector_sampler(path, seed=1, device="cuda", engine=engine)
                bits = sampler.num_detectors + sampler.num_observables
                made = []
                for layout, make in layouts.items():
                    for batch in (1 << 20,) if a.quick else (1 << 18, 1 << 20, 1 << 22):
                        if batch * bits // (1 if layout == "bools" else 8) > LARGEST_BYTES:
                            continue
                        rate, num_bytes = array_rate(sampler, make, batch, take, wait, seconds)
                        made.append({"layout": layout, "batch": batch, "shots_per_s": rate, "bytes_per_shot": num_bytes / batch})
                del sampler
                counts.append(counted(a.tilewave, path, engine, 8 * seconds))
                rate = statistics.mean(counts)
                print(f"{name + ', counted':44} {'':9} {rate / 1e6:10.1f}    ({counts[0] / 1e6:.1f}, {counts[1] / 1e6:.1f})")
                for row in made:
                    row["of_counted"] = row["shots_per_s"] / rate
                    print(f"{name + ', ' + row['layout']:44} {row['batch']:9} {row['shots_per_s'] / 1e6:10.1f} "
                          f"{row['shots_per_s'] * row['bytes_per_shot'] / 1e9:7.1f} {row['of_counted']:10.3f}", flush=True)
                rows.append({"distance": distance, "p": p, "engine": engine, "counted": counts, "arrays": made})
    if a.json:
        machine = {"machine": device, "package": package, "date": time.strftime("%Y-%m-%d"),
                   "command": "bench/device_arrays.py " + " ".join(sys.argv[1:]), "rows": rows}
        Path(a.json).write_text(json.dumps(machine, indent=1) + "\n")


if __name__ == "__main__":
    main()
