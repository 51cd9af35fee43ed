"""Processes without MPI: how they find each other, and one message for whatever goes wrong."""
import json
import os
import signal
import socket
import struct
import tempfile
import time
from pathlib import Path

from launch import HEAD, PATIENCE, TILEWAVE, check, end, finish, free_port, start, start_by_variables


def expect(processes, code, words, what, limit_s=30, codes=None):
    """All end with `code` (or each with its own), one of them says `words`, none prints results."""
    begin = time.perf_counter()
    done = [finish(p, 60) for p in processes]
    seconds = time.perf_counter() - begin
    lines = [line for d in done for line in d[2].splitlines() if line.startswith("error:")]
    check([d[0] for d in done] == (codes or [code] * len(done)), f"{what}: exits {[d[0] for d in done]}: {lines}")
    check(len(lines) == 1 and words in lines[0], f"{what}: messages {lines}")
    check(all(d[1] == "" for d in done), f"{what}: printed {[d[1] for d in done]}")
    check(seconds < PATIENCE * limit_s, f"{what}: {seconds:.1f} s")


def slurm(rank, size, **more):
    return {"SLURM_STEP_NUM_TASKS": str(size), "SLURM_PROCID": str(rank), "SLURM_JOB_ID": str(os.getpid()),
            "SLURM_STEP_ID": "0", "SLURM_STEP_NODELIST": "localhost", **more}


