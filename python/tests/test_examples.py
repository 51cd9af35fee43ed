"""Every example runs, and the code blocks of the documents do."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ["TILEWAVE_ROOT"])
PACKAGES = ("qiskit", "pennylane", "cirq", "braket", "pymatching", "stim", "torch")  # which need not be there; those of examples begin their names
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)
EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))
# those whose output stands in a document: test_outputs_in_documents runs them
PRINTED = {ROOT / name for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
           for name in re.findall(r"^<!-- output: python (\S+) -->", document.read_text(), re.M)}


def test_examples_have_cells():
    assert EXAMPLES and all("# %%" in path.read_text() for path in EXAMPLES)


@pytest.mark.parametrize("path", [path for path in EXAMPLES if path not in PRINTED], ids=lambda p: p.stem)
def test_example(path, tmp_path):
    package = path.stem.split("_")[0]
    if package in PACKAGES:
        pytest.importorskip(package, reason=f"{package} is not installed")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_outputs_in_documents():
    # of Python: those of the program are looked at by lint_docs
    done = subprocess.run([sys.executable, ROOT / "scripts/print_docs.py", "--python", sys.executable, "--check"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    if "is not run" in done.stdout + done.stderr:  # for want of a package: it says which
        pytest.skip(done.stdout + done.stderr)


@pytest.mark.parametrize("part, module", [("pennylane", "pennylane"), ("cirq", "cirq"), ("braket", "braket.default_simulator")])
def test_a_missing_package_is_named(part, module):
    code = f"import sys; sys.modules[{module!r}] = None; import tilewave.{part}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"tilewave.{part} needs the module {module}: pip install 'tilewave[{part}]'" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", ["../README.md", "install.md", "python.md", "gradients.md", "coming_from.md", "noise.md", "decoding.md", "near_clifford.md"])
def test_code_of_documents(name, tmp_path, monkeypatch):
    text = (ROOT / "docs" / name).read_text()
    for package in PACKAGES:
        if re.search(rf"^(?:import|from) {package}\b", text, re.M):
            pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(ROOT / "tests")  # the data of some blocks
    blocks = BLOCK.findall(text)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, name, "exec"), names)
