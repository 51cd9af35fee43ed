#!/usr/bin/env python3
"""print_docs.py [TILEWAVE] [--python INTERPRETER] [--check]: puts the real output of commands into the documents.

A document holds `<!-- output: ./tw WORDS -->` or `<!-- output: python FILE -->`, a fenced block and `<!-- end -->`; the block is
what the command prints. Those of ./tw need the program, and are left alone without it. Those of Python need an interpreter that finds
the package, and are left alone without one, or where a package that the file imports is not installed. `<!-- files: ./tw WORDS -->`
makes files of the tree, a picture say: those named by --out or --view.

With --check nothing is written and the exit code says whether blocks and files are up to date. What differs from run to run is not
compared: the summary, which starts with the number of qubits, times, rates of shots and counts of steps; numbers
that Python prints may differ in the last digits, and pictures in their compression.
"""
import argparse
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(<!-- output: (?P<program>\./tw|python) (?P<words>.*?) -->\n)(?P<body>.*?)(<!-- end -->)", re.S)
FILES = re.compile(r"<!-- files: \./tw (?P<words>.*?) -->")
VARIES = re.compile(r"^\d+ qubits?, .*: .*\n|[0-9.]+ M shots/s|after \d+ steps|of \d+ shots|\s+[0-9.]+ [um]s\b", re.M)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
RATES_OFF = {**os.environ, "TILEWAVE_RATES": "off"}  # predictions as on any machine


def run(document, named, *words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{document.name}: '{named}' fails: {done.stderr}")
    return done.stdout


def agrees(new, old, close):
    """The same but for what varies; `close`: and numbers within a thousandth."""
    new, old = VARIES.sub("", new), VARIES.sub("", old)
    if not close:
        return new == old
    return NUMBER.sub("#", new) == NUMBER.sub("#", old) and all(
        math.isclose(float(a), float(b), rel_tol=1e-3) for a, b in zip(NUMBER.findall(new), NUMBER.findall(old)))


def missing_package(python, path):
    """The first package that a program imports and this interpreter has not; empty where it has all."""
    names = sorted(set(re.findall(r"^(?:import|from) (\w+)", path.read_text(), re.M)))
    code = f"import importlib.util as u; print(next((n for n in {names} if not u.find_spec(n)), ''))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def contents(path):
    """Of a PNG what its rows hold, however it is compressed; of another file its bytes."""
    data = path.read_bytes()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        return data
    parts, at, packed = [], 8, b""
    while at < len(data):
        size, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        body = data[at + 8:at + 8 + size]
        packed += body if kind == b"IDAT" else b""
        parts += [kind, body] if kind in (b"IHDR", b"PLTE") else []
        at += 12 + size
    return *parts, zlib.decompress(packed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tilewave", type=Path, nargs="?", help="the program; without it only what Python prints is looked at")
    parser.add_argument("--python", help="interpreter that finds the package tilewave")
    parser.add_argument("--check", action="store_true")
    a = parser.parse_args()
    tilewave = a.tilewave and a.tilewave.resolve()
    stale = count = 0
    for document in DOCUMENTS:
        text = document.read_text()

        def changed(what):
            nonlocal stale
            stale += 1
            print(f"{document.name}: {what} changed")

        def fresh(match):
            nonlocal count
            named, in_python = f"{match['program']} {match['words']}", match["program"] == "python"
            if not in_python and not tilewave:
                return match[0]
            if in_python:
                path = ROOT / match["words"]
                missing = missing_package(a.python, path) if a.python else "an interpreter (--python)"
                if missing:
                    print(f"{document.name}: '{named}' is not run: {missing} is missing")
                    return match[0]
                with tempfile.TemporaryDirectory() as folder:
                    output = run(document, named, a.python, path, cwd=folder)
            else:
                output = run(document, named, tilewave, *shlex.split(match["words"]), cwd=ROOT, env=RATES_OFF)
            count += 1
            body = f"```\n{output}```\n"
            if agrees(body, match["body"], in_python):
                return match[0]
            changed(f"the output of '{named}'")
            return match[1] + body + match[5]

        for match in FILES.finditer(text) if tilewave else ():
            count += 1
            words = shlex.split(match["words"])
            with tempfile.TemporaryDirectory() as folder:
                made = {}
                for k, word in enumerate(words[:-1]):
                    if word in ("--out", "-o", "--view"):
                        made[words[k + 1]] = Path(folder) / Path(words[k + 1]).name
                        words[k + 1] = str(made[words[k + 1]])
                run(document, match["words"], tilewave, *words, cwd=ROOT, env=RATES_OFF)
                for name, path in made.items():
                    there = ROOT / name
                    if name.startswith("build/") or there.exists() and contents(path) == contents(there):
                        continue
                    changed(name)
                    if not a.check:
                        there.write_bytes(path.read_bytes())
        new = BLOCK.sub(fresh, text)
        if not a.check:
            document.write_text(new)
    print(f"{count} outputs, {stale} {'out of date' if a.check else 'renewed'}")
    return 1 if a.check and (stale or not count) else 0


if __name__ == "__main__":
    sys.exit(main())
