"""packaging/wheel/gpu_answers.py: on the CPU all its answers are right; a GPU is asked by packaging/wheel/try_gpu."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(os.environ["TILEWAVE_ROOT"]) / "packaging" / "wheel" / "gpu_answers.py"


def ask(*words):
    words = [sys.executable, SCRIPT, "--device", "cpu", *words]
    return subprocess.run(words, capture_output=True, text=True, timeout=600)


def test_answers():
    done = ask("--program", os.environ["TILEWAVE"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("56 answers right, 0 wrong\n") and "WRONG" not in done.stdout


def test_a_command_that_fails_ends_it(tmp_path):
    program = tmp_path / "tilewave"
    program.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    program.chmod(0o755)
    done = ask("--program", str(program))
    assert done.returncode == 1 and done.stderr.startswith("error: tilewave run")
    assert done.stderr.endswith("exit code 3: broken\n")
