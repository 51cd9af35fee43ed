#!/usr/bin/env python3
"""install_test.py CMAKE BUILD EXAMPLES: installs the development files into a temporary folder, moves it, and builds and
runs every example of the C++ API from outside, with CMake packages and with pkg-config."""
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from installed import install, pkg_config_environment, run  # noqa: E402

CMAKE, BUILD, EXAMPLES = sys.argv[1:4]
PROGRAMS = sorted(pathlib.Path(EXAMPLES).glob("*.cc"))
assert len(PROGRAMS) >= 5, f"no examples in {EXAMPLES}"

PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(programs LANGUAGES CXX)
find_package(tilewave 0.1 REQUIRED COMPONENTS {components})
foreach(name {names})
  add_executable(${{name}} ${{name}}.cc)
  target_compile_features(${{name}} PRIVATE cxx_std_20)
  target_link_libraries(${{name}} {library})
endforeach()
"""


def main(folder):
    prefix = install(CMAKE, BUILD, folder)
    headers = {str(p.relative_to(prefix / "include")) for p in prefix.glob("include/**/*.h")}
    inside = [h for h in headers if h.startswith("tilewave/") and h.count("/") > 1]
    assert "tilewave/session.h" in headers and not inside, f"headers from the inside are installed: {inside}"

    assert all(len(p.read_text().splitlines()) <= 60 for p in PROGRAMS), "examples are short"
    rasters = [p for p in PROGRAMS if "raster.h" in p.read_text()]
    circuits = [p for p in PROGRAMS if p not in rasters]
    outputs = {}
    for programs, components, library in ((circuits, "circuits", "tilewave::tilewave"),
                                          (rasters, "circuits rasters", "tilewave::tilewave tilewave::rasters")):
        sources = folder / components.replace(" ", "_")
        sources.mkdir()
        for program in programs:
            shutil.copy(program, sources)
        (sources / "CMakeLists.txt").write_text(
            PROJECT.format(components=components, library=library, names=" ".join(p.stem for p in programs)))
        run(CMAKE, "-S", sources, "-B", sources / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
        run(CMAKE, "--build", sources / "build", "-j2")
        for program in programs:
            outputs[program.stem] = run(sources / "build" / program.stem)
    print("CMake packages: all programs run")
    assert "00 5" in outputs["bell"] or "00 4" in outputs["bell"], outputs["bell"]
    needed = run("ldd", folder / "circuits" / "build" / "bell")
    assert "libpng" not in needed and "libtiff" not in needed, f"circuits need image libraries: {needed}"

    environment = pkg_config_environment(prefix)
    for program, package in ((circuits[0], "tilewave"), (rasters[0], "tilewave_rasters")):
        flags = run("pkg-config", "--cflags", "--libs", package, env=environment).split()
        run(os.environ.get("CXX", "c++"), "-std=c++20", program, *flags, "-o", folder / "packaged")
        run(folder / "packaged")
    print("pkg-config: programs run")


with tempfile.TemporaryDirectory() as name:
    main(pathlib.Path(name))
