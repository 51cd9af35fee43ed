"""What the comparisons with the `stim` package share: the program, its output, and Stim's gates.

A test that imports this is called as TEST PATH/TO/tilewave FOLDER_FOR_THE_ENVIRONMENT, and has called need_stim.
"""
import subprocess
import sys

import stim

PROGRAM = sys.argv[1]
SEED = 20
ONE = [n for n, g in stim.gate_data().items() if g.is_unitary and g.is_single_qubit_gate]
TWO = [n for n, g in stim.gate_data().items() if g.is_unitary and g.is_two_qubit_gate]


def run(args, text=""):
    r = subprocess.run([PROGRAM] + args, input=text.encode(), capture_output=True)
    assert r.returncode == 0, (args, r.stderr.decode(), text)
    return r.stdout


def run_tests(names):
    """Calls every test among the names of a module."""
    for name, test in list(names.items()):
        if name.startswith("test_"):
            test()
            print("ok", name, flush=True)
