#!/usr/bin/env python3
"""check_layers.py [ROOT]: arrows between the modules of src/tilewave point down only.

    [5]  api   cli   python   quest
    [4]  simulate
    [3]  statevec    stabilizer    field   parametric
    [2]  language    formats
    [1]  settings   circuit   runtime
    [0]  base

A module may include itself and modules of lower levels; modules of one level never see each other. Folders, those inside a
module too, include each other in no circle (test files aside). Also:
no `#if` for a back end outside runtime/ (and the few headers of host-device arithmetic), none for a processor
outside cpu/ folders, no third party in headers
(a *-inl.h belongs to source files that need it and may use Highway, intrinsics, nanobind or the JSON library, a *_test.h GoogleTest; device headers may
use CUDA), headers are
guarded by #pragma once and open no namespace for their users. No source file, here or of Python, tests, benches and scripts,
has more than 500 lines.
"""
import re
import sys
from pathlib import Path

LEVELS = {"base": 0, "settings": 1, "circuit": 1, "runtime": 1, "language": 2, "formats": 2, "statevec": 3, "stabilizer": 3,
          "field": 3, "parametric": 3, "simulate": 4, "api": 5, "cli": 5, "python": 5, "quest": 5}
SOURCES = {".h", ".cc", ".cu", ".cuh", ".c"}
HEADERS = {".h", ".cuh"}
MOST_LINES = 500
WITH_SOURCES = ("src", "include", "python", "tests", "bench", "scripts", "examples")
BACK_END = re.compile(r"#\s*(?:el)?if(?:n?def)?\b.*(?:CUDA|HIP|NVCC|MPI|NCCL|OPENMP|TW_HAVE|TW_WITH)")
PROCESSOR = re.compile(r"#\s*(?:el)?if(?:n?def)?\b.*(?:__AVX|__SSE|__ARM|__aarch64|__x86_64)")
# Arithmetic that is one source for host and device but needs an intrinsic of the device.
# ... and device code that has another way where an instruction is missing.
BACK_END_EXEMPT = {"field/cuda/entropy_sliding.cuh", "stabilizer/cuda/bit_rows.cu", "statevec/cuda/tile_access.cuh",
                   "base/host_device.h", "base/rounded.h", "base/cpu_dispatch.h", "statevec/tile/ops.h",
                    "statevec/tile/apply.h", "statevec/cuda/cluster.cuh"}
