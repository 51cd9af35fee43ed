#!/usr/bin/env python3
"""check_headers.py ROOT BUILD COMPILER: every header of src/ compiles alone.

A header that passed is not compiled again until it or a project header below it changes: the record
is BUILD/headers_ok.json. Left out: *-inl.h (part of one kernel file) and device headers (.cuh, and
what includes CUDA), which the CUDA build compiles.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*"(tilewave/[^"]+)"', re.M)
CUDA = re.compile(r"^\s*#\s*include\s*<(cuda|curand|nccl|cub/|mma|cooperative_groups)", re.M)


def digest(path, src, seen):
    """Hash of a header and of the project headers it reaches; None when one of them needs CUDA."""
    if path in seen:
        return ""
    seen.add(path)
    text = path.read_text() if path.exists() else "missing"
    if CUDA.search(text) or path.suffix == ".cuh":
        return None
    parts = [text]
    for name in INCLUDE.findall(text):
        below = digest(src / name, src, seen)
        if below is None:
            return None
        parts.append(below)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def compiles(compiler, src, header):
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{src}", "-x", "c++", "-"]
    text = f'#include "{header.relative_to(src)}"\n#include "{header.relative_to(src)}"\n'
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return done.returncode == 0, done.stderr


def main():
    root, build, compiler = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), sys.argv[3]
    src = root / "src"
    record = build / "headers_ok.json"
    try:
        known = json.loads(record.read_text())
    except (OSError, ValueError):
        known = {}
    headers = {}
    for header in sorted(src.rglob("*.h")):
        if header.name.endswith("-inl.h"):
            continue
        key = digest(header, src, set())
        if key:
            headers[header] = key
    stale = [h for h, key in headers.items() if known.get(str(h.relative_to(src))) != key]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda h: compiles(compiler, src, h), stale))
    bad = set()
    for header, (good, errors) in zip(stale, results):
        if not good:
            bad.add(header)
            print(f"{header.relative_to(root)} does not compile alone:\n{errors}")
    record.write_text(json.dumps({str(h.relative_to(src)): key for h, key in headers.items() if h not in bad}))
    print(f"headers: {len(headers)} compile alone but {len(bad)} ({len(stale)} compiled now)")
    return 1 if bad or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
