#!/usr/bin/env python3
"""api_reference_test.py SCRIPT: the reference has the text of every comment of the public headers (those of this tree), and
where one of them is taken away (every fourth is tried) the check fails and names the header."""
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SCRIPT = Path(sys.argv[1]).resolve()
ROOT = SCRIPT.parent.parent
BLOCK = re.compile(r"(?:^ *///(?!<).*\n)+|///<.*(?:\n *///<.*)*", re.M)  # lines of a comment, or one after its symbol


def run(headers, *flags):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in headers.items():
            path = Path(folder) / "include/tilewave" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (Path(folder) / "docs").mkdir()
        shutil.copy(ROOT / "docs/Doxyfile", Path(folder) / "docs")
        done = subprocess.run([sys.executable, SCRIPT, folder, *flags], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def words(text):
    return re.findall(r"[A-Za-z]+", text.replace("&lt;", "<"))


def main():
    headers = {path.name: path.read_text() for path in (ROOT / "include/tilewave").glob("*.h")}
    code, page = run(headers)
    if code == 77:
        print(page)
        return 77
    failures = [] if code == 0 else [f"the headers as they are: exit {code}: {page}"]
    cases = [(name, block) for name, text in headers.items() for block in BLOCK.finditer(text) if name != "tilewave.h"]
    assert len(cases) > 100, len(cases)
    page = " ".join(words(page))
    for name, block in cases:
        if " ".join(words(block[0])) not in page:
            failures.append(f"{name}: the reference lacks '{block[0].strip()}'")

    def without(case):
        name, block = case
        text = headers[name]
        return run({**headers, name: text[:block.start()] + text[block.end():]}, "--check")

    with ThreadPoolExecutor(2) as pool:
        tried = cases[::4]
        for (name, block), (code, output) in zip(tried, pool.map(without, tried)):
            if code != 1 or name not in output:
                failures.append(f"{name} without '{block[0].strip()}': exit {code}: {output}")
    print("\n".join(failures + [f"{len(cases)} comments, {len(failures)} failures"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
