#!/usr/bin/env python3
"""fuzz.py [--seconds S] [--jobs N] [--build FOLDER] [--work FOLDER] [TARGET ...]: runs the fuzz targets.

Builds them (preset fuzz), makes seeds from the examples, the tests and by hand, and gives every target S seconds (default 60).
What they learn stays in WORK/corpus/TARGET (default build/fuzz/work), so that hours add up; findings are in WORK/findings and make the
exit code 1. A finding becomes a test beside the reader and a file tests/fuzz/TARGET-WHAT.found, which every run begins with.
77 means skipped: the tools are not installed.
"""
import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
MEMORY_MB = 4096
SLOW_S = 20  # an input that takes longer is a finding

GATES = """x y z h s sdg t tdg sx sxdg id u0 u1 u2 u3 u U p rx ry rz cx CX cy cz ch cp cu1 cu3 crx cry crz csx swap cswap ccx rxx ryy rzz
c3x c4x c3sqrtx rccx rc3x gphase iswap dcx ecr""".split()
QASM = ["qreg", "creg", "gate", "opaque", "if", "measure", "reset", "barrier", "include", "->", "==", "pi", "sin", "cos", "ln", "sqrt",
        "OPENQASM 2.0;", 'include "qelib1.inc";', *GATES]
WORDS = {
    "qasm2": QASM,
    "qasm3": [*QASM, "OPENQASM 3.0;", 'include "stdgates.inc";', "qubit", "bit", "int", "uint", "float", "angle", "bool", "const", "input",
              "output", "array", "def", "return", "for", "while", "in", "break", "continue", "switch", "case", "default", "else", "end",
              "let", "ctrl @", "negctrl @", "inv @", "pow(2) @", "duration", "stretch", "delay", "box", "extern", "cal", "defcal", "durationof",
              "true", "false", "tau", "euler", "<<", ">>", "++", "&&", "||", "**", "popcount", "rotl", "sizeof", "#dim", "mutable", "readonly",
              "pragma", "@annotation", "complex", "im", "0x", "0b", "ns", "us", "[0:2:7]", "physical $0"],
    "qsim": ["c", "m", "id_1", "x_1_2", "y_1_2", "hz_1_2", "fs", "cp", "rxy", "gph", "is", "sw", "cz", "cnot", *GATES],
    "stim": ["M", "MX", "MR", "R", "RX", "H", "S", "CX", "CZ", "SWAP", "ISWAP", "MPP", "SPP", "DETECTOR", "OBSERVABLE_INCLUDE", "REPEAT", "TICK",
             "QUBIT_COORDS", "SHIFT_COORDS", "DEPOLARIZE1", "DEPOLARIZE2", "X_ERROR", "PAULI_CHANNEL_1", "PAULI_CHANNEL_2", "E", "ELSE_CORRELATED_ERROR",
             "CORRELATED_ERROR", "HERALDED_ERASE", "HERALDED_PAULI_CHANNEL_1", "MPAD", "MXX", "MZZ", "rec[-1]", "sweep[0]", "X1*Z2", "!", "{", "}", "[tag]",
             "T", "TPP", "R_X(0.3)", "R_XX(0.3)", "R_PAULI(0.3)", "U3(0.1, 0.2, 0.3)", "CCX", "CCZ", "CH", "S[T]", "I[R_Z(theta=0.3*pi)]", "(0.5)",
             "LEAKAGE(0.1)", "RELAX(0.1)", "RL", "CX(0.1, 0.2, 0.3, 0.4)", "LEAKAGE_MARK1(0.1)", "LEAKAGE1(0.1)", "LEAKAGE_SCRAMBLE", "LEAKAGE_RESET",
             "LEAKAGE_SCRAMBLE_PARTNER", "LEAKAGE_PROPAGATE(0.1, 0.2, 0.3, 0.4)", "LEAKAGE_PAULI1(0, 0, 0, 0.1, 0.1, 0.1)", "HERALD_LEAKAGE_EVENT(0.1, 0.2)"],
    "dem": ["error", "detector", "logical_observable", "shift_detectors", "repeat", "D0", "L0", "^", "{", "}", "[tag]", "(0.1)"],
    "noise": ['"channels"', '"readout"', '"absent_qubits"', '"after"', '"before"', '"channel"', '"depolarizing"', '"depolarizing2"', '"kraus"', '"pauli"',
              '"bit_flip"', '"phase_flip"', '"amplitude_damping"', '"phase_damping"', '"thermal_relaxation"', '"p"', '"gamma"', '"t1"', '"t2"', '"time"',
              '"qubits"', '"except"', '"acts_on"', '"label"', '"all"', '"unitary"', '"idle"', '"p1_given_0"', '"p0_given_1"', '"probabilities"', "1e308", "null"],
    "pauli": ["I", "X", "Y", "Z", "X0", "*", "+", "-", "1e", "#"],
    "map": ["v", "ix", "iy", "idx", "sqrt(", "min(", "pow(", "atan2(", "hypot(", "? 1 : 0", "%", "&&", "||", "!", "<=", "==", "log1p(", "1e38", "round("],
}
WORDS["circuit"] = WORDS["qasm3"] + WORDS["qsim"]
WORDS["qasm3_input"] = ["pi", "tau", "euler", "true", "0b1", "ns", "us", "dt", "sin(", "**"]
WORDS["sampler"] = WORDS["diagram"] = WORDS["stim"]
WORDS["model"] = WORDS["dem"]

