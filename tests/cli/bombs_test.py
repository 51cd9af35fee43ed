#!/usr/bin/env python3
"""Small files that ask for much: deep nesting, long lines, sizes that no file has, texts that expand. Each is refused in one line with
its exit code, before memory is taken: the most that the program ever held is measured."""
import os
import resource
import struct
import subprocess
import tempfile
import threading
import time
import zlib
from pathlib import Path

from program import EXAMPLES, HEAD, PATIENCE, SANITIZED, TILEWAVE, Checker
from raster_files import npy_bytes

USAGE, RESOURCES, INPUT = 2, 3, 4
c = Checker()
N = 300_000  # of whatever is repeated
BELL = EXAMPLES / "bell.qasm"
THREE = "OPENQASM 3.0; qubit q; "


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, data, lace=0, before=b""):
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, lace)) + before
            + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


def tiff(width, height, compression, tiled, bits=8):
    tags = [(256, 4, width), (257, 4, height), (258, 3, bits), (259, 3, compression), (262, 3, 1), (277, 3, 1)]
    tags += [(322, 4, width), (323, 4, height), (324, 4, 8), (325, 4, 10)] if tiled else [(273, 4, 8), (278, 4, height), (279, 4, 10)]
    return (struct.pack("<2sHI", b"II", 42, 24) + bytes(16) + struct.pack("<H", len(tags))
            + b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags) + bytes(4))


RUN, RUN3, SAMPLE, DETECT, DEM = ["run", "FILE.qasm"], ["run", "FILE.qasm"], ["sample", "--in", "FILE.stim"], ["detect", "--in", "FILE.stim"], \
    ["sample_dem", "--in", "FILE.dem"]
