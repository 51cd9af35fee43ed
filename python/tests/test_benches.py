"""bench/gradients.py: it runs, writes its rows and keeps others, and stops where packages differ."""

import importlib.util
import json
import os
import sys
from pathlib import Path
from unittest import mock

import pytest

ROOT = Path(os.environ["TILEWAVE_ROOT"])


@pytest.fixture(autouse=True)
def environment():
    """The variables that main() sets for packages are those of the other tests again."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture(scope="module")
def bench():
    kept = sys.path[:]
    sys.path.insert(0, str(ROOT / "bench"))
    spec = importlib.util.spec_from_file_location("bench_gradients", ROOT / "bench" / "gradients.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = kept


def test_rows(bench, tmp_path, capsys):
    pytest.importorskip("pennylane_lightning")
    file = tmp_path / "rows.json"
    other = {
        "circuit": "strongly_entangling_9x2",
        "qubits": 9,
        "date": "2026-01-01",
        "peers": {},
        "value_ms": 1,
        "value_and_grad_ms": 2,
    }
    file.write_text(json.dumps({"rows": [other, {**other, "circuit": "strongly_entangling_4x1", "qubits": 4}]}))
    bench.main(
        [
            "--qubits",
            "4",
            "--layers",
            "1",
            "--sets",
            "3",
            "--seconds",
            "0.01",
            "--threads",
            "1",
            "--peers",
            "lightning.qubit",
            "--json",
            str(file),
        ]
    )
    report = json.loads(file.read_text())
    names = [(row["circuit"], row.get("sets")) for row in report["rows"]]
    assert names == [
        ("strongly_entangling_4x1", None),
        ("strongly_entangling_9x2", None),
        ("strongly_entangling_8x1", 3),
    ]
    assert report["rows"][1] == other and "pennylane-lightning" in report["versions"]
    for row in (report["rows"][0], report["rows"][2]):
        assert (
            all(row["peers"]["lightning.qubit"][key] > 0 for key in ("value_and_grad_ms",))
            and row["value_and_grad_ms"] > 0
        )
    assert "strongly_entangling_4x1: value" in capsys.readouterr().out


def test_packages_that_differ_stop_it(bench, monkeypatch):
    class Wrong(bench.PEERS[0]):
        name = "wrong by 1e-8"

        def __init__(self, n, layers, threads):
            self.f = bench.our_circuit(n, layers).compile(bench.hamiltonian(n))

        def prepare(self, values):
            return values

        def value(self, values):
            return self.f.expectation(values)

        def value_and_grad(self, values):
            value, gradient = self.f.value_and_grad(values)
            gradient[-1] += 1e-8
            return value, gradient

    monkeypatch.setattr(bench, "PEERS", [Wrong])
    with pytest.raises(SystemExit, match="wrong by 1e-8 and Tilewave differ by 1.0e-08"):
        bench.main(["--qubits", "3", "--sets", "0", "--seconds", "0.01"])


def test_packages_that_are_not_there_are_named(bench, monkeypatch, capsys):
    class Missing(bench.PEERS[0]):
        name, package = "missing", "missing-package"

        def __init__(self, n, layers, threads):
            raise ImportError("No module named 'missing'")

    monkeypatch.setattr(bench, "PEERS", [Missing])
    bench.main(["--qubits", "3", "4", "--sets", "0", "--seconds", "0.01"])
    assert capsys.readouterr().err == "missing is left out: No module named 'missing' (pip install missing-package)\n"


def test_a_peer_for_gpus_is_left_out_without_one(bench, capsys):
    kinds = {kind.name: kind.on_gpu for kind in bench.PEERS}
    assert kinds["lightning.gpu"] and not kinds["lightning.qubit"]
    bench.main(["--qubits", "3", "--layers", "1", "--sets", "0", "--seconds", "0.01", "--peers", "lightning.gpu"])
    captured = capsys.readouterr()
    assert "lightning.gpu is left out: " in captured.err and "(pip install pennylane-lightning-gpu)" in captured.err
    assert "strongly_entangling_3x1: value" in captured.out


def test_peers_are_those_of_the_kind_of_device(bench, monkeypatch):
    asked = {}

    class Seen(bench.Bench):
        def __init__(self, arguments, peers):
            asked[arguments.device] = [kind.name for kind in peers]
            raise SystemExit

    monkeypatch.setattr(bench, "Bench", Seen)
    monkeypatch.setattr(bench, "gpu_name", lambda: "a GPU")
    for device in ("cpu", "cuda:0"):
        with pytest.raises(SystemExit):
            bench.main(["--device", device])
    assert "lightning.gpu" not in asked["cpu"] and "lightning.qubit" in asked["cpu"]
    assert asked["cuda:0"] == ["lightning.gpu"]