with tempfile.TemporaryDirectory() as folder:
    good, bad, long = (Path(folder) / name for name in ("good.qasm", "bad.qasm", "long.qasm"))
    good.write_text(HEAD + "qreg q[12];\nh q;\ncx q[0],q[11];\n")
    bad.write_text(HEAD + "qreg q[12];\nh q[12];\n")
    layer = "".join(f"h q[{k}];\ncx q[{k}],q[{(k + 5) % 22}];\n" for k in range(22))
    long.write_text(HEAD + "qreg q[22];\n" + 400 * layer)
    run = [TILEWAVE, "run", str(good), "--shots", "100", "--seed", "3"]
    one = finish(start([*run, "--quiet"]))

    # srun without MPI; the port is that of the job, or one that SLURM reserved
    for more in ({}, {"SLURM_STEP_RESV_PORTS": f"{free_port()}-65000"}):
        done = [finish(p) for p in [start([*run, "--quiet"], slurm(r, 4, **more)) for r in range(4)]]
        check([d[0] for d in done] == [0] * 4 and done[0][1] == one[1] and not done[2][1],
              f"srun: {[d[0] for d in done]} {[d[2] for d in done]}")
    done = [finish(p) for p in [start([*run, "--json"], slurm(r, 2)) for r in range(2)]]
    check('"transport": "over TCP' in done[0][1], f"the summary: {done[0][1]}")
    # one process of a step that is to run alone
    done = finish(start([*run, "--quiet"], slurm(1, 4, TILEWAVE_PROCESSES="1")))
    check(done[0] == 0 and done[1] == one[1], f"alone: {done}")

    root = f"127.0.0.1:{free_port()}"
    other = Path(folder) / "other.qasm"
    other.write_text(HEAD + "qreg q[12];\nh q;\ncx q[0],q[10];\n")
    expect([*start_by_variables(2, "run", good, root=root, only=[0]),
            *start_by_variables(2, "run", other, root=root, only=[1])], 2, "rank 1 has another circuit", "another circuit")
    # whatever of a noise model changes the answer: the channels are the same here
    channels = [{"after": "all", "channel": "bit_flip", "p": 0.001}]
    models = [{"channels": channels}, {"channels": channels, "readout": [{"p1_given_0": 0, "p0_given_1": 0.1}]},
              {"channels": channels, "readout": [{"p1_given_0": 0.1, "p0_given_1": 0}]},
              {"channels": channels, "readout": [{"p1_given_0": 0.1, "p0_given_1": 0, "qubits": [3]}]}]
    files = [Path(folder) / f"noise{k}.json" for k in range(len(models))]
    for file, model in zip(files, models):
        file.write_text(json.dumps(model))
    noisy = ["run", good, "--shots", 100, "--seed", 3, "--quiet", "--engine", "trajectories", "--noise"]
    for of_root, of_other in ((0, 1), (1, 2), (2, 3), (3, 0)):
        root = f"127.0.0.1:{free_port()}"
        expect([*start_by_variables(2, *noisy, files[of_root], root=root, only=[0]),
                *start_by_variables(2, *noisy, files[of_other], root=root, only=[1])], 2,
               "rank 1 has another noise model", f"noise models {of_root} and {of_other}")
    # in other words the same: the last rule that names a qubit counts
    same = Path(folder) / "same.json"
    same.write_text(json.dumps({"channels": channels, "readout": [{"p1_given_0": 0.5, "p0_given_1": 0.5, "qubits": [3]},
                                                                  *models[1]["readout"]]}))
    root = f"127.0.0.1:{free_port()}"
    done = [finish(p) for p in [*start_by_variables(2, *noisy, files[1], root=root, only=[0]),
                                *start_by_variables(2, *noisy, same, root=root, only=[1])]]
    check([d[0] for d in done] == [0, 0], f"one noise model in two files: {done}")
    # basis states: files that differ in a few bytes in their middle
    starts = []
    for x in (1 << 17, 1 << 17 | 1):
        numbers = bytearray(16 << 18)
        numbers[16 * x:16 * x + 8] = struct.pack("<d", 1)
        starts.append(Path(folder) / f"basis{x & 1}.npy")
        head = "{'descr': '<c16', 'fortran_order': False, 'shape': (262144,)}".ljust(117) + "\n"
        starts[-1].write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + numbers)
    wide = Path(folder) / "wide.qasm"
    wide.write_text(HEAD + "qreg q[18];\nh q;\n")
    root = f"127.0.0.1:{free_port()}"
    expect([*start_by_variables(2, "run", wide, "--shots", 9, "--initial-state", starts[0], root=root, only=[0]),
            *start_by_variables(2, "run", wide, "--shots", 9, "--initial-state", starts[1], root=root, only=[1])], 2,
           "rank 1 has another initial state", "initial states")
    expect(start_by_variables(3, "run", good), 2, "power of two", "three ranks")
    expect(start_by_variables(2, "run", bad), 4, "bad.qasm:4", "an error all find")
    expect(start_by_variables(2, "info"), 2, "one process", "a command for one process")
    expect(start_by_variables(2, "run", good, root="nowhere:port"), 2, "TILEWAVE_ROOT=nowhere:port", "no port")
    # numbers that make no sense, from the one process that knows
    numbers = {"TILEWAVE_PROCESSES": "2", "TILEWAVE_PROCESS": "0", "TILEWAVE_ROOT": "127.0.0.1:1"}
    for name, values in {"TILEWAVE_PROCESSES": ("four", "-2", "0", "2x", "1.5", "99999999999", " 2"),
                         "TILEWAVE_PROCESS": ("one", "-1", "0x1", "99999999999")}.items():
        for value in values:
            expect([start(run, {**numbers, name: value})], 2, f"{name}={value}: give a whole number", f"{name}={value}")
    for size, process in (("2", "5"), ("2", "2"), ("1", "1")):
        expect([start(run, {**numbers, "TILEWAVE_PROCESSES": size, "TILEWAVE_PROCESS": process})], 2,
               f"number the processes from 0 to {int(size) - 1}", f"process {process} of {size}")
    expect([start(run, {"TILEWAVE_PROCESS": "1"})], 2, "needs TILEWAVE_PROCESSES", "a number alone")
    expect([start(run, {"TILEWAVE_PROCESSES": "2"})], 2, "number the processes from 0 to 1", "no number")
    expect([start(run, {"TILEWAVE_PROCESSES": "2", "TILEWAVE_PROCESS": "0"})], 2, "needs TILEWAVE_ROOT", "no root")
    short = {"TILEWAVE_MEET_S": "3"}
    expect(start_by_variables(4, "run", good, env=short, only=range(3)), 6, "rank 3 of 4 did not come",
           "a rank that is missing")
    expect(start_by_variables(4, "run", good, env=short, only=range(1, 4)), 6, "rank 1: rank 0 of 4 is not at",
           "rank 0 is missing")
    port = free_port()
    root = {"TILEWAVE_ROOT": f"127.0.0.1:{port}"}
    both = [start(run, {"TILEWAVE_PROCESSES": n, "TILEWAVE_PROCESS": r, **root}) for n, r in (("2", "0"), ("4", "1"))]
    expect(both, 6, "says it is rank 1 of 4, this is rank 0 of 2", "sizes that differ")
    port = free_port()
    twins = [start(run, {"TILEWAVE_PROCESSES": "3", "TILEWAVE_PROCESS": r, "TILEWAVE_ROOT": f"127.0.0.1:{port}"})
             for r in "011"]
    expect(twins, 6, "both say they are rank 1", "a number twice")
    port = free_port()
    names = {"TILEWAVE_PROCESSES": "2", "TILEWAVE_ROOT": f"127.0.0.1:{port}"}
    expect([start([TILEWAVE, "run", str(f)], {**names, "TILEWAVE_PROCESS": str(r)}) for r, f in enumerate((good, bad))],
           6, "rank 1: ", "an error on rank 1 alone")
    names["TILEWAVE_ROOT"] = f"127.0.0.1:{free_port()}"
    expect([start([TILEWAVE, "run", str(f)], {**names, "TILEWAVE_PROCESS": str(r)}) for r, f in enumerate((bad, good))],
           4, "bad.qasm:4", "an error on rank 0 alone")

    for rank, sig, env, words in ((2, signal.SIGKILL, {}, "rank 2 (process"), (0, signal.SIGKILL, {}, "rank 0 (process"),
                                  *((stopped, signal.SIGSTOP, env, f"rank {stopped} (process") for stopped in (0, 2)
                                    for env in ({}, {"TILEWAVE_TIMEOUT_S": "3"}))):
        processes = start_by_variables(4, "run", long, "--shots", 10, "--repeat", 10000, env=env)
        time.sleep(2 * PATIENCE)
        os.kill(processes[rank].pid, sig)
        victim = processes.pop(rank)
        if sig == signal.SIGSTOP:  # stays there until the others have said what they miss
            stopped_at = time.monotonic()
            while any(p.poll() is None for p in processes) and time.monotonic() < stopped_at + 30 * PATIENCE:
                time.sleep(0.1)
            seconds = time.monotonic() - stopped_at
            check(seconds < 10 * PATIENCE, f"rank {rank} is stopped: the others go on for {seconds:.1f} s")
            os.kill(victim.pid, signal.SIGKILL)
        expect(processes, 6, words, f"signal {sig} for rank {rank}")
        victim.communicate()