NOISE, PAULI = ["run", BELL, "--noise", "FILE.json"], ["run", BELL, "--expect", "FILE.txt"]
MAP = ["map", "--expr", "v", "-o", "OUT.npy"]
BOMBS = [  # what, words, content, exit code, words of the message
    # nesting
    ("parentheses", RUN, HEAD + "qreg q[1]; rx(" + "(" * N + "1" + ")" * N + ") q[0];", INPUT, "nested 256 deep"),
    ("signs", RUN, HEAD + "qreg q[1]; rx(" + "-" * N + "1) q[0];", INPUT, "nested 256 deep"),
    ("powers", RUN, HEAD + "qreg q[1]; rx(" + "2^" * N + "1) q[0];", INPUT, "nested 256 deep"),
    ("definitions", RUN, HEAD + "gate g0 a {h a;}" + "".join(f"gate g{k} a {{g{k - 1} a;}}" for k in range(1, 5000))
     + "qreg q[1]; g4999 q[0];", INPUT, "nested more than 1000 deep"),
    ("parentheses of OpenQASM 3", RUN3, THREE + "rx(" + "(" * N + "1" + ")" * N + ") q;", INPUT, "nested more than 256 deep"),
    ("negations", RUN3, THREE + "if(" + "!" * N + "true) x q;", INPUT, "nested more than 256 deep"),
    ("indices", RUN3, THREE + "x q" + "[0" * N + "]" * N + ";", INPUT, "nested more than 256 deep"),
    ("blocks", RUN3, THREE + "if(true){" * N + "x q;" + "}" * N, INPUT, "nested more than 256 deep"),
    ("boxes", RUN3, THREE + "box {" * N + "x q;" + "}" * N, INPUT, "nested more than 256 deep"),
    ("lists", RUN3, THREE + "array[int[64], 2] a = " + "{" * N + "1" + "}" * N + "; x q;", INPUT, "nested more than 256 deep"),
    ("calls", RUN3, THREE + "def f(int n) -> int { return f(n+1); } int x = f(0);", INPUT, "more than 200 deep"),
    ("an input", [*RUN3, "--input", "x=" + "(" * 50000], "OPENQASM 3.0; input float x; qubit q; rx(x) q;", INPUT, "nested 256 deep"),
    ("qubits of a tableau", SAMPLE, "".join(f"{gate} {' '.join(map(str, range(1_000_000)))}\n" for gate in ("H", "M")), RESOURCES,
     "a tableau of 1000000 qubits takes"),
    ("REPEAT", SAMPLE, "REPEAT 2 {\n" * N + "M 0\n" + "}\n" * N, INPUT, "nested too deeply"),
    ("repeat of a model", DEM, "repeat 2 {\n" * N + "}\n" * N, INPUT, "nested too deeply"),
    ("objects of JSON", NOISE, '{"channels":' * N + "1" + "}" * N, INPUT, "nested more than 64 deep"),
    ("lists of JSON", NOISE, '{"channels":' + "[" * N + "]" * N + "}", INPUT, "nested more than 64 deep"),
    ("an expression of map", ["map", "--expr", "(" * 50000 + "v" + ")" * 50000, "FILE.pgm", "-o", "OUT.npy"], b"P5 4 4 255\n" + bytes(16),
     USAGE, "too deeply nested"),
    ("a long expression of map", ["map", "--expr", "v+" * 50000 + "v", "FILE.pgm", "-o", "OUT.npy"], b"P5 4 4 255\n" + bytes(16),
     USAGE, "too long"),
    # sizes that are only said
    ("qubits", RUN, HEAD + "".join(f"qreg q{k}[1000000];" for k in range(100)), INPUT, "too many qubits"),
    ("bits", RUN3, THREE + "bit[1000000000000] c;", INPUT, "at most 1048576"),
    ("an array", RUN3, THREE + "array[int[64], 1000000, 1000000] a;", INPUT, "1 to 65536 elements"),
    ("controls", RUN3, THREE + "ctrl(1000000000) @ x q;", INPUT, "1 to 64 controls"),
    ("qubits of qsim", ["run", "FILE.txt"], "99999999999\n0 h 0\n", INPUT, "1 to 1048576"),
    ("an observable", DETECT, "M 0\nOBSERVABLE_INCLUDE(4294967295) rec[-1]\n", INPUT, "2^24 - 1"),
    ("a detector of a model", DEM, "error(0.1) D4611686018427387903\n", RESOURCES, "too large"),
    ("an observable of a model", DEM, "error(0.1) L4000000000\n", RESOURCES, "too large"),
    # texts that expand
    ("gates of gates", RUN, HEAD + "gate g0 a {h a;}" + "".join(f"gate g{k} a {{g{k - 1} a;g{k - 1} a;}}" for k in range(1, 60))
     + "qreg q[1]; g59 q[0];", INPUT, "expands to more"),
    ("loops", RUN3, THREE + "".join(f"for int i{k} in [0:1000000] " for k in range(20)) + "x q;", INPUT, "expands to more"),
    ("a power", RUN3, THREE + "pow(1000000000) @ x q;", INPUT, "expands to more"),
    ("records", SAMPLE, "REPEAT 1000000000000 {\nM 0\n}\n", RESOURCES, "REPEAT"),
    ("errors of a model", DEM, "repeat 1000000000000 {\nerror(0.1) D0\nshift_detectors 1\n}\n", RESOURCES, "repeat"),
    # long lines
    ("a word", RUN, HEAD + "qreg q[1]; " + "x" * 20 * N, INPUT, "unknown gate"),
    ("a number", RUN3, THREE + "rx(" + "9" * 5 * N + ") q;", INPUT, "too large"),
    ("a number of JSON", NOISE, '{"channels":[{"after":"all","channel":"bit_flip","p":' + "1" * 5 * N + "}]}", INPUT, "too large"),
    ("parameters of a gate", RUN, HEAD + "gate g(" + ",".join(f"a{k}" for k in range(N)) + ",a0) x {} qreg q[1];", INPUT, "used twice"),
    ("qubits of a gate", RUN3, THREE + "gate g " + ",".join(f"a{k}" for k in range(N)) + ",a0 {}", INPUT, "used twice"),
    ("a Pauli string", PAULI, "1 " + "Z" * 10 * N, INPUT, "qubits"),
    ("a comment", RUN3, "OPENQASM 3.0; /*" * N, INPUT, "not closed"),
    ("a line of shots", ["m2d", "--in", "FILE.01", "--circuit", "CIRCUIT", "--in_format", "01"], "1" * 20 * N, INPUT, "longer than"),
    ("a line of classes", ["entropy", "IMAGE", "--classes", "FILE.csv", "-o", "OUT.npy"], "1" * 20 * N, INPUT, "4096 bytes"),
    # images and arrays whose size is not the file's
    *[(f"a TIFF file, compression {how}, {'tiles' if tiled else 'strips'}", [*MAP, "FILE.tif"], tiff(2_000_000_000, 2_000_000_000, how, tiled), INPUT,
       "truncated or damaged") for how in (1, 5, 8, 7, 32773, 34925, 50000) for tiled in (False, True)],
    *[(f"a wide TIFF file of {bits} bits, compression {how}", [*MAP, "FILE.tif"], tiff(2_000_000_000, 1, how, tiled, bits), INPUT, "truncated or damaged")
      for bits, how, tiled in ((8, 1, False), (12, 1, False), (12, 8, False), (12, 1, True))],
    *[(f"a PNG file, interlaced {lace}", [*MAP, "FILE.png"], png(30000, 30000, bytes(1000), lace), INPUT, "cannot come from") for lace in (0, 1)],
    ("a PNG file without data", [*MAP, "FILE.png"], png(0x7fffffff, 0x7fffffff, b""), INPUT, "cannot read the raster"),
    ("an array", [*MAP, "FILE.npy"], npy_bytes((1 << 40, 1 << 20), "|u1", b""), INPUT, "truncated"),
    ("a header of an array", [*MAP, "FILE.npy"], b"\x93NUMPY\x02\x00" + struct.pack("<I", 0x7fffffff) + b"(" * 1000, INPUT, "64 KiB"),
    ("a state", ["run", BELL, "--initial-state", "FILE.npy"], npy_bytes((1 << 40,), "<c16", bytes(64)), INPUT, "truncated"),
    ("a PGM file", [*MAP, "FILE.pgm"], b"P5 2000000000 2000000000 255\n" + bytes(100), INPUT, "cannot read the raster"),
]
# what may hold much, and holds little
FINE = [("texts in a PNG file", [*MAP, "FILE.png"], png(4, 4, bytes(20), 0, chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(200_000_000))))),
        ("a long comment", RUN, HEAD + "qreg q[1]; //" + "x" * 20 * N)]


