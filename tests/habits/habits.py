#!/usr/bin/env python3
"""habits.py STEP SOURCE: what continuous integration does beside the tests, each a step of its own.

  clang       builds the library and the tests of its modules with clang, warnings as errors, into build/clang (preset clang)
  sanitizers  runs these tests with the address and undefined-behaviour sanitizers of that build; any report fails
  coverage    prints which share of each module's lines they ran
  cuda        compiles a few files of the CUDA back end for one architecture, and reads all of them for the oldest one

77 means skipped: the tool is not installed.
"""
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

STEP, SOURCE = sys.argv[1], Path(sys.argv[2]).resolve()
BUILD = SOURCE / "build/clang"
PROFILES = BUILD / "profiles"
JOBS = int(os.environ.get("TW_JOBS", os.cpu_count()))
TOOLS = ["clang++-14", "llvm-symbolizer-14", "llvm-profdata-14", "llvm-cov-14"]
PACKAGES = "apt-get install clang-14 llvm-14 libclang-rt-14-dev libomp-14-dev"
# The programs that plan and run circuits and images are not run with sanitizers, which takes many minutes. Those of other modules are, new ones too.
NOT_RUN = {"test_api", "test_field", "test_simulate", "test_statevec"}
# Of the programs that are run, these tests are left out (patterns of --gtest_filter), since each takes minutes with sanitizers.
LEFT_OUT = ["Qasm3Limits.*", "Qasm3.one_message_for_each_mistake", "ReferenceSample.does_not_depend_on_how_many_are_measured_together",
            "ShotLists.are_those_of_plain_writers"]
# Of three modules, since all of them take many minutes, and what no test runs.
CUDA_FILES = ["src/tilewave/runtime/cuda/device_bandwidth.cu", "src/tilewave/stabilizer/cuda/frame_run.cu",
              "src/tilewave/statevec/cuda/cuda_sweep.cu", "bench/fields/fields_gpu.cu"]
