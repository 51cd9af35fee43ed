"""Starts the program under mpirun. Scripts are called as `script.py TILEWAVE MPIEXEC ...`."""
import os
import subprocess
import sys

TILEWAVE, MPIEXEC = sys.argv[1], sys.argv[2]
ENV = {**os.environ, "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
for name in [n for n in ENV if n.startswith(("OMPI_COMM", "PMIX_", "PMI_"))]:
    del ENV[name]


def start(words, env=None):
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**ENV, **(env or {})})


def finish(process, timeout=120):
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def mpirun(ranks, *words, env=None):
    return finish(start([MPIEXEC, "-np", str(ranks), TILEWAVE, *map(str, words)], env))


def alone(*words):
    return finish(start([TILEWAVE, *map(str, words)]))
