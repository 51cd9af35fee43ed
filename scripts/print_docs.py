#!/usr/bin/env python3
"""print_docs.py TILEWAVE [--check]: puts the real output of commands into the documents.

A document holds `<!-- output: ./tw WORDS -->`, a fenced block and `<!-- end -->`; the block is what the command prints.
With --check nothing is written and the exit code says whether the blocks are up to date; lines that hold times (the
summary, which starts with the number of qubits) are not compared.
"""
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(<!-- output: \./tw (?P<words>.*?) -->\n)(?P<body>.*?)(<!-- end -->)", re.S)
VARIES = re.compile(r"^\d+ qubits?, .*\n", re.M)


def main():
    tilewave, check = Path(sys.argv[1]).resolve(), "--check" in sys.argv
    stale = count = 0
    for document in DOCUMENTS:
        text = document.read_text()

        def fresh(match):
            nonlocal stale, count
            count += 1
            done = subprocess.run([tilewave, *shlex.split(match["words"])], capture_output=True, text=True, cwd=ROOT,
                                  env={**os.environ, "TILEWAVE_RATES": "off"})  # predictions as on any machine
            if done.returncode:
                sys.exit(f"{document.name}: './tw {match['words']}' fails: {done.stderr}")
            body = f"```\n{done.stdout}```\n"
            if VARIES.sub("", body) == VARIES.sub("", match["body"]):
                return match[0]
            stale += 1
            print(f"{document.name}: the output of './tw {match['words']}' changed")
            return match[1] + body + match[4]

        new = BLOCK.sub(fresh, text)
        if not check:
            document.write_text(new)
    print(f"{count} blocks of output, {stale} {'out of date' if check else 'renewed'}")
    return 1 if check and (stale or not count) else 0


if __name__ == "__main__":
    sys.exit(main())
