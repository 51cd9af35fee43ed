"""Every example runs, and the code blocks of the documents do."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ["TILEWAVE_ROOT"])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "python").glob("*.py")), ids=lambda p: p.stem)
def test_example(path, tmp_path):
    assert "# %%" in path.read_text()
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["../README.md", "install.md", "python.md", "coming_from.md", "noise.md"])
def test_code_of_documents(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((ROOT / "docs" / name).read_text())
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, name, "exec"), names)
