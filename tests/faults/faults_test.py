#!/usr/bin/env python3
"""Thirty planted faults: each ends within 10 s in one clear line, with the exit code that is documented, and leaves neither
a file half-written nor a process; or it does no harm at all."""
import os
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))
from patience import PATIENCE  # noqa: E402

TILEWAVE, EXAMPLES, FAIL_ALLOCATION, JUMP_CLOCK = sys.argv[1:5]
TRIES = int(sys.argv[5]) if len(sys.argv) > 5 else 60 // PATIENCE  # allocations that fail, of each command
USAGE, RESOURCES, COMMUNICATION = 2, 3, 6
LIMIT_S = 10 * PATIENCE
HEAD = 'OPENQASM 2.0;\ninclude "qelib1.inc";\n'
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("TILEWAVE_", "OMPI_", "PMI", "SLURM_"))}
ENV.update(OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive")
BELL = str(Path(EXAMPLES) / "bell.qasm")
counts = {True: 0, False: 0}
planted = []  # names of the faults


def check(good, what):
    counts[bool(good)] += 1
    if not good:
        print("FAILED:", what, flush=True)


def fault(name):
    planted.append(name)
    return name


class Done:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def __repr__(self):
        return f"exit {self.code} after {self.seconds:.1f} s: {self.out[-100:]!r} {self.err[-300:]!r}"


def run(*words, env=None, limits=None, stdout=subprocess.PIPE, timeout=60):
    def set_limits():
        for kind, value in (limits or {}).items():
            resource.setrlimit(kind, (value, value))
    begin = time.monotonic()
    done = subprocess.run([TILEWAVE, *map(str, words)], stdout=stdout, stderr=subprocess.PIPE, env={**ENV, **(env or {})},
                          preexec_fn=set_limits, timeout=PATIENCE * timeout)
    return Done(done.returncode, (done.stdout or b"").decode(errors="replace"), done.stderr.decode(errors="replace"),
                time.monotonic() - begin)


def ends(done, code, name, words=""):
    lines = [line for line in done.err.splitlines() if line.startswith(("error:", "libgomp:"))]
    if done.code == -signal.SIGABRT and done.err.startswith("Fatal glibc error: failed to register TLS destructor"):
        return  # the system's own library ends a process that has no memory for a thread's variable
    check(done.code == code and len(lines) == 1 and words in done.err and done.seconds < LIMIT_S, f"{name}: {done}")


def files_in(folder):
    return sorted(p.name for p in Path(folder).iterdir())


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_ranks(size, *words, programs=None, env=None):
    root = f"127.0.0.1:{free_port()}"
    return [subprocess.Popen([(programs or [TILEWAVE] * size)[k], *map(str, words)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True,
                             env={**ENV, "OMP_NUM_THREADS": "1", "TILEWAVE_PROCESSES": str(size), "TILEWAVE_PROCESS": str(k),
                                  "TILEWAVE_ROOT": root, **(env or {})}) for k in range(size)]


def end_of(ranks, begin):
    done = []
    for process in ranks:
        try:
            out, err = process.communicate(timeout=60 * PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += "\nerror: it never ended"
        done.append(Done(process.returncode, out, err, time.monotonic() - begin))
    return done


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    image = folder / "image.pgm"
    image.write_bytes(b"P5 64 64 255\n" + bytes(k * 7 % 251 for k in range(64 * 64)))
    stim = folder / "code.stim"
    stim.write_text("H 0\nREPEAT 20 {\nCX 0 1 1 2\nDEPOLARIZE1(0.01) 0 1 2\nM 1\nDETECTOR rec[-1]\n}\nM 0 1 2\n")
    twelve = folder / "twelve.qasm"
    twelve.write_text(HEAD + "qreg q[12]; h q; cx q[0],q[11]; rx(0.3) q[4];")

    # ---- places that cannot be written ----
    ends(run("run", BELL, stdout=open("/dev/full", "wb")), RESOURCES, fault("a full disk below the standard output"))
    done = subprocess.run(["/bin/sh", "-c", f'exec "{TILEWAVE}" run "{BELL}" >&-'], stderr=subprocess.PIPE, env=ENV)
    ends(Done(done.returncode, "", done.stderr.decode(), 0), RESOURCES, fault("a closed standard output"), "closed")
    reader, writer = os.pipe()
    os.close(reader)
    done = run("sample", "--in", stim, "--shots", 100000, stdout=writer)
    os.close(writer)
    check(done.code in (-signal.SIGPIPE, RESOURCES) and done.seconds < LIMIT_S, f"{fault('a pipe that nobody reads')}: {done}")
    small = {resource.RLIMIT_FSIZE: 4096}
    for title, words, output in [
            (fault("no room for a state"), ("run", twelve, "--state"), "s.npy"),
            (fault("no room for a report"), ("run", twelve, "--report"), "r.html"),
            (fault("no room for a TIFF"), ("entropy", image, "--levels", 256, "-o"), "e.tif"),
            (fault("no room for a PNG"), ("map", "--expr", "v", "--dtype", "u8", image, "-o"), "m.png"),
            (fault("no room for an array"), ("entropy", image, "--levels", 256, "-o"), "e.npy"),
            (fault("no room for a checkpoint"), ("run", twelve, "--checkpoint"), "kept")]:
        place = folder / f"of {output}"
        place.mkdir()
        limits = small if output != "m.png" else {resource.RLIMIT_FSIZE: 64}
        ends(run(*words, place / output, limits=limits), RESOURCES, title, output)
        left = [p for p in place.rglob("*") if p.is_file()]
        check(not left, f"{title}: nothing stays: {left}")
    shots = folder / "shots.01"
    done = run("sample", "--in", stim, "--shots", 5000, "--out", shots, limits=small)
    ends(done, RESOURCES, fault("no room for shots"))
    check(shots.stat().st_size % 24 == 0, f"a file of shots ends behind a whole one: {shots.stat().st_size}")
    ends(run("run", twelve, "--state", folder / "no" / "such" / "s.npy"), RESOURCES, fault("a folder that is not there"))
    ends(run("run", twelve, "--state", "/proc/s.npy"), RESOURCES, fault("a folder that takes no files"))

    # ---- caches, clocks and languages of others do no harm ----
    good = run("run", twelve, "--shots", 50, "--seed", 1, "--quiet", "--probabilities", "all")
    check(good.code == 0, f"undisturbed: {good}")

    def harmless(title, env):
        done = run("run", twelve, "--shots", 50, "--seed", 1, "--quiet", "--probabilities", "all", env=env)
        check((done.code, done.out, done.err) == (0, good.out, good.err), f"{title}: {done}")

    harmless(fault("a cache that is no folder"), {"XDG_CACHE_HOME": "/dev/null"})
    harmless(fault("no home and no cache"), {"XDG_CACHE_HOME": "", "HOME": ""})
    cache = folder / "cache" / "tilewave"
    cache.mkdir(parents=True)
    for name in ("costs", "costs.txt", "0123456789abcdef.kept"):
        (cache / name).write_bytes(b"tilewave kept bytes 1\n99999999999 9999999999999 1\n" + random.Random(1).randbytes(2000))
    harmless(fault("a damaged cache"), {"XDG_CACHE_HOME": str(cache.parent)})
    harmless(fault("a clock that jumps"), {"LD_PRELOAD": JUMP_CLOCK})
    locales = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split()
    for locale in [*[x for x in locales if x.startswith(("de_", "fr_", "tr_"))][:3], "C", "xx_NOWHERE"]:
        harmless("another language", {"LC_ALL": locale})
    fault("another language")

    # ---- memory that ends, at any allocation ----
    draw = random.Random(int(time.time()))
    three = folder / "three.qasm"
    three.write_text("OPENQASM 3.0; qubit[3] q; bit[3] c; def f(qubit a) -> bit { h a; return measure a; } c[0] = f(q[0]);"
                     "while (c[0]) { c[0] = f(q[0]); } if (c[1]) { x q[2]; } for int i in [0:2] { rx(i*0.1) q[i]; } c = measure q;")
    noise = Path(EXAMPLES) / "noise" / "device.json"
    png = folder / "image.png"
    check(run("entropy", image, "--levels", 256, "--dtype", "u8", "-o", png).code == 0, "an image in PNG")
    for title, words in [
            (fault("no memory: a circuit"), ("run", BELL, "--shots", 10, "--seed", 1, "--quiet")),
            (fault("no memory: control flow"), ("run", three, "--shots", 10, "--seed", 1, "--quiet")),
            (fault("no memory: noise"), ("run", BELL, "--noise", noise, "--shots", 10, "--seed", 1, "--quiet")),
            (fault("no memory: a state in a file"), ("run", twelve, "--state", folder / "o" / "s.npy")),
            (fault("no memory: a checkpoint"), ("run", twelve, "--checkpoint", folder / "o" / "kept", "--seed", 1, "--quiet")),
            (fault("no memory: samples"), ("sample", "--in", stim, "--shots", 100, "--seed", 1)),
            (fault("no memory: detectors"), ("detect", "--in", stim, "--shots", 100, "--seed", 1)),
            (fault("no memory: an image"), ("entropy", image, "--levels", 256, "-o", folder / "o" / "e.tif")),
            (fault("no memory: an image in PNG"), ("entropy", png, "--levels", 256, "--dtype", "u8", "-o", folder / "o" / "e.png"))]:
        (folder / "o").mkdir(exist_ok=True)
        number = folder / "number"
        whole = run(*words, env={"LD_PRELOAD": FAIL_ALLOCATION, "COUNT_ALLOCATIONS": str(number)})
        check(whole.code == 0, f"{title}: undisturbed: {whole}")
        count = int(number.read_text())
        tries = range(1, count + 1) if count <= TRIES else sorted(draw.sample(range(1, count + 1), TRIES))
        for k in tries:
            for path in (folder / "o").rglob("*"):
                if path.is_file():
                    path.unlink()
            done = run(*words, env={"LD_PRELOAD": FAIL_ALLOCATION, "FAIL_ALLOCATION": str(k)})
            what = f"{title}, allocation {k} of {count}"
            if done.code == 0:  # it can do without
                check(done.out == whole.out or "state" in title or "image" in title, f"{what}: another answer: {done}")
            else:
                ends(done, RESOURCES, what)
            left = [p.name for p in (folder / "o").rglob("*") if p.name.endswith(".part")]
            check(not left, f"{what}: left {left}")

    # ---- ranks ----
    def random_circuit(qubits, gates, reach):
        lines = []
        for _ in range(gates):
            a = draw.randrange(qubits)
            b = draw.choice([q for q in range(max(0, a - reach), min(qubits, a + reach + 1)) if q != a])
            lines.append(f"u3({draw.random()},{draw.random()},0.1) q[{a}];\ncx q[{a}],q[{b}];\n")
        return HEAD + f"qreg q[{qubits}];\nh q;\n" + "".join(lines)

    passes, exchanges, small, observe = (folder / name for name in ("passes.qasm", "exchanges.qasm", "small.qasm", "terms.txt"))
    passes.write_text(random_circuit(22, 6000, 1))
    exchanges.write_text(random_circuit(16, 20000, 15))  # small shards, nearly every pass needs another qubit of the ranks
    small.write_text(random_circuit(20, 40, 3))
    # every string flips other qubits, those of the ranks too: a walk and an exchange of sums for each
    observe.write_text("".join("0.1 " + "".join(draw.choice("XYZ") for _ in range(20)) + "\n" for _ in range(3000)))
    KILLS = [("a pass", [passes]), ("an exchange", [exchanges]), ("a collective", [small, "--expect", observe])]
    for where, words in KILLS:
        for sig, how in ((signal.SIGKILL, "is killed"), (signal.SIGSTOP, "stalls")):
            title = fault(f"a rank that {how} in {where}")
            # repeated until the fault comes, however fast the machine is
            ranks = start_ranks(4, "run", *words, "--repeat", 10000, "--state", folder / "ranks.npy")
            victim = ranks[draw.randrange(4)]
            time.sleep((1.5 + draw.random()) * PATIENCE)
            if any(p.poll() is not None for p in ranks):  # it met nobody
                check(False, f"{title}: it ended before: {end_of(ranks, time.monotonic())}")
                continue
            victim.send_signal(sig)
            done = end_of([p for p in ranks if p is not victim], time.monotonic())
            if sig == signal.SIGSTOP:
                victim.kill()
            victim.communicate()
            told = [line for d in done for line in d.err.splitlines() if line.startswith("error:")]
            # the last of them: nobody may wait for its passes to end
            check(all(d.code == COMMUNICATION for d in done) and done[-1].seconds < LIMIT_S and len(told) == 1 and
                  f"rank {ranks.index(victim)}" in told[0], f"{title}: {done}")
            check(not (folder / "ranks.npy").exists(), f"{title}: no state is written")
    # two versions together: the same program with another number
    other = folder / "other"
    program = Path(TILEWAVE).read_bytes()
    version = re.search(rb"tilewave (\d+\.\d+\.\d+)", subprocess.run([TILEWAVE, "--version"], capture_output=True).stdout)[1]
    changed = version[:-1] + bytes([version[-1] ^ 1])
    other.write_bytes(program.replace(version + b"\0", changed + b"\0"))
    other.chmod(0o755)
    begin = time.monotonic()
    done = end_of(start_ranks(2, "run", twelve, programs=[TILEWAVE, str(other)]), begin)
    check(all(d.code == USAGE for d in done) and "rank 1 has another version" in done[0].err and done[0].seconds < LIMIT_S,
          f"{fault('two versions together')}: {done}")
print(f"{len(planted)} faults planted, {counts[True]} checks passed, {counts[False]} failed")
sys.exit(1 if counts[False] or len(planted) < 30 else 0)