NOT_SEEDS = 20000  # longer files teach little


def npy(shape, code, data):
    header = repr({"descr": code, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def png(width, height, colour, depth, interlace=0):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    rows = b"".join(b"\0" + bytes((k * 7 + y) % 256 for k in range((width * channels * depth + 7) // 8)) for y in range(height))
    palette = chunk(b"PLTE", bytes(range(48))) if colour == 3 else b""
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)) + palette
            + chunk(b"tRNS", b"\0\1") * (colour == 0) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def tiff(order="<", tiled=False, bits=8, count=1, big=False):
    """A TIFF file of 4 x 4 pixels (16 x 16 where tiled)."""
    size = 16 if tiled else 4
    data = bytes(range(256))[:size * size * bits // 8 % 257] * count
    data = (data * 256)[:size * size * bits // 8 * count]
    head = 16 if big else 8
    tags = [(256, 3, [size]), (257, 3, [size]), (258, 3, [bits] * count), (259, 3, [1]), (262, 3, [2 if count == 3 else 1]),
            (277, 3, [count]), (339, 3, [1] * count)]
    tags += [(322, 3, [16]), (323, 3, [16]), (324, 4, [head]), (325, 4, [len(data)])] if tiled else \
            [(273, 4, [head]), (278, 3, [size]), (279, 4, [len(data)])]
    tags.sort()
    extra_at, extra, entries = head + len(data) + (8 if big else 2) + len(tags) * (20 if big else 12) + (8 if big else 4), b"", b""
    for tag, kind, values in tags:
        packed = struct.pack(order + "HI"[kind == 4] * len(values), *values)
        room = 8 if big else 4
        if len(packed) > room:
            where = extra_at + len(extra)
            extra += packed
            packed = struct.pack(order + ("Q" if big else "I"), where)
        entries += struct.pack(order + ("HHQ" if big else "HHI"), tag, kind, len(values)) + packed.ljust(room, b"\0")
    mark = b"II" if order == "<" else b"MM"
    start = mark + (struct.pack(order + "HHHQ", 43, 8, 0, head + len(data)) if big else struct.pack(order + "HI", 42, head + len(data)))
    count_word = struct.pack(order + ("Q" if big else "H"), len(tags))
    return start + data + count_word + entries + bytes(8 if big else 4) + extra


def texts(*patterns):
    found = []
    for pattern in patterns:
        for path in sorted(SOURCE.glob(pattern)):
            data = path.read_bytes()
            if len(data) <= NOT_SEEDS:
                found.append(data)
    return found


def raw_strings(*patterns):
    """Programs that stand in tests between R"( and )"."""
    found = []
    for pattern in patterns:
        for path in sorted(SOURCE.glob(pattern)):
            found += [m.encode() for m in re.findall(r'R"\w*\((.*?)\)\w*"', path.read_text(), re.DOTALL)]
    return found


def seeds():
    qasm = texts("examples/**/*.qasm", "tests/**/*.qasm") + raw_strings("src/tilewave/language/qasm*/*_test.cc")
    three = [t for t in qasm if b"OPENQASM 3" in t]
    two = [t for t in qasm if b"OPENQASM 3" not in t]
    stim = texts("examples/**/*.stim", "tests/**/*.stim") + raw_strings("src/tilewave/language/stim/*_test.cc", "src/tilewave/stabilizer/*_test.cc")
    models = texts("examples/**/*.dem", "tests/**/*.dem") + [b"error(0.1) D0 D1 ^ L0\nrepeat 3 {\n error(0.2) D1\n shift_detectors(1) 2\n}\ndetector(1,2) D3\n"]
    numbers = [struct.pack("<32d", *range(32)), bytes(range(64))]
    return {
        "qasm2": two or [b'OPENQASM 2.0;include "qelib1.inc";qreg q[3];creg c[3];gate g(a) x,y{u3(a,pi/2,0)x;cx x,y;}'
                         b'g(0.5) q[0],q[1];if(c==1) x q[2];measure q->c;'],
        "qasm3": three + [
            b"OPENQASM 3.0; qubit[3] q; bit[3] c; int[8] n = 3; for int i in [0:n-1] { h q[i]; } c = measure q; if (c[0]) { x q[1]; }",
            b"OPENQASM 3.0; def f(qubit a, int[4] k) -> bit { bit b; for uint j in {1,2,k} rx(pi/j) a; b = measure a; return b; } qubit q; bit c; c = f(q, 3);",
            b"OPENQASM 3.0; input angle[4] x; qubit[2] q; ctrl @ pow(1/2) @ x q[0], q[1]; array[int[8], 2, 2] a = {{1,2},{3,4}}; rz(a[1][0]) q[0];",
            b"OPENQASM 3.0; qubit q; bit c; while (c == 0) { h q; c = measure q; } switch (int(c)) { case 0, 1 { x q; } default { z q; } }"],
        "qasm3_input": [b"pi/2", b"0b0101", b'"0101"', b"100ns", b"true", b"-3"],
        "circuit": qasm[:40] + texts("examples/**/*.txt"),
        "qsim": texts("examples/**/*qsim*", "tests/**/*.qsim") + [b"3\n0 h 0\n0 rx 1 0.5\n1 cnot 0 1\n2 c 0 rz 2 0.3\n3 fs 1 2 0.1 0.2\n4 m 0 1 2\n"],
        "stim": stim + [b"H 0\nCX 0 1\nM !0 1\nDETECTOR(1,2) rec[-1] rec[-2]\nREPEAT 3 {\n  MPP X0*Z1\n}\nOBSERVABLE_INCLUDE(0) rec[-1]\n",
                        b"T[a] 0\nTPP X0*!Y1\nR_XX(0.3) 0 1\nR_PAULI(0.5) X0*Y1*X0 Z2\nU3(0.5,1,0.25) 0\nCCX 0 1 2\nCH 0 1\nM 0\nCY rec[-1] 1\n",
                        b"LEAKAGE(0.1) 0 1\nCX(0.1,0.2,0.3,0.4) 0 1 1 2\nRELAX(0.5) 0\nRL 1\nSPP X0*Z1\nMPP X0*Y2\nHERALD_LEAKAGE_EVENT(0.1,0.2) 0 1\n",
                        b"LEAKAGE1(0.1) 0\nCX 0 1\nLEAKAGE_PROPAGATE(0.1,0,0.2,0) 0 1\nLEAKAGE_SCRAMBLE 0\nLEAKAGE_SCRAMBLE_PARTNER 0 1\n"
                        b"LEAKAGE_PAULI1(0,0,0,0.1,0.1,0.1) 0\nLEAKAGE1(0.4) 0\nLEAKAGE_RELAX(0.1) 0\nHERALD_LEAKAGE_EVENT 0\n",
                        b"E(0.1) X0 Y1 Z2\nELSE_CORRELATED_ERROR(0.2) Z0\nHERALDED_ERASE(0.1) 0\nMPAD(0.1) 0 1\nMXX !0 1\nSWAP 0 1\nC_XYZ 2\n"],
        "dem": models,
        "noise": texts("examples/noise/*.json", "tests/**/*.json"),
        "pauli": [b"0.5 ZZI + 0.2 X0 Y3 - Z1", b"# sum\n1e-3 XYZ\n-2 X0*X1\n"],
        "map": [b"v * 2 + sqrt(ix) % 3", b"ix % 2 == 0 ? log(v) : atan2(v, iy)", b"min(v, max(1, idx / 4)) && !(v < 0)"],
        "shots": [bytes([f, 0, 3, 0, 2, 0, 1, 0, 0]) + data for f, data in
                  enumerate([b"010101\n111000\n", b"\x15\x2a", b"\1\2\3\xff\1", bytes(48), b"0,3\n\n5\n", b"shot M0 D1 L0\nshot\n", struct.pack("<3I", 2, 1, 4)])],
        "npy": [npy((2, 16), "<f8", numbers[0]), npy((4, 4), "|u1", numbers[1][:16]), npy((), ">c8", bytes(8))],
        "npy_image": [npy((4, 4), "|u1", numbers[1][:16]), npy((2, 4, 4), "<f4", bytes(128)), npy((4, 2, 3), ">u2", bytes(48))],
        "png": [png(5, 4, colour, depth, lace) for colour, depth, lace in
                [(0, 8, 0), (0, 1, 0), (0, 16, 0), (2, 8, 0), (3, 4, 0), (4, 8, 0), (6, 16, 0), (0, 8, 1)]],
        "tiff": [tiff(order, tiled, bits, count, big) for order in "<>" for tiled in (False, True) for bits, count in ((8, 1), (16, 1), (8, 3), (32, 1))
                 for big in (False, True)],
        "pgm": [b"P5 4 4 255\n" + bytes(16), b"P5\n# a picture\n2 2\n65535\n" + bytes(8), b"P2 2 2 9 1 2 3 4"],
        "raw": [bytes([4, 0, 4, 0, 1, 0, 0, 0]) + bytes(16)],
        "study": [struct.pack("<ii", 4, 3) + bytes(12) + struct.pack("<ii", 2, 2) + bytes(4)],
        "classes": [b"value,class\n1,0\n2,1\n3,\n\"4\",nodata\n# end\n"],
        "circuit_bytes": [b"tilewave circuit 2\n" + struct.pack("<4Q", 2, 0, 0, 0) + bytes(64)],
        "record": [bytes(400)],
        "checkpoint": [struct.pack("<Q", 16) + b"0123456789abcdef" + bytes(40)],
        "row_counts": [struct.pack("<QQ5sQQ5sQ", 2, 5, b"01234", 7, 5, b"abcde", 1), bytes(8)],
        "meeting": [struct.pack("<QQqiii", 0x32656C6954576176, 5, 7, 1, 2, 4000) + b"127.0.0.1".ljust(64, b"\0") + b"host".ljust(128, b"\0"),
                    struct.pack("<QQii", 0x32656C6954576176, 5, 2, 3) + b"why".ljust(500, b"\0")],
        "plan": [bytes(range(200)), bytes(k * 37 % 256 for k in range(300))],
        "tile": [bytes(range(200)), bytes(k * 91 % 256 for k in range(300))],
        "engine": [bytes(range(200)), bytes(k * 53 % 256 for k in range(300))],
        "sampler": stim,
        "diagram": [bytes([k % 4]) + text for k, text in enumerate(stim)],
        "model": models,
    }


def build(folder):
    for tool in ("clang++-14", "llvm-symbolizer-14"):
        if not shutil.which(tool):
            print(f"SKIPPED: {tool} is not installed: apt-get install clang-14 llvm-14 libclang-rt-14-dev libomp-14-dev")
            sys.exit(77)
    jobs = os.environ.get("TW_JOBS", str(os.cpu_count()))
    for command in (["cmake", "--preset", "fuzz"], ["ninja", "-C", str(folder), f"-j{jobs}", "fuzz"]):
        done = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout[-6000:]}{done.stderr[-2000:]}")


def run(program, target, seconds, work, words, starts):
    corpus, first, findings = work / "corpus" / target, work / "seeds" / target, work / "findings"
    for folder in (corpus, first, findings):
        folder.mkdir(parents=True, exist_ok=True)
    for k, data in enumerate(starts):
        (first / f"seed{k}").write_bytes(data)
    for path in HERE.glob(f"{target}-*.found"):
        (first / path.name).write_bytes(path.read_bytes())
    command = [str(program), f"--target={target}", str(corpus), str(first), f"-max_total_time={seconds}", f"-timeout={SLOW_S}",
               f"-rss_limit_mb={MEMORY_MB}", f"-malloc_limit_mb={MEMORY_MB}", "-max_len=4096", "-print_final_stats=1", "-verbosity=1",
               "-reload=0", f"-artifact_prefix={findings}/{target}-"]
    if words:
        path = work / f"{target}.dict"
        path.write_text("".join('"' + w.replace("\\", "\\\\").replace('"', '\\"') + '"\n' for w in dict.fromkeys(words)))
        command.append(f"-dict={path}")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=0",
                   "UBSAN_OPTIONS": "print_stacktrace=1", "ASAN_SYMBOLIZER_PATH": shutil.which("llvm-symbolizer-14") or ""}
    begin = time.monotonic()
    log = work / f"{target}.log"
    with log.open("w") as out:
        code = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, env=environment).returncode
    text = log.read_text(errors="replace")
    runs = re.findall(r"number_of_executed_units:\s*(\d+)", text)
    line = f"{target:<14} {runs[0] if runs else '?':>9} inputs in {time.monotonic() - begin:.0f} s"
    if code == 0 and runs:
        return True, line
    reason = re.findall(r"^.*(?:FOUND by|ERROR: |runtime error: ).*$", text, re.M)
    return False, f"{line}: FINDING (exit {code}): {reason[0] if reason else text[-500:]}\n  all of it is in {log}, the input in {findings}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--build", type=Path, default=SOURCE / "build/fuzz")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--no-build", action="store_true")
    parser.add_argument("targets", nargs="*")
    flags = parser.parse_args()
    if not flags.no_build:
        build(flags.build)
    program = flags.build / "tests/fuzz/fuzz"
    known = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    starts = seeds()
    unknown = set(flags.targets) - set(known)
    if unknown or set(known) != set(starts):
        sys.exit(f"no such target: {', '.join(unknown)}" if unknown else f"targets and seeds differ: {set(known) ^ set(starts)}")
    work = flags.work or flags.build / "work"
    good = True
    with ThreadPoolExecutor(flags.jobs) as pool:
        tasks = [pool.submit(run, program, t, flags.seconds, work, WORDS.get(t, []), starts[t]) for t in flags.targets or known]
        for task in tasks:
            fine, line = task.result()
            good &= fine
            print(line, flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
