"""Runs a test under a Python that has `stim` and `numpy`: this one, or a virtual environment made for it.

Call need_stim(folder) before importing them. The environment is made once in `folder` from the package index; where that
does not work, the test says why in capitals and is skipped (exit code 77).
"""
import fcntl
import importlib.util
import os
import pathlib
import subprocess
import sys
import venv

PACKAGES = ["stim==1.16.0", "numpy"]
WITHIN = "TILEWAVE_STIM_PYTHON"  # the environment this runs in; a damaged one must not start itself for ever


def need_stim(folder):
    if all(importlib.util.find_spec(name) for name in ("stim", "numpy")):
        return
    folder = pathlib.Path(folder)
    python = folder / "bin" / "python"
    if os.environ.get(WITHIN) == str(folder):
        skip("the environment in %s lacks stim: remove it and try again" % folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(str(folder) + ".lock", "w") as lock:  # tests run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = folder / "ready"
        if not ready.exists() or ready.read_text() != " ".join(PACKAGES):
            try:
                venv.create(folder, with_pip=True, clear=True)
                subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES],
                               check=True, capture_output=True, timeout=300)
            except (subprocess.SubprocessError, OSError) as e:
                detail = getattr(e, "stderr", None) or str(e).encode()
                skip("cannot install %s: %s" % (" ".join(PACKAGES), detail.decode(errors="replace").strip()[-400:]))
            ready.write_text(" ".join(PACKAGES))
    os.environ[WITHIN] = str(folder)
    os.execv(python, [str(python)] + sys.argv)


def skip(why):
    print("SKIPPED, NOT TESTED AGAINST STIM: " + why, flush=True)
    sys.exit(77)
