"""ranks_test.py PROGRAM SUITE MPIEXEC RANKS: the numbers of RANKS processes are those of one to 1e-12; the whole test
suite passes with every register shared; reports come once; what goes wrong on some ranks ends all with one message."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM, SUITE, MPIEXEC, RANKS = sys.argv[1:4] + [int(sys.argv[4])]
ENV = {**os.environ, "OMP_NUM_THREADS": "1", "TILEWAVE_DEVICE": "cpu", "OMPI_ALLOW_RUN_AS_ROOT": "1",
       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
for name in [n for n in ENV if n.startswith(("OMPI_COMM", "PMIX_", "PMI_"))]:
    del ENV[name]
# live arrays and memory have tests of their own; the ranks of a register have at least one amplitude
ALONE = "-*Death*:Arrays*:Misuse.OutOfMemory"
failed = 0


def check(good, what):
    global failed
    failed += not good
    if not good:
        print("FAILED:", what)


def run(words, env=None, folder=None):
    done = subprocess.run(words, capture_output=True, text=True, env={**ENV, **(env or {})}, cwd=folder, timeout=900)
    return done.returncode, done.stdout, done.stderr


def mpirun(words, ranks=RANKS, **more):
    return run([MPIEXEC, "-np", str(ranks), *words], **more)


def numbers(done, what):
    code, out, err = done
    check(code == 0, f"{what}: exit {code}: {err}")
    return [(line.split()[0], float(line.split()[1])) for line in out.splitlines()]


def compare(got, want, what):
    check(len(got) == len(want) > 100, f"{what}: {len(got)} numbers, {len(want)} wanted")
    check([n for n, _ in got] == [n for n, _ in want], f"{what}: other names")
    worst = max(((abs(a - b) / max(1, abs(b)), n) for (n, a), (_, b) in zip(got, want)), default=(1, "none"))
    print(f"{what}: {len(want)} numbers, largest difference {worst[0]:.1e} ({worst[1]})")
    check(worst[0] <= 1e-12, f"{what}: {worst}")


def messages(err):
    return [line for line in err.splitlines() if line.startswith("error:")]


def refused(words, done, what):
    code, _, err = done
    lines = messages(err)
    check(code != 0 and len(lines) == 1 and all(w in lines[0] for w in words), f"{what}: exit {code}, {lines}")


one = numbers(run([PROGRAM]), "one rank")
compare(numbers(mpirun([PROGRAM]), f"{RANKS} ranks"), one, f"{RANKS} processes")
compare(numbers(run([PROGRAM], {"TILEWAVE_RANKS": str(RANKS)}), "logical ranks"), one, f"{RANKS} ranks inside a process")

with tempfile.TemporaryDirectory() as folder:
    small = {"TILEWAVE_SHARE_FROM": "1"}
    suite = mpirun([SUITE, f"--gtest_filter={ALONE}", "--gtest_brief=1"], env=small, folder=folder)
    check(suite[0] == 0 and suite[1].count("[  PASSED  ]") == RANKS, f"the suite: exit {suite[0]}:\n{suite[1]}{suite[2]}")
    suite = run([SUITE, f"--gtest_filter={ALONE}", "--gtest_brief=1"], {**small, "TILEWAVE_RANKS": str(RANKS)}, folder)
    check(suite[0] == 0, f"the suite, ranks inside a process: exit {suite[0]}:\n{suite[1]}{suite[2]}")

    code, out, err = mpirun([PROGRAM, "report"], folder=folder)
    check(code == 0 and not err, f"report: exit {code}: {err}")
    for words in (f"ranks={RANKS}", "Number of qubits is 16", f"per rank is {65536 // RANKS}", "h q[3];"):
        check(out.count(words) == 1, f"'{words}' {out.count(words)} times in {out}")
    for rank in range(RANKS):
        lines = (Path(folder) / f"state_rank_{rank}.csv").read_text().splitlines()
        check(len(lines) == 65536 // RANKS + (rank == 0), f"state of rank {rank}: {len(lines)} lines")

refused(["power of two"], mpirun([PROGRAM], ranks=3), "three processes")
refused(["processes do not make the same calls", "calcTotalProb"], mpirun([PROGRAM, "differ"]), "different calls")
refused(["rank 1", "targetQubit is 99"], mpirun([PROGRAM, "alone"]), "an invalid call on one rank")
refused(["hadamard", "targetQubit is 99"], mpirun([PROGRAM, "invalid"]), "an invalid call")
refused(["TILEWAVE_RANKS"], mpirun([PROGRAM], env={"TILEWAVE_RANKS": "2"}), "ranks within ranks")
refused(["power of two"], run([PROGRAM], {"TILEWAVE_RANKS": "3"}), "three ranks inside a process")
refused(["TILEWAVE_RANKS is 'many'"], run([PROGRAM], {"TILEWAVE_RANKS": "many"}), "a word as ranks")
for word, message in json.loads((Path(__file__).parents[1] / "data/bad_settings.json").read_text())["device"].items():
    refused(["createQuESTEnv: TILEWAVE_DEVICE: " + message], run([PROGRAM], {"TILEWAVE_DEVICE": word}), "no device")
refused(["createQuESTEnv: TILEWAVE_DEVICE: unknown device 'tpu'"], mpirun([PROGRAM], env={"TILEWAVE_DEVICE": "tpu"}), "no device, ranks")
refused(["TILEWAVE_DEVICE"], run([PROGRAM], {"TILEWAVE_RANKS": "2", "TILEWAVE_DEVICE": "cuda:0"}), "ranks on a device")
if RANKS > 2:
    refused(["createQureg", f"{RANKS} ranks share"], mpirun([PROGRAM, "small"]), "fewer amplitudes than ranks")
sys.exit(1 if failed else 0)
