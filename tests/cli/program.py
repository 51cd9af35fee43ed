"""Runs the program under test. Scripts are called as `script.py TILEWAVE EXAMPLES`."""
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))
from patience import PATIENCE, SANITIZED  # noqa: E402, F401

TILEWAVE = sys.argv[1]
EXAMPLES = Path(sys.argv[2])
ROOT = EXAMPLES.resolve().parent
HEAD = 'OPENQASM 2.0;\ninclude "qelib1.inc";\n'


class Done:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def json(self):
        assert self.code == 0, f"exit {self.code}: {self.err}"
        return json.loads(self.out)


def tilewave(*words, text=None, env=None, limit_s=120):
    """Runs the program; `text` becomes a circuit file that replaces the word FILE. Plans are those of a machine that nobody tuned."""
    with tempfile.TemporaryDirectory() as folder:
        if text is not None:
            path = Path(folder) / "test.qasm"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            words = [str(path) if w == "FILE" else w for w in words]
        start = time.perf_counter()
        done = subprocess.run([TILEWAVE, *map(str, words)], capture_output=True, timeout=PATIENCE * limit_s,
                              env={**os.environ, "TILEWAVE_RATES": "off", **(env or {})})
        seconds = time.perf_counter() - start
        return Done(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"),
                    seconds)


class Checker:
    """Counts what failed; finish() ends the script."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, good, what):
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what}")

    def finish(self):
        print(f"{self.passed} checks passed, {self.failed} failed")
        sys.exit(1 if self.failed or not self.passed else 0)
