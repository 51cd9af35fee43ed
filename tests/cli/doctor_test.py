#!/usr/bin/env python3
"""tilewave doctor: what it finds is what the system says, and a lack that is made is named with its cost and a remedy."""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from program import TILEWAVE, Checker, tilewave

c = Checker()
PLAIN = {"OMP_NUM_THREADS": "", "TILEWAVE_MPI": "", "XDG_CACHE_HOME": ""}


def findings(**env):
    told = tilewave("doctor", "--json", env={**PLAIN, **env}).json()
    c.check(bool(told["cuda_code"]) == told["cuda_built"], f"a build with CUDA says what code it holds: {told['cuda_code']}")
    for one in told["findings"]:
        keys = ["name", "state", "found"] + (["cost", "mend"] if one["state"] == "lack" else [])
        c.check(list(one) == keys and one["state"] in ("ok", "lack") and all(one.values()), f"{one}")
    return {one["name"]: one for one in told["findings"]}


env = {name: value for name, value in os.environ.items() if name not in PLAIN}
cores = len(os.sched_getaffinity(0))
plain = findings()
c.check(plain["threads"]["found"].endswith(f"threads on {cores} cores"), plain["threads"])
pages = Path("/sys/kernel/mm/transparent_hugepage/enabled")
if pages.exists():
    mode = re.search(r"\[(\w+)\]", pages.read_text())[1]
    c.check(plain["huge pages"]["found"] == mode and (plain["huge pages"]["state"] == "lack") == (mode == "never"), plain["huge pages"])
total = int(re.search(r"MemTotal: +(\d+) kB", Path("/proc/meminfo").read_text())[1]) / 2**20
shown = float(re.search(r"of ([\d.]+) GiB", plain["memory"]["found"])[1])
c.check(abs(shown - total) < 0.06 + 0.01 * total, f"{shown} GiB, {total} in /proc/meminfo")
gpus = Path("/proc/driver/nvidia/gpus")
c.check(gpus.exists() or plain["GPUs"] == {"name": "GPUs", "state": "ok", "found": "none in this machine"}, plain["GPUs"])

# a lack that is made
one = findings(OMP_NUM_THREADS="1")["threads"]
c.check(one["state"] == ("lack" if cores > 1 else "ok") and one["found"].startswith("1 threads"), one)
c.check(cores == 1 or one["mend"] == "unset OMP_NUM_THREADS", one)
one = findings(OMP_NUM_THREADS=str(cores + 3))["threads"]
c.check(one["state"] == "lack" and f"OMP_NUM_THREADS={cores}" in one["mend"], one)
one = findings(XDG_CACHE_HOME="/proc/1/nothing")["cache"]
c.check(one["state"] == "lack" and "XDG_CACHE_HOME" in one["mend"], one)
one = findings(TILEWAVE_MPI="/nonexistent/tilewave_mpi.so")["MPI"]
c.check(one["state"] == "lack" and "/nonexistent/tilewave_mpi.so" in one["found"] and "TILEWAVE_MPI" in one["mend"], one)
if cores > 1 and shutil.which("taskset"):
    done = subprocess.run(["taskset", "-c", str(min(os.sched_getaffinity(0))), TILEWAVE, "doctor"], capture_output=True, text=True, env=env)
    c.check(done.returncode == 0 and f"1 of the machine's" in done.stdout and "--cpus-per-task" in done.stdout, done.stdout)

# the MPI that is found is the launcher's
if (Path(TILEWAVE).parent / "tilewave_mpi.so").exists() and shutil.which("mpirun"):
    told = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    version = re.search(r"\d+\.\d+(\.\d+)?", told)[0]
    c.check(plain["MPI"]["state"] == "ok" and version in plain["MPI"]["found"], f"{plain['MPI']}: mpirun is {version}")

# without /proc the program does not know where it lies, and takes nothing from the current directory
with tempfile.TemporaryDirectory() as name:
    module = Path(name) / "lib" / "tilewave" / "tilewave_mpi.so"
    module.parent.mkdir(parents=True)
    module.write_text("no library" * 100)  # opening it says so
    alone = ["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" "$@"']
    if shutil.which("unshare") and subprocess.run([*alone, "true"], capture_output=True).returncode == 0:
        done = subprocess.run([*alone, TILEWAVE, "doctor"], capture_output=True, text=True, env=env, cwd=name)
        c.check(done.returncode == 0 and "MPI" in done.stdout and "invalid ELF header" not in done.stdout,
                done.stdout + done.stderr)
    else:
        print("no name space of mounts can be made here: not tried without /proc")

# for people: the same findings, and their number
text = tilewave("doctor", env={**PLAIN, "TILEWAVE_MPI": "/nonexistent"}).out
lacks = len(re.findall(r"^  lack ", text, re.M))
c.check(lacks >= 1 and text.count("it costs") == lacks and text.count("to mend it") == lacks, text)
c.check(re.search(rf"^{lacks} of {len(plain)} lack something$", text, re.M), text)
c.finish()