# strangers at the door: a few, then many that say nothing, and some that talk nonsense
with tempfile.TemporaryDirectory() as folder:
    good = Path(folder) / "good.qasm"
    good.write_text(HEAD + "qreg q[12];\nh q;\ncx q[0],q[11];\n")
    for strangers in (8, 300):
        port = free_port()
        root = start_by_variables(2, "run", good, "--shots", 10, root=f"127.0.0.1:{port}", only=[0],
                                  env={"TILEWAVE_MEET_S": "10"})
        silent = []
        while len(silent) < strangers:
            try:
                silent.append(socket.create_connection(("127.0.0.1", port), timeout=5))
                if len(silent) % 4 == 3:
                    silent[-1].sendall(os.urandom(5000))
            except ConnectionRefusedError:
                time.sleep(0.02)
            except OSError:
                pass  # turned away
        begin = time.monotonic()
        both = [*root, *start_by_variables(2, "run", good, "--shots", 10, root=f"127.0.0.1:{port}", only=[1])]
        done = [finish(p) for p in both]
        check([d[0] for d in done] == [0, 0] and time.monotonic() - begin < 8 * PATIENCE,
              f"{strangers} strangers: {done} in {time.monotonic() - begin:.1f} s")
        for s in silent:
            s.close()

    # the address of TILEWAVE_ROOT is the only one that listens
    port = free_port()
    root = start_by_variables(2, "run", good, root=f"127.0.0.1:{port}", only=[0], env={"TILEWAVE_MEET_S": str(3 * PATIENCE)})
    time.sleep(0.7 * PATIENCE)
    listening = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        local, state, inode = line.split()[1], line.split()[3], line.split()[9]
        if state == "0A":
            listening.add((inode, local.split(":")[0]))
    own = {os.readlink(f).removeprefix("socket:[").removesuffix("]")
           for f in Path(f"/proc/{root[0].pid}/fd").iterdir() if os.path.islink(f)}
    found = [address for inode, address in listening if inode in own]
    check(found == ["0100007F"] * 2, f"addresses that rank 0 listens at: {found}")
    expect(root, 6, "did not come", "nobody came")
    expect(start_by_variables(2, "run", good, root=f"192.0.2.1:{free_port()}", only=[0]), 6, "cannot listen at 192.0.2.1",
           "an address of another host")

    # what answers is not rank 0: nonsense, or another key
    for answer in (os.urandom(100_000), bytes([241]) * 100_000, b""):
        with socket.socket() as impostor:
            impostor.bind(("127.0.0.1", 0))
            impostor.listen()
            processes = start_by_variables(2, "run", good, root="127.0.0.1:%d" % impostor.getsockname()[1], only=[1],
                                           env={"TILEWAVE_MEET_S": "3"})
            guest = impostor.accept()[0]
            guest.recv(65536)
            try:
                guest.sendall(answer)
            except OSError:
                pass
            guest.close()
            expect(processes, 6, "is not rank 0 of this run", f"an impostor of {len(answer)} bytes")
    port = free_port()
    processes = [start([TILEWAVE, "run", str(good)],
                       {"TILEWAVE_PROCESSES": "2", "TILEWAVE_PROCESS": str(r), "TILEWAVE_ROOT": f"127.0.0.1:{port}",
                        "TILEWAVE_KEY": key, "TILEWAVE_MEET_S": "3"}) for r, key in enumerate("ab")]
    done = [finish(p) for p in processes]
    check([d[0] for d in done] == [6, 6] and "rank 1 of 2 did not come" in done[0][2] and
          "another TILEWAVE_KEY" in done[1][2], f"two keys: {done}")

end()
