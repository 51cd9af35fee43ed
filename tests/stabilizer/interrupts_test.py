"""What is kept when sampling is cut short, and the memory of long runs.

Usage: interrupts_test.py PATH/TO/tilewave
"""
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = sys.argv[1]
CIRCUIT = "REPEAT 50 {\nDEPOLARIZE1(0.01) 0 1 2 3\nMR 0 1 2 3\nDETECTOR rec[-1]\nDETECTOR rec[-2]\nDETECTOR rec[-3]\n}\n"
ROW = (150 + 7) // 8


def command(path, shots, *flags, fmt="b8"):
    return [PROGRAM, "detect", "--in", path, "--shots", str(shots), "--seed", "5", "--out_format", fmt, *flags]


def test_an_interrupt_keeps_finished_shots_and_says_where_to_go_on(circuit, folder):
    for threads in "1", "3":
        out = os.path.join(folder, "part" + threads)
        process = subprocess.Popen(command(circuit, 10**11, "--out", out, "--threads", threads), stderr=subprocess.PIPE)
        while not os.path.exists(out) or os.path.getsize(out) < 10**6:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        message = process.communicate(timeout=60)[1].decode()
        assert process.returncode == -signal.SIGINT, process.returncode
        done = int(re.search(r"before shot (\d+) of seed 5", message).group(1))
        part = open(out, "rb").read()
        assert len(part) == done * ROW, (len(part), done)
        engine = re.search(r"--engine (\w+)", message).group(1)
        some = min(done, 20000)
        whole = subprocess.run(command(circuit, 1000, "--first_shot", str(done - some), "--engine", engine),
                               capture_output=True, check=True)
        assert part[(done - some) * ROW:][:1000 * ROW] == whole.stdout


def test_a_full_disk_says_where_to_go_on(circuit, folder):
    del folder
    result = subprocess.run(command(circuit, 10**7, "--out", "/dev/full"), capture_output=True)
    assert result.returncode == 3, result
    message = result.stderr.decode()
    assert message.count("\n") == 1 and "/dev/full" in message and "--first_shot" in message, message


def test_a_disk_that_fills_up_keeps_every_whole_shot(circuit, folder):
    room = 300_007

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    for fmt in "b8", "01", "r8", "ptb64", "hits", "dets", "sparse":
        for threads in "1", "2":
            out = os.path.join(folder, "little")
            words = command(circuit, 640_000, "--threads", threads, fmt=fmt)
            result = subprocess.run(words + ["--out", out], capture_output=True, preexec_fn=little_room)
            assert result.returncode == 3, result
            done = int(re.search(rb"stopped before shot (\d+)", result.stderr).group(1))
            engine = ["--engine", re.search(rb"--engine (\w+)", result.stderr).group(1).decode()]
            part = open(out, "rb").read()
            more = subprocess.run(command(circuit, 640, "--first_shot", str(done), *engine, fmt=fmt), capture_output=True, check=True)
            whole = subprocess.run(command(circuit, done + 640, *engine, fmt=fmt), capture_output=True, check=True)
            assert part + more.stdout == whole.stdout, (fmt, threads, done)
            assert len(part) <= room < len(whole.stdout) and len(part) > room - 64 * 160 // 8 - 64, (fmt, done, len(part))


def peak_kilobytes(words):
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return usage.ru_maxrss


def test_memory_does_not_grow_with_the_shots(circuit, folder):
    del folder
    for fmt, *flags in ["b8", "--engine", "sparse"], ["b8", "--engine", "frame"], ["dets"], ["counts", "--threads", "2"]:
        few, many = (peak_kilobytes(command(circuit, n, *flags, fmt=fmt)) for n in (200_000, 4_000_000))
        assert many < 1.2 * few + 2000, (fmt, flags, few, many)


def test_threads_that_cannot_be_started(circuit, folder):
    """Address space for some stacks, not for all: one message, exit code 3, whoever starts the threads."""
    qasm = os.path.join(folder, "circuit.qasm")
    with open(qasm, "w") as f:
        f.write('OPENQASM 2.0;\ninclude "qelib1.inc";\nqreg q[16];\nh q;\n')

    def little_space():
        resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, 64 << 20))
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

    for words in (command(circuit, 10**9, "--out", "/dev/null", "--threads", "4000", "--engine", "frame"),
                  [PROGRAM, "run", qasm, "--threads", "4000"]):
        result = subprocess.run(words, capture_output=True, preexec_fn=little_space, timeout=60)
        message = result.stderr.decode()
        assert result.returncode == 3 and message.count("\n") == 1, (words, result)
        assert "cannot start 4000 threads" in message and "use fewer" in message, message


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, "circuit.stim")
        with open(file, "w") as f:
            f.write(CIRCUIT)
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                test(file, directory)
                print("ok", name, flush=True)
