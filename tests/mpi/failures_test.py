"""Whatever ends one process ends all, with one message that names the cause."""
import os
import signal
import tempfile
import time
from pathlib import Path

from launch import HEAD, MPIEXEC, TILEWAVE, check, end, finish, mpirun, start


def messages(err):
    return [line for line in err.splitlines() if line.startswith("error:")]


def children(pid):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                found.append(int(entry.name))
    return sorted(found)


def expect(done, code, words, what):
    got, out, err = done
    lines = messages(err)
    check(got == code, f"{what}: exit {got}, not {code}: {err}")
    check(len(lines) == 1 and words in lines[0], f"{what}: messages {lines}")
    check(out == "", f"{what}: printed {out!r}")


def signalled(sig, env, path, flags=()):
    """Four ranks that repeat a circuit for hours; one of them is signalled after two seconds."""
    run = start([MPIEXEC, *flags, "-np", "4", TILEWAVE, "run", str(path), "--shots", "10", "--repeat", "10000"], env)
    time.sleep(2)
    ranks = children(run.pid)
    if len(ranks) != 4:
        return finish(run), 0
    begin = time.perf_counter()
    os.kill(ranks[2], sig)
    done = finish(run, 60)
    if sig == signal.SIGSTOP and Path(f"/proc/{ranks[2]}").exists():
        os.kill(ranks[2], signal.SIGKILL)
    return done, time.perf_counter() - begin


with tempfile.TemporaryDirectory() as folder:
    good, bad, long = (Path(folder) / name for name in ("good.qasm", "bad.qasm", "long.qasm"))
    other = Path(folder) / "other.qasm"
    good.write_text(HEAD + "qreg q[12];\nh q;\ncx q[0],q[11];\n")
    other.write_text(HEAD + "qreg q[12];\nh q;\ncx q[0],q[10];\n")
    bad.write_text(HEAD + "qreg q[12];\nh q[12];\n")
    layer = "".join(f"h q[{k}];\ncx q[{k}],q[{(k + 5) % 22}];\n" for k in range(22))
    long.write_text(HEAD + "qreg q[22];\n" + 400 * layer)

    expect(mpirun(3, "run", good), 2, "power of two", "three ranks")
    expect(mpirun(2, "run", bad), 4, "bad.qasm:4", "an error all find")
    expect(mpirun(2, "run", good, "--nonsense"), 2, "--nonsense", "a wrong flag")
    expect(mpirun(2, "info"), 2, "one process", "a command for one process")
    expect(mpirun(2, "run", good, "--ranks", 4), 2, "leave --ranks out", "--ranks under mpirun")
    expect(mpirun(2, "run", good, env={"TILEWAVE_MPI": "/nonexistent.so"}), 6, "TW_MPI=ON", "no module")
    both = [MPIEXEC, "-np", "1", TILEWAVE, "run", str(good), ":", "-np", "1", TILEWAVE, "run", str(bad)]
    expect(finish(start(both)), 6, "rank 1: ", "an error on rank 1 alone")
    both = [MPIEXEC, "-np", "1", TILEWAVE, "run", str(bad), ":", "-np", "1", TILEWAVE, "run", str(good)]
    expect(finish(start(both)), 4, "bad.qasm:4", "an error on rank 0 alone")

    one = [str(good), "--shots", "9", "--seed", "1"]
    for what, words in (("circuit", [str(other), *one[1:]]), ("precision", [*one, "--precision", "single"]),
                        ("effort", [*one, "--effort", "once"]), ("number of runs", [*one, "--repeat", "2"]),
                        ("shots or seed", [*one[:-1], "2"]), ("questions", [*one, "--probabilities", "all"])):
        for first, second in ((one, words), (words, one)):
            both = [MPIEXEC, "-np", "1", TILEWAVE, "run", *first, ":", "-np", "1", TILEWAVE, "run", *second]
            (code, out, err) = finish(start(both))
            check(code == 2 and out == "" and "rank 1 has another " in err and what in err,
                  f"ranks with another {what}: exit {code}: {out!r} {err}")

    (code, out, err), seconds = signalled(signal.SIGKILL, {}, long)
    check(code != 0 and out == "" and "signal 9" in err and seconds < 30,
          f"a killed rank: exit {code} after {seconds:.1f} s: {err}")
    (code, out, err), seconds = signalled(signal.SIGKILL, {}, long, ["--enable-recovery"])
    # with recovery mpirun neither ends the others nor fails itself
    check(out == "" and messages(err) and all("ended in the middle" in m for m in messages(err)) and
          seconds < 30, f"a killed rank its launcher ignores: after {seconds:.1f} s: {err}")
    for env in ({}, {"TILEWAVE_TIMEOUT_S": "3"}):
        (code, out, err), seconds = signalled(signal.SIGSTOP, env, long)
        silence = f"said nothing for {env.get('TILEWAVE_TIMEOUT_S', '7')} s"
        check(code == 6 and out == "" and len(messages(err)) == 1 and silence in err and
              seconds < 10, f"a silent rank, {env}: exit {code} after {seconds:.1f} s: {err}")

end()
