#!/usr/bin/env python3
"""Limits for circuits of strangers: what is too long, too large or too slow ends with one line and its exit code."""
import os
import resource
import struct
import subprocess
import tempfile
from pathlib import Path

from program import EXAMPLES, HEAD, PATIENCE, SANITIZED, TILEWAVE, Checker, tilewave

USAGE, RESOURCES, INPUT = 2, 3, 4
c = Checker()


def ends(done, code, reason, limit_s=10, what=""):
    lines = done.err.strip().splitlines()
    c.check(done.code == code and reason in done.err and lines and lines[0].startswith("error:") and len(lines) <= 4
            and done.seconds < PATIENCE * limit_s, f"{what or reason}: {done.code} after {done.seconds:.1f} s: {done.err[-400:]}")


LOOP = "OPENQASM 3.0; qubit q; for int i in [1:1000] x q;"
ends(tilewave("run", "FILE", "--max-operations", 500, text=LOOP), INPUT, "500")
done = tilewave("run", "FILE", "--max-operations", 5000, text=LOOP)
c.check(done.code == 0, f"within the limit: {done.err}")
nested = "".join(f"gate g{k + 1} a {{ g{k} a; g{k} a; }}\n" for k in range(30))
ends(tilewave("run", "FILE", "--max-operations", 1000000, text=HEAD + "gate g0 a { h a; }\n" + nested + "qreg q[1]; g30 q[0];"),
     INPUT, "1000000")
ends(tilewave("run", "FILE", "--max-operations", 2, text="1\n0 h 0\n1 h 0\n2 h 0\n"), INPUT, "2 operations")
ends(tilewave("run", EXAMPLES / "bell.qasm", "--max-operations", 0), USAGE, "--max-operations")
ends(tilewave("bench", "FILE", "--max-operations", 500, text=LOOP), INPUT, "500")

if not SANITIZED:  # a sanitizer's shadow is memory too
    big = HEAD + "qreg q[27]; h q; rx(0.3) q; cswap q[0],q[1],q[26];"
    ends(tilewave("run", "FILE", "--max-memory", 500, "--probabilities", 0, text=big), RESOURCES, "27 qubits")
    ends(tilewave("run", "FILE", "--max-memory", 300, "--shots", 1,
                  text="OPENQASM 3.0; qubit q; bit c; for int i in [1:3000] { for int j in [1:10000] { rx(0.1*i*j) q; } }"), RESOURCES, "memory", 60)
    ends(tilewave("sample", "--in", "/dev/zero", "--shots", 1, "--max-memory", 200), RESOURCES, "memory")
    ends(tilewave("run", "FILE", "--max-memory", 100, text=HEAD + "qreg q[3]; h q;" + "x q[0];" * 3000000), RESOURCES, "memory")
    # what names too little memory, or threads that did not start, names the flag that is the cause
    with tempfile.TemporaryDirectory() as name:
        raster = Path(name) / "large.npy"
        header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (3000, 4000), }"
        raster.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) + 1) + header + b"\n" + bytes(12_000_000))
        for flags in (["map", "--expr", "v"], ["entropy"]):
            for mib in (20, 30, 40):
                done = tilewave(*flags, raster, "-o", Path(name) / "out.npy", "--max-memory", mib, "--threads", 2)
                if done.code != 0:
                    ends(done, RESOURCES, f"--max-memory lets this process take {mib} MiB", what=f"{flags[0]} {mib}")
            c.check(tilewave(*flags, raster, "-o", Path(name) / "out.npy", "--max-memory", 2000).code == 0, f"{flags[0]} 2000")
            done = tilewave(*flags, raster, "-o", Path(name) / "out.npy", "--max-memory", 10)
            ends(done, RESOURCES, "--max-memory lets this process take 10 MiB", what=f"{flags[0]} 10")
    ends(tilewave("run", "FILE", "--max-memory", 500, "--probabilities", 0, text=big), RESOURCES,
         "--max-memory lets this process take 500 MiB")
    done = tilewave("run", EXAMPLES / "bell.qasm", "--max-memory", 4000)
    c.check(done.code == 0, f"enough memory: {done.err}")

    # ulimit -v is seen before anything is allocated
    def less_address_space():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "big.qasm"
        path.write_text(big)
        done = subprocess.run([TILEWAVE, "run", path, "--threads", "1"], capture_output=True, text=True,
                              preexec_fn=less_address_space)
        c.check(done.returncode == RESOURCES and "available" in done.stderr, f"ulimit -v: {done}")

# what is too large for any memory is not told the limit on it
for name, words, text in (
        ("bits of a row", ["sample_dem", "--shots", 1], "error(1) D2147483648\n"),
        ("errors of a model", ["sample_dem", "--shots", 1], "repeat 300000000 {\nerror(0.1) D0\nshift_detectors 1\n}\n"),
        ("places of errors", ["analyze_errors"], "REPEAT 5000000000 {\nX_ERROR(0.1) 0\nM 0\nDETECTOR rec[-1]\n}\n")):
    done = tilewave(*words, "--max-memory", 4000, "--in", "FILE", text=text)
    ends(done, RESOURCES, "", what=name)
    c.check("--max-memory" not in done.err, f"{name}: {done.err}")
done = tilewave("run", "FILE", "--max-memory", 4000, "--probabilities", 0, text=HEAD + "qreg q[60]; h q; cswap q[0],q[1],q[59];")
c.check(done.code == RESOURCES and "60 qubits" in done.err and "--max-memory" not in done.err, f"60 qubits: {done.err}")
with tempfile.TemporaryDirectory() as name:
    done = tilewave("sample", "--in", "FILE", "--out", Path(name) / "none" / "x", "--max-memory", 4000, text="M 0\n")
    c.check(done.code == RESOURCES and "--max-memory" not in done.err, f"a file that cannot be written: {done.err}")

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    endless = "OPENQASM 3.0; qubit[16] q; bit c; c = measure q[0]; while (!c || c) { for int i in [0:15] h q[i]; c = measure q[0]; }"
    ends(tilewave("run", "FILE", "--max-seconds", "0.5", "--shots", 1, "--state", folder / "s.npy", text=endless), RESOURCES, "max-seconds", 5)
    loop = folder / "loop.stim"
    loop.write_text("REPEAT 10000000000 {\nELSE_CORRELATED_ERROR(0.1) X0\n}\nM 0\n")
    ends(tilewave("sample", "--in", loop, "--shots", 1, "--max-seconds", "0.5", "--out", folder / "shots"), RESOURCES, "max-seconds", 5)
    left = [p.name for p in folder.iterdir() if p.name not in ("loop.stim", "shots")]
    c.check(not left, f"nothing half-written stays: {left}")
    for bad in ("0", "-1", "soon", "1e30"):
        ends(tilewave("run", EXAMPLES / "bell.qasm", "--max-seconds", bad), USAGE, "--max-seconds")
    done = tilewave("run", EXAMPLES / "bell.qasm", "--max-seconds", "1.5h")
    c.check(done.code == 0, f"enough time: {done.err}")
c.finish()