OLDEST = "compute_75"  # of those in a wheel (packaging/wheel/build): newer instructions are not known there
TIMING_PROGRAMS = ["tests/gpu/gpu_bench.cc", "tests/gpu/multi_gpu.cc", "tests/gpu/tile_timing.cc", "tests/stabilizer/gpu_rates.cc"]


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def run(*command, **options):
    """Output of a command; ends the step with it where the command fails."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        lines = done.stdout.splitlines()
        sys.exit("\n".join([*lines[-200:], f"{' '.join(map(str, command))}: exit {done.returncode}"]))
    return done.stdout


def build_with_clang():
    run("cmake", "--preset", "clang", cwd=SOURCE)
    run("ninja", "-C", BUILD, f"-j{JOBS}")
    print(f"clang: {len(test_programs())} test programs and their modules compile without a warning")


def test_programs():
    """The test programs of the modules."""
    listed = json.loads(run("ctest", "--test-dir", BUILD, "--show-only=json-v1"))
    return sorted({Path(test["command"][0]) for test in listed["tests"] if Path(test["command"][0]).parent.is_relative_to(BUILD)})


def tests_of(program):
    """The tests of a program, as SUITE.NAME."""
    found, suite = [], ""
    for line in run(program, "--gtest_list_tests", cwd=program.parent).splitlines():
        words = line.split("#")[0].rstrip()
        if line.startswith("  "):
            found.append(suite + words.strip())
        elif words.endswith("."):
            suite = words
    return found


def programs_to_run():
    """The test programs but those of NOT_RUN; ends the step where one of these or a test of LEFT_OUT does not exist."""
    programs = test_programs()
    chosen = [p for p in programs if p.name not in NOT_RUN]
    unknown = sorted(NOT_RUN - {p.name for p in programs})
    tests = [test for program in chosen for test in tests_of(program)]
    unknown += [pattern for pattern in LEFT_OUT if not fnmatch.filter(tests, pattern)]
    if unknown:
        sys.exit(f"NOT_RUN and LEFT_OUT name what does not exist: {', '.join(unknown)}")
    return chosen


def run_sanitized():
    shutil.rmtree(PROFILES, ignore_errors=True)

    def one(program):
        begin = time.monotonic()
        environment = {
            **os.environ, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", "LLVM_PROFILE_FILE": f"{PROFILES}/{program.name}.profraw",
            "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1", "UBSAN_OPTIONS": "print_stacktrace=1",
            "ASAN_SYMBOLIZER_PATH": shutil.which("llvm-symbolizer-14")}
        output = run(program, "--gtest_filter=-" + ":".join(LEFT_OUT), "--gtest_brief=1", cwd=program.parent, env=environment)
        passed = re.findall(r"\[  PASSED  \] (\d+) test", output)
        if not passed or int(passed[0]) == 0:
            sys.exit(f"{program.name}: no test ran")
        return f"{program.name}: {passed[0]} tests, {time.monotonic() - begin:.1f} s, no report"

    with ThreadPoolExecutor(JOBS) as pool:
        for line in pool.map(one, programs_to_run()):
            print(line, flush=True)


def print_coverage():
    merged = PROFILES / "all.profdata"
    profiles = sorted(PROFILES.glob("*.profraw"))
    if not profiles:
        sys.exit("there are no profiles: run the test habits_sanitizers first")
    run("llvm-profdata-14", "merge", "-sparse", *profiles, "-o", merged)
    programs = programs_to_run()
    objects = [word for program in programs[1:] for word in ("-object", program)]
    exported = run("llvm-cov-14", "export", "-summary-only", f"-instr-profile={merged}", programs[0], *objects)
    modules = {}  # lines that ran, lines
    for file in json.JSONDecoder().raw_decode(exported, exported.index("{"))[0]["data"][0]["files"]:
        found = re.search(r"/(?:src/tilewave/(\w+)|(include)/tilewave)/", file["filename"])
        if found and not file["filename"].endswith("_test.cc"):
            covered, count = modules.get(found[1] or found[2], (0, 0))
            lines = file["summary"]["lines"]
            modules[found[1] or found[2]] = covered + lines["covered"], count + lines["count"]
    modules["all"] = tuple(map(sum, zip(*modules.values())))
    print(f"{'module':<12} {'lines':>7} {'ran':>7}")
    for module, (covered, count) in modules.items():
        print(f"{module:<12} {count:>7} {100 * covered / count:>6.1f}%")


def compile_cuda():
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not nvcc:
        skip("nvcc is not installed, so no CUDA was compiled")
    words = [nvcc, "-std=c++20", "--expt-relaxed-constexpr", "-Xcompiler=-Wall", "-Werror=all-warnings", f"-I{SOURCE}/src", f"-I{SOURCE}/include"]
    with tempfile.TemporaryDirectory() as folder:
        for name in CUDA_FILES:
            begin = time.monotonic()
            run(*words, "-arch=sm_90", "-Xptxas=-O1", "-c", SOURCE / name, "-o", f"{folder}/object.o")
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
        begin = time.monotonic()
        files = sorted((SOURCE / "src").rglob("*.cu"))
        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(lambda k: run(*words, f"-arch={OLDEST}", "-ptx", files[k], "-o", f"{folder}/{k}.ptx"), range(len(files))))
        print(f"{len(files)} files for {OLDEST}: {time.monotonic() - begin:.1f} s", flush=True)
    for name in TIMING_PROGRAMS:
        run("g++", "-std=c++20", "-fsyntax-only", "-Wall", f"-I{SOURCE}/src", f"-I{SOURCE}/include", f"-I{SOURCE}/tests",
            f"-I{Path(nvcc).resolve().parent.parent}/include", SOURCE / name)
    print(f"{len(TIMING_PROGRAMS)} timing programs: read")


for tool in TOOLS if STEP != "cuda" else []:
    if not shutil.which(tool):
        skip(f"{tool} is not installed: {PACKAGES}")
{"clang": build_with_clang, "sanitizers": run_sanitized, "coverage": print_coverage, "cuda": compile_cuda}[STEP]()
