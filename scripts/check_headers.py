#!/usr/bin/env python3
"""check_headers.py ROOT BUILD COMPILER: every header of src/ compiles alone.

A header starts from a precompiled set of headers, standard ones or a project header and what that includes, all of
which it includes itself, directly or not, so that set hides nothing it lacks. For the same reason it may follow, in one run of the compiler, a header that it
includes: a chain of headers each of which includes the one before costs one run. A header that passed is not compiled again until it or a
project header below it changes: the record is BUILD/headers_ok.json. Left out: *-inl.h (part of one kernel file) and device headers (.cuh, and
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
STANDARD = re.compile(r"^#include <([a-z_]+)>", re.M)
CUDA = re.compile(r"^\s*#\s*include\s*<(cuda|curand|nccl|cub/|mma|cooperative_groups)", re.M)


def found(name, src):
    """The file of a project header, public or not."""
    public = src.parent / "include" / name
    return public if public.exists() else src / name


def inside(header, src):
    """How a header is named in an #include."""
    return header.relative_to(src if src in header.parents else src.parent / "include")


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
        below = digest(found(name, src), src, seen)
        if below is None:
            return None
        parts.append(below)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def below(header, src, seen):
    """The project headers that a header includes, directly or not."""
    for name in INCLUDE.findall(header.read_text()):
        file = found(name, src)
        if file not in seen and file.exists():
            seen.add(file)
            below(file, src, seen)
    return seen


def chains(headers, needs, src):
    """Lists of headers, each of which includes the one before it and few more standard headers."""
    includes = {h: below(h, src, set()) for h in headers}
    follows = {}  # a header: the one after it
    for header in sorted(headers, key=lambda h: len(includes[h])):
        before = [h for h in headers if h in includes[header] and h not in follows
                  and len(needs[header] - needs[h]) <= 3 and header not in includes[h]]
        if before:
            follows[max(before, key=lambda h: (len(needs[h]), len(includes[h])))] = header
    lists = []
    for first in set(headers) - set(follows.values()):
        lists.append([first])
        while lists[-1][-1] in follows:
            lists[-1].append(follows[lists[-1][-1]])
    return sorted(lists, key=len, reverse=True)


def standard(header, src, seen):
    """The standard headers that a header includes, directly or by project headers."""
    seen.add(header)
    text = header.read_text()
    names = set(STANDARD.findall(text))
    for name in INCLUDE.findall(text):
        file = found(name, src)
        if file not in seen and file.exists():
            names |= standard(file, src, seen)
    return frozenset(names)


class Compiler:
    """Compiles headers alone, on top of precompiled sets: standard headers, or a project header with all below it."""

    # In bytes that are read in the time: a set is written; a project header, whose templates are made, takes as long as several.
    SET_COST, PROJECT_COST = 2_000_000, 12

    def __init__(self, command, src, folder, firsts, needs, most=24):
        self.command = [command, "-std=c++20", "-fopenmp", "-Wall", "-Wextra", "-Werror", f"-I{src}", f"-I{src.parent / 'include'}"]
        self.src = src
        includes = {h: below(h, src, set()) for h in needs}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            names = sorted(set().union(*needs.values()))
            self.system = dict(zip(names, pool.map(self.files_of, names)))
        sets = {}  # the text of a set: what it spares, and who may start from it
        for names in set(needs.values()):
            sets["".join(f"#include <{name}>\n" for name in sorted(names))] = (
                self.num_bytes(names, ()), {h for h in firsts if names <= needs[h]})
        for header in set().union(*includes.values()) & set(needs):
            sets[f'#include "{inside(header, src)}"\n'] = (
                self.num_bytes(needs[header], {header, *includes[header]}), {h for h in firsts if header in includes[h]})
        chosen, self.best = [""], {h: (0, "") for h in needs}
        for _ in range(most):  # the set that spares most beside those before it, one after the other
            text, spared = max(((t, sum(max(0, cost - self.best[h][0]) for h in users)) for t, (cost, users) in sets.items()),
                               key=lambda pair: pair[1], default=("", 0))
            if spared < sets[text][0] + self.SET_COST:
                break
            chosen.append(text)
            for h in sets[text][1]:
                self.best[h] = max(self.best[h], (sets[text][0], text))
        folder.mkdir(parents=True, exist_ok=True)
        self.files = {text: folder / f"{k}.h" for k, text in enumerate(chosen)}
        for text, file in self.files.items():
            file.write_text(text)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            self.good = dict(zip(chosen, pool.map(self.precompile, self.files.values())))

    def files_of(self, name):
        """The files that a standard header reads, itself or by others."""
        rule = subprocess.run([*self.command, "-M", "-x", "c++", "-"], input=f"#include <{name}>\n", capture_output=True, text=True)
        return frozenset(rule.stdout.replace("\\\n", " ").split()[1:]) - {"-"}

    def num_bytes(self, standard_names, project):
        """What reading these headers costs, about."""
        files = frozenset().union(*(self.system[n] for n in standard_names))
        return sum(map(os.path.getsize, files)) + self.PROJECT_COST * sum(map(os.path.getsize, project))

    def precompile(self, file):
        """Whether it can be: a project header that lacks something is told when its turn comes."""
        return subprocess.run([*self.command, "-x", "c++-header", file, "-o", f"{file}.gch"], capture_output=True).returncode == 0

    def compiles(self, *headers):
        """Whether the headers compile one after the other, and what the compiler says."""
        chosen = self.best[headers[0]][1]
        file = self.files[chosen if self.good[chosen] else ""]
        text = "".join(f'#include "{inside(header, self.src)}"\n' * 2 for header in headers)
        done = subprocess.run([*self.command, "-fsyntax-only", "-include", file, "-x", "c++", "-"],
                              input=text, capture_output=True, text=True)
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
    for header in sorted([*src.rglob("*.h"), *(root / "include").rglob("*.h")]):
        if header.name.endswith("-inl.h"):
            continue
        key = digest(header, src, set())
        if key:
            headers[header] = key
    stale = [h for h, key in headers.items() if known.get(str(inside(h, src))) != key]
    bad = set()
    if stale:
        needs = {header: standard(header, src, set()) for header in stale}
        lists = chains(stale, needs, src)
        check = Compiler(compiler, src, build / "headers_alone", [h[0] for h in lists], needs)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda headers: check.compiles(*headers), lists))
        for header in [h for headers, (good, _) in zip(lists, results) if not good for h in headers]:
            good, errors = check.compiles(header)
            if not good:
                bad.add(header)
                print(f"{header.relative_to(root)} does not compile alone:\n{errors}")
    record.write_text(json.dumps({str(inside(h, src)): key for h, key in headers.items() if h not in bad}))
    print(f"headers: {len(headers)} compile alone but {len(bad)} ({len(stale)} compiled now)")
    return 1 if bad or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
