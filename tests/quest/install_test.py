#!/usr/bin/env python3
"""install_test.py CMAKE BUILD EXAMPLES: installs the development files into a temporary folder, moves it, and
builds and runs every example of the QuEST API, as C11 and as C++17, in three ways: the compiler wrapper,
pkg-config, and CMake packages."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CMAKE, BUILD, EXAMPLES = sys.argv[1:4]
PROGRAMS = sorted(pathlib.Path(EXAMPLES).glob("*.c"))
assert len(PROGRAMS) >= 5, f"no examples in {EXAMPLES}"

PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(programs LANGUAGES C CXX)
find_package(QuEST 3.7 REQUIRED)
find_package(tilewave 0.1 REQUIRED)
foreach(name {names})
  add_executable(c_${{name}} ${{name}}.c)
  set_target_properties(c_${{name}} PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  target_link_libraries(c_${{name}} QuEST::QuEST)
  add_executable(cxx_${{name}} ${{name}}.cc)
  set_target_properties(cxx_${{name}} PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF)
  target_link_libraries(cxx_${{name}} tilewave::quest_f32)
endforeach()
"""

RANKS = """
#include <QuEST.h>
#include <stdio.h>
int main(void) {
  QuESTEnv env = createQuESTEnv();
  Qureg q = createQureg(15, env);
  hadamard(q, 14);
  const double p = calcProbOfOutcome(q, 14, 1);
  if (env.rank == 0) printf("%d ranks, %f\\n", env.numRanks, p);
  destroyQureg(q, env);
  destroyQuESTEnv(env);
  return 0;
}
"""


def run(*words, **options):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main(folder):
    run(CMAKE, "--install", BUILD, "--prefix", folder / "first", "--component", "development")
    prefix = folder / "moved"  # nothing may remember where it was installed
    os.rename(folder / "first", prefix)
    sources = folder / "sources"
    sources.mkdir()
    for program in PROGRAMS:
        shutil.copy(program, sources / program.name)
        shutil.copy(program, sources / (program.stem + ".cc"))
    standards = [(".c", "-std=c11"), (".cc", "-std=c++17")]

    wrapper = prefix / "bin" / "tilewave-quest-cc"
    for program in PROGRAMS:
        for suffix, standard in standards:
            for single in [[], ["--single"]] if program is PROGRAMS[0] else [[]]:
                run(wrapper, *single, standard, "-Wall", "-Werror", program.stem + suffix, "-o", "wrapped", cwd=sources)
                run(sources / "wrapped")
    run(wrapper, "-c", PROGRAMS[0].name, "-o", "part.o", cwd=sources)
    run(wrapper, "part.o", "-o", "wrapped", cwd=sources)
    run(sources / "wrapped")
    print("compiler wrapper: all programs run")
    if (prefix / "lib" / "tilewave" / "tilewave_mpi.so").exists() and shutil.which("mpirun"):
        ranks = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1",
                     OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl_vader_single_copy_mechanism="none")
        for name in [n for n in ranks if n.startswith(("OMPI_COMM", "PMIX_", "PMI_"))]:
            del ranks[name]
        (sources / "ranks.c").write_text(RANKS)
        run(wrapper, "ranks.c", "-o", "ranks", cwd=sources)
        assert run("mpirun", "-np", "2", sources / "ranks", env=ranks) == "2 ranks, 0.500000\n"
        print("compiler wrapper: two ranks")

    paths = list(prefix.glob("**/pkgconfig"))
    assert len(paths) == 1, paths
    environment = dict(os.environ, PKG_CONFIG_PATH=str(paths[0]))
    for name in ["tilewave_quest", "tilewave_quest_f32"]:
        flags = run("pkg-config", "--cflags", "--libs", name, env=environment).split()
        for program in PROGRAMS:
            for suffix, standard in standards:
                compiler = os.environ.get("CC", "cc") if suffix == ".c" else os.environ.get("CXX", "c++")
                run(compiler, standard, program.stem + suffix, *flags, "-o", "packaged", cwd=sources)
                run(sources / "packaged")
    print("pkg-config: all programs run")

    (sources / "CMakeLists.txt").write_text(PROJECT.format(names=" ".join(p.stem for p in PROGRAMS)))
    build = folder / "build"
    run(CMAKE, "-S", sources, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
    run(CMAKE, "--build", build)
    for program in PROGRAMS:
        run(build / f"c_{program.stem}")
        run(build / f"cxx_{program.stem}")
    print("CMake packages: all programs run")


with tempfile.TemporaryDirectory() as name:
    main(pathlib.Path(name))
