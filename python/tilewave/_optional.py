"""Packages that a part of Tilewave needs and `pip install tilewave` does not bring."""
from __future__ import annotations

import importlib


def need(module: str, extra: str) -> None:
    """Raises ModuleNotFoundError that says what to install, where a module of another package is not there."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module + ".").startswith(error.name + "."):
            raise  # it is there, and misses something itself
        raise ModuleNotFoundError(f"tilewave.{extra} needs the module {module}: pip install 'tilewave[{extra}]'",
                                  name=error.name) from None
