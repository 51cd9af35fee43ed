#!/usr/bin/env python3
"""run.py --source ROOT --build BUILD (--setup | TEST_FILES...): the Python package beside a finished build.

--setup makes BUILD/python: a virtual environment with the packages below, the compiled module linked from the archives
of BUILD, and the package. Without it pytest runs the files there. Exit code 77, with a line that says why: no venv
module, or PyPI cannot be reached. What is there is kept and brought up to date.
"""
import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

BUILD = ["nanobind", "ninja"]
PACKAGES = ["numpy", "pytest", "qiskit", "qiskit-aer", "stim", "sinter", "pymatching", "scikit-image", "matplotlib",
            "mypy", "pennylane", "pytest-mock", "flaky",  # these two are of PennyLane's tests of devices
            "cirq-core", "amazon-braket-sdk"]


def skip(why):
    print(f"SKIPPED, NOT TESTED: {why}", flush=True)
    sys.exit(77)


def run(words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    return done.returncode, done.stdout + done.stderr


def make_environment(folder):
    """The virtual environment's interpreter, and the installation of what the tests compare with, under way (None where
    it is there); skips where the environment cannot be made."""
    venv = folder / "venv"
    python = venv / "bin" / "python"
    stamp = folder / ("packages-" + hashlib.sha256(" ".join(BUILD + PACKAGES).encode()).hexdigest()[:16])
    if stamp.exists() and python.exists():
        return python, None
    folder.mkdir(parents=True, exist_ok=True)
    code, text = run([sys.executable, "-m", "venv", venv])
    if code:
        skip(f"{sys.executable} -m venv fails (install python3-venv):\n{text[-2000:]}")
    # modules are compiled when they are first imported: most never are
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary",
               "--no-compile"]
    code, text = run(install + BUILD)
    if code:
        skip(f"the packages could not be installed from PyPI:\n{text[-2000:]}")
    rest = subprocess.Popen(install + PACKAGES, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return python, (rest, stamp)


def finish_environment(installation):
    if installation is None:
        return
    rest, stamp = installation
    text = rest.communicate()[0]
    if rest.returncode:
        skip(f"the packages could not be installed from PyPI:\n{text[-2000:]}")
    stamp.touch()


def build_module(source, build, folder, python):
    """Configures and builds the module against the archives of `build`; the package lies in folder/package."""
    cmake = folder / "cmake"
    package = folder / "package" / "tilewave"
    launcher = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER")
    steps = []
    if not (cmake / "build.ninja").exists():
        steps.append(["cmake", "-G", "Ninja", "-S", source / "src/tilewave/python", "-B", cmake,
                      f"-DPython_EXECUTABLE={python}", f"-DTW_ARCHIVES={build}",
                      # quick: what takes time lies in the archives; a type of its own, as the project sets Release's flags
                      "-DCMAKE_BUILD_TYPE=Quick", "-DCMAKE_CXX_FLAGS_QUICK=-Og -DNDEBUG"]
                     + ([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []))
    steps.append(["cmake", "--build", cmake])
    for words in steps:
        code, text = run(words)
        if code:
            print(text[-6000:])
            sys.exit("error: the Python module does not build (its last lines are above)")
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(source / "python" / "tilewave", package, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (cmake / "tilewave").glob("_core*"):
        shutil.copy(file, package)


def write_entry_points(source, folder):
    """What `pip install` would write beside the package, so that other packages find what it offers them."""
    try:
        import tomllib
    except ImportError:  # before Python 3.11, for which those packages are not made
        return
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    info = folder / "package" / f"tilewave-{project['version']}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tilewave\nVersion: {project['version']}\n")
    (info / "entry_points.txt").write_text("".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project.get("entry-points", {}).items()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--setup", action="store_true")
    parser.add_argument("files", nargs="*")
    a = parser.parse_args()
    folder = a.build / "python"
    if a.setup:
        python, installation = make_environment(folder)
        build_module(a.source, a.build, folder, python)  # while the packages arrive
        write_entry_points(a.source, folder)
        finish_environment(installation)
        return
    python = folder / "venv" / "bin" / "python"
    if not (folder / "package" / "tilewave" / "__init__.py").exists():
        skip("there is no environment for the Python tests (python_environment says why)")
    env = {**os.environ, "PYTHONPATH": str(folder / "package"), "TILEWAVE": str(a.build / "tilewave"),
           "TILEWAVE_ROOT": str(a.source), "OMP_WAIT_POLICY": "passive", "MPLBACKEND": "Agg",
           "OPENBLAS_NUM_THREADS": "1",  # NumPy's: they wait for each other in loops, beside tests that compute
           # whoever wants none beside sources gets none: it lies in the build folder. Without it every process compiles
           # what it imports, which takes six seconds for PennyLane
           "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.exit(subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", *a.files], env=env,
                            cwd=folder).returncode)


if __name__ == "__main__":
    main()
