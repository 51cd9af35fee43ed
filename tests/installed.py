"""The development files, installed into a temporary folder and moved: nothing may remember where they were."""
import os
import subprocess
import sys


def run(*words, **options):
    """Standard output of a command, which must not fail."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def install(cmake, build, folder):
    """Returns the prefix."""
    for component in ("development", "mpi"):
        run(cmake, "--install", build, "--prefix", folder / "first", "--component", component)
    os.rename(folder / "first", folder / "moved")
    return folder / "moved"


def pkg_config_environment(prefix):
    paths = list(prefix.glob("**/pkgconfig"))
    assert len(paths) == 1, paths
    return dict(os.environ, PKG_CONFIG_PATH=str(paths[0]))
