"""Stand-ins for the compiled module, where it matters what Python asks of it."""
from types import SimpleNamespace

from tilewave import programs


def refuse_single_runs(monkeypatch, module):
    """What runs one circuit fails from here on where `module` calls it."""
    def refuse(*arguments, **options):
        raise AssertionError("sets of values run one by one")
    refused = dict.fromkeys(("_run", "_simulate", "State"), refuse)
    monkeypatch.setattr(module, "_core", SimpleNamespace(**{**vars(module._core), **refused}))


def functions_on_the_cpu(monkeypatch):
    """Functions of rows run on the CPU whatever device they are asked of; the devices, as they are asked."""
    asked, core = [], programs._core

    def on_cpu(circuit, terms, numbers, count, precision, device, threads):
        asked.append(device)
        return core._Function(circuit, terms, numbers, count, precision, "cpu", threads)
    monkeypatch.setattr(programs, "_core", SimpleNamespace(_Function=on_cpu))
    return asked
