#!/usr/bin/env python3
"""install_test.py CMAKE BUILD EXAMPLES: installs the development files into a temporary folder, moves it, and
builds and runs every example of the QuEST API, as C11 and as C++17, by the compiler wrapper, and the first ones by
pkg-config and CMake packages, whose flags are the same for all. Then whatever a program may take from the archives: all of it, and C++ programs
that use much of the standard library, of every standard with and without optimiser; and projects of C alone."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from installed import install, pkg_config_environment, run  # noqa: E402

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

C_PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(programs LANGUAGES C)
{find}
add_executable(program {name}.c)
target_link_libraries(program QuEST::QuEST)
"""

# What objects of ours have copies of: members of strings, streams, containers, functions, exceptions.
STANDARD = r"""
#include <QuEST.h>
#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
int main(int count, char** words) {
  std::vector<std::string> all(words, words + count);
  std::string s(all[0]), t = s;
  s += "x"; s.append(t).insert(0, "y").replace(0, 1, "z"); s.push_back('c'); s.resize(s.size() + 3); s.reserve(200);
  s.erase(0, 1); t.assign(s, 0, 2); t = s.substr(1) + std::to_string(count); t.swap(s);
  all.push_back(t); all.insert(all.begin(), s); all.resize(7); std::sort(all.begin(), all.end());
  std::map<std::string, std::vector<double>> table; table[s].push_back(1.5); table.erase(t);
  std::function<double(double)> f = [&](double x) { return x + static_cast<double>(table.size()); };
  std::ostringstream out; out << s << ' ' << f(2) << ' ' << all.size(); std::istringstream in(out.str()); in >> t;
  std::ifstream file("/no/such/file"); std::getline(file, t);
  std::shared_ptr<std::string> shared = std::make_shared<std::string>(t);
  std::mutex mutex; std::thread thread([&] { std::lock_guard<std::mutex> lock(mutex); *shared += "w"; }); thread.join();
  try { throw std::runtime_error(*shared + s); } catch (const std::exception& e) { t = e.what(); }
  try { all.at(99); } catch (const std::out_of_range&) { t += "!"; }
  QuESTEnv env = createQuESTEnv();
  Qureg q = createQureg(3, env);
  hadamard(q, 1);
  std::cout << calcProbOfOutcome(q, 1, 1) << std::endl;
  destroyQureg(q, env);
  destroyQuESTEnv(env);
}
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


def main(folder):
    prefix = install(CMAKE, BUILD, folder)
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

    environment = pkg_config_environment(prefix)
    for name in ["tilewave_quest", "tilewave_quest_f32"]:
        flags = run("pkg-config", "--cflags", "--libs", name, env=environment).split()
        for suffix, standard in standards:
            compiler = os.environ.get("CC", "cc") if suffix == ".c" else os.environ.get("CXX", "c++")
            run(compiler, standard, PROGRAMS[0].stem + suffix, *flags, "-o", "packaged", cwd=sources)
            run(sources / "packaged")
    print("pkg-config: a program runs")

    (sources / "CMakeLists.txt").write_text(PROJECT.format(names=" ".join(p.stem for p in PROGRAMS[:2])))
    build = folder / "build"
    run(CMAKE, "-S", sources, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
    run(CMAKE, "--build", build)
    for program in PROGRAMS[:2]:
        run(build / f"c_{program.stem}")
        run(build / f"cxx_{program.stem}")
    print("CMake packages: two programs run")

    # every object of the archives: each finds what it needs in what the wrapper and pkg-config name
    flags = run("pkg-config", "--libs", "tilewave_quest", env=environment).split()
    archives = [f for f in flags if f.startswith("-ltilewave")]
    run(wrapper, PROGRAMS[0].name, f"-L{prefix / 'lib'}", "-Wl,--whole-archive", *archives, "-Wl,--no-whole-archive",
        "-o", "whole", cwd=sources)
    run(sources / "whole")
    needed = run("ldd", sources / "whole")
    assert "libpng" not in needed and "libtiff" not in needed, needed
    print("all objects of the archives link")
    (sources / "standard.cc").write_text(STANDARD)
    for standard, level in [("11", "-O0"), ("11", "-O2"), ("17", "-O2"), ("20", "-O0")]:
        run(wrapper, f"-std=c++{standard}", level, "standard.cc", "-pthread", "-o", "standard", cwd=sources)
        assert run(sources / "standard") == "0.5\n", f"{standard} {level}"
    print("programs of the standard library link")

    find = "find_package(QuEST 3.7 REQUIRED)"
    for number, text in enumerate([find, f"function(find_it)\n  {find}\nendfunction()\nfind_it()"]):
        only_c = folder / f"only_c_{number}"
        only_c.mkdir()
        shutil.copy(PROGRAMS[0], only_c / PROGRAMS[0].name)
        (only_c / "CMakeLists.txt").write_text(C_PROJECT.format(find=text, name=PROGRAMS[0].stem))
        words = [CMAKE, "-S", only_c, "-B", only_c / "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
        if number == 0:
            run(*words)
            run(CMAKE, "--build", only_c / "build")
            run(only_c / "build" / "program")
        else:
            done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
            message = " ".join(done.stderr.split())
            assert done.returncode and "CXX is not enabled: write project(... LANGUAGES C CXX)" in message, message
    print("projects of C alone: built, or told what to write")


with tempfile.TemporaryDirectory() as name:
    main(pathlib.Path(name))