# Public headers (include/tilewave/) of what is defined there only.
SHARED = {"error.h", "settings.h"}
# Headers of another project's API, whose programs count on what it opens.
NAMESPACE_EXEMPT = {"quest/include/QuEST_complex.h"}
INCLUDE = re.compile(r'#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
CUDA_HEADER = re.compile(r"(cuda|curand|cub/|mma|cooperative_groups|nccl)")
# Whose reading of "0.5" is the locale's.
LOCALE_NUMBERS = re.compile(r"\b(?:strtod|strtof|strtold|atof|stod|stof|stold)\s*\(")
C_HEADERS = {"sys/mman.h", "sys/stat.h", "sys/types.h", "sys/resource.h", "unistd.h", "fcntl.h", "omp.h",
             "stddef.h", "stdint.h", "complex.h", "stdbool.h", "math.h", "tgmath.h", "signal.h"}


def is_test(path):
    return path.stem.endswith("_test")


def is_standard(name):
    return re.fullmatch(r"[a-z_0-9]+", name) or name in C_HEADERS


def check_file(path, inside):
    """Yields (line number, problem) for one file; `inside` is its path below src/tilewave."""
    module = inside.parts[0]
    inline = path.name.endswith("-inl.h")
    if module not in LEVELS:
        yield 1, f"module '{module}' has no level: add it to scripts/check_layers.py"
        return
    guarded = False
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        guarded |= line.startswith("#pragma once")
        if (module != "runtime" and str(inside) not in BACK_END_EXEMPT and BACK_END.match(line.strip())):
            yield number, "#if for a back end outside runtime/: make it a folder with a stub"
        if (module != "runtime" and "cpu" not in inside.parts and str(inside) not in BACK_END_EXEMPT
                and PROCESSOR.match(line.strip())):
            yield number, "#if for a processor outside cpu/ and runtime/"
        if (path.suffix in HEADERS and str(inside) not in NAMESPACE_EXEMPT
                and re.match(r"using namespace\b", line)):
            yield number, "'using namespace' in a header"
        if LOCALE_NUMBERS.search(line.split("//")[0]) and not is_test(path):
            yield number, "a number read as the locale says: use base/read_double.h"
        found = INCLUDE.match(line.strip())
        if not found:
            continue
        own, other = found.groups()
        name = own or other
        if name.startswith("tilewave/"):
            target = name.split("/")[1]
            if target == module or target in SHARED or (module == "api" and target.endswith(".h")):
                continue
            if target.endswith(".h"):
                yield number, f"'{name}' is a public header: inside it is for api/ only"
                continue
            if target not in LEVELS:
                yield number, f"include of unknown module '{target}'"
            elif LEVELS[target] > LEVELS[module]:
                yield number, f"arrow points up: {module} [{LEVELS[module]}] -> {target} [{LEVELS[target]}]"
            elif LEVELS[target] == LEVELS[module]:
                yield number, f"arrow points sideways: {module} -> {target}, both on level {LEVELS[module]}"
        elif path.suffix in HEADERS and not is_standard(name) and not (path.parent / name).exists():
            device = path.suffix == ".cuh" or "cuda" in inside.parts or module == "runtime"
            allowed = (inline and name.startswith(("hwy/", "nanobind/", "nlohmann/", "immintrin.h"))) or (is_test(path) and name.startswith("gtest/"))
            if not allowed and not (device and CUDA_HEADER.match(name)):
                yield number, f"third-party include <{name}> in a header: keep it in a source file"
    if path.suffix in HEADERS and not guarded and not inline:
        yield 1, "header without #pragma once"


def folder_includes(house):
    """{folder: {other folder: [(file, line number, name that it includes)]}}, as the sources below `house` include each other."""
    graph = {}
    for path in sorted(house.rglob("*")):
        if path.suffix not in SOURCES or is_test(path):
            continue
        here = str(path.parent.relative_to(house))
        graph.setdefault(here, {})
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            found = INCLUDE.match(line.strip())
            name = (found[1] or found[2]) if found else ""
            if (path.parent / name).is_file() and '..' not in Path(name).parts:
                target = str((path.parent / name).resolve().parent.relative_to(house.resolve()))
            elif (house.parent / name).is_file():
                target = str(Path(name).parent.relative_to("tilewave"))
            else:
                continue
            if target != here:
                graph[here].setdefault(target, []).append((path.relative_to(house), number, name))
    return graph


def circles(graph):
    """Groups of folders each of which includes, through others or not, every other one of its group."""
    reached = {}
    for start in graph:
        seen, todo = set(), [start]
        while todo:
            for other in graph.get(todo.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        reached[start] = seen
    groups = {frozenset(b for b in graph if b in reached[a] and a in reached[b]) for a in graph}
    return sorted(sorted(group) for group in groups if group)


def circle_problems(house):
    """(file, line number, problem) of every include between two folders of one circle."""
    graph = folder_includes(house)
    for group in circles(graph):
        for here in group:
            for target in sorted(set(graph[here]) & set(group)):
                for file, number, name in graph[here][target]:
                    yield file, number, f"'{name}' is part of a circle of folders: {', '.join(group)}"


def check(root):
    house = root / "src" / "tilewave"
    problems = []
    count = 0
    for path in sorted(house.rglob("*")):
        if path.suffix in SOURCES:
            count += 1
            for number, problem in check_file(path, path.relative_to(house)):
                problems.append(f"{path.relative_to(root)}:{number}: {problem}")
    for file, number, problem in circle_problems(house):
        problems.append(f"{(house / file).relative_to(root)}:{number}: {problem}")
    for path in sorted(p for folder in WITH_SOURCES for p in (root / folder).rglob("*")):
        if path.suffix in SOURCES | {".py"} and path.is_file():
            lines = path.read_bytes().count(b"\n")
            if lines > MOST_LINES:
                problems.append(f"{path.relative_to(root)}: {lines} lines: split it by what it is about, {MOST_LINES} are the most")
    return count, problems


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    count, problems = check(root)
    if not count:
        problems.append(f"{root}: no sources found below src/tilewave")
    for problem in problems:
        print(problem)
    print(f"layers: {count} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