def run(words, limit_s=60 * PATIENCE):
    """Exit code, message, seconds and the most MB that were held."""
    begin = time.monotonic()
    process = subprocess.Popen([TILEWAVE, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s)))
    told = []
    reader = threading.Thread(target=lambda: told.append(process.stderr.read().decode(errors="replace")))
    reader.start()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    reader.join()
    return process.returncode, told[0], time.monotonic() - begin, used.ru_maxrss / 1024


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "IMAGE").write_bytes(b"P5 4 4 255\n" + bytes(16))
    (folder / "CIRCUIT").write_text("M 0\nDETECTOR rec[-1]\n")

    def with_file(words, content):
        data = content if isinstance(content, bytes) else content.encode()
        out = []
        for word in map(str, words):
            if word.startswith("FILE."):
                (folder / word).write_bytes(data)
            is_file = word.startswith(("FILE.", "OUT.")) or word in ("IMAGE", "CIRCUIT")
            out.append(str(folder / word) if is_file else word)
        return out, len(data) / 1e6

    for what, words, content, code, reason in BOMBS:
        words, size_mb = with_file(words, content)
        got, err, seconds, held_mb = run(words)
        lines = err.splitlines()
        c.check(got == code and lines and lines[0].startswith("error:") and reason in err and len(lines) <= 4 and len(err) < 3000,
                f"{what}: exit {got}: {err[:300]}")
        c.check(seconds < 15 * PATIENCE, f"{what}: {seconds:.1f} s")
        # a few times the text, beside what the program is
        c.check(SANITIZED or held_mb < 150 + 20 * size_mb, f"{what}: held {held_mb:.0f} MB for {size_mb:.1f} MB")
    for what, words, content in FINE:
        words, size_mb = with_file(words, content)
        got, err, seconds, held_mb = run(words)
        c.check(got == 0 and seconds < 15 * PATIENCE, f"{what}: exit {got} after {seconds:.1f} s: {err[:300]}")
        c.check(SANITIZED or held_mb < 150 + 20 * size_mb, f"{what}: held {held_mb:.0f} MB for {size_mb:.1f} MB")
    # files larger than any memory (of holes) are refused by their size, not read until it is full
    for title, words, head in [("a circuit", RUN, HEAD), ("shots of a circuit", SAMPLE, "H 0\n"), ("a model", DEM, "error(0.1) D0\n"),
                               ("noise", NOISE, "{"), ("Pauli strings", PAULI, "1 ZZ\n")]:
        words, _ = with_file(words, head)
        path = next(w for w in words if "FILE." in w)
        os.truncate(path, 1 << 42)
        got, err, seconds, held_mb = run(words)
        c.check(got == RESOURCES and "does not fit this machine's memory" in err and seconds < 5 * PATIENCE, f"4 TiB of {title}: exit {got}: {err[:300]}")
        Path(path).unlink()
c.finish()
