"""Logical error rates collected as sinter collects them: the same tasks, files and statistics."""
import csv
import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree
from types import SimpleNamespace

import numpy as np
import pytest
import stim

import tilewave as tw

sinter = pytest.importorskip("sinter")
pytest.importorskip("pymatching")


def surface_code(distance, p, **more):
    return stim.Circuit.generated("surface_code:rotated_memory_z", distance=distance, rounds=distance,
                                  after_clifford_depolarization=p, **more)


def rate_is(ours, shots, theirs, their_shots):
    p = (ours + theirs) / (shots + their_shots)
    return abs(ours / shots - theirs / their_shots) <= 5 * np.sqrt(p * (1 - p) * (1 / shots + 1 / their_shots))


def command(*words, **options):
    return subprocess.run([sys.executable, "-m", "tilewave", *map(str, words)], capture_output=True, text=True, **options)


def counted_with_stim(task, shots):
    """Errors and discards of Stim's shots, decoded here, with the masks as sinter explains them."""
    dets, obs = task.circuit.compile_detector_sampler(seed=9).sample(shots, separate_observables=True, bit_packed=True)
    kept = np.ones(shots, np.bool_)
    if task.postselection_mask is not None:
        kept &= ~np.any(dets & task.postselection_mask, axis=1)
    decoder = sinter.BUILT_IN_DECODERS[task.decoder].compile_decoder_for_dem(dem=task.detector_error_model)
    mistakes = decoder.decode_shots_bit_packed(bit_packed_detection_event_data=dets) ^ obs
    if task.postselected_observables_mask is not None:
        kept &= ~np.any(mistakes & task.postselected_observables_mask, axis=1)
    return int(np.any(mistakes[kept], axis=1).sum()), int((~kept).sum())


def test_statistics_and_identities_are_those_of_sinter(tmp_path):
    """Strong ids, the header, and rates; with masks of detectors and observables, several decoders."""
    masked = surface_code(3, 0.02)
    mask = np.zeros((masked.num_detectors + 7) // 8, np.uint8)
    mask[0] = 0b101
    two = stim.Circuit("X_ERROR(0.1) 0 1 2\nM 0 1 2\nDETECTOR rec[-3]\nOBSERVABLE_INCLUDE(0) rec[-2]\nOBSERVABLE_INCLUDE(1) rec[-1]")
    given = [{"circuit": surface_code(3, 0.01), "json_metadata": {"d": 3, "p": 0.01}},
             {"circuit": surface_code(5, 0.01), "json_metadata": {"d": 5, "p": 0.01}},
             {"circuit": masked, "postselection_mask": mask, "json_metadata": "masked"},
             {"circuit": two, "postselected_observables_mask": np.array([2], np.uint8)}]
    shots, out = 30_000, tmp_path / "ours.csv"
    tasks = [sinter.Task(**words) for words in given]
    ours = tw.collect(tasks, decoders=["pymatching", "vacuous"], max_shots=shots, num_workers=1, save_resume_filepath=out)
    full = [sinter.Task(decoder=decoder, detector_error_model=words["circuit"].detector_error_model(
        decompose_errors=True, approximate_disjoint_errors=True), **words) for words in given for decoder in ("pymatching", "vacuous")]
    expected = {task.strong_id(): task for task in full}
    assert {s.strong_id for s in ours} == set(expected) and len(ours) == 8
    for s in ours:
        task = expected[s.strong_id]
        assert (s.decoder, s.json_metadata, s.shots) == (task.decoder, task.json_metadata, shots)
        errors, discards = counted_with_stim(task, shots)
        assert rate_is(s.discards, shots, discards, shots) and rate_is(s.errors, shots, errors, shots)
        assert (s.discards > 0) == (s.json_metadata in ("masked", None)) and s.errors > 0
    assert open(out).readline().rstrip("\n") == sinter.CSV_HEADER
    total = {s.strong_id: s.shots for s in sinter.read_stats_from_csv_files(out)}
    assert total == {key: shots for key in expected}
    # sinter goes on with the file: nothing is left to do
    again = sinter.collect(tasks=tasks, decoders=["pymatching", "vacuous"], max_shots=shots, num_workers=1,
                           save_resume_filepath=out)
    assert {s.strong_id: (s.shots, s.errors) for s in again} == {s.strong_id: (s.shots, s.errors) for s in ours}


def test_perfectionist_and_errors_that_are_enough():
    circuit = surface_code(3, 0.02)
    perfect, = tw.collect([circuit], decoders="perfectionist", max_shots=20_000, num_workers=1)
    dets, obs = circuit.compile_detector_sampler(seed=1).sample(20_000, separate_observables=True)
    clean = ~dets.any(axis=1)
    assert rate_is(perfect.discards, perfect.shots, int((~clean).sum()), 20_000)
    assert rate_is(perfect.errors, perfect.shots, int(obs[clean].any(axis=1).sum()), 20_000)
    stats, = tw.collect([(circuit, {"d": 3})], decoders={"mine": "vacuous"}, max_shots=10**9, max_errors=200, num_workers=1)
    assert (stats.decoder, stats.json_metadata) == ("mine", {"d": 3})
    assert 200 <= stats.errors < 400 and stats.shots < 10_000


@pytest.fixture
def codes(tmp_path):
    folder = tmp_path / "codes"
    folder.mkdir()
    for distance in (3, 5):
        for p in (0.005, 0.012):
            surface_code(distance, p).to_file(folder / f"d={distance},p={p}.stim")
    return sorted(folder.iterdir())


def test_the_command_writes_resumes_and_draws(codes, tmp_path):
    out, picture = tmp_path / "stats.csv", tmp_path / "threshold.svg"
    words = ["collect", "--circuits", *codes, "--max_shots", 3000, "--processes", 2, "--save_resume_filepath", out, "--quiet"]
    done = command(*words, "--plot", picture)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert xml.etree.ElementTree.parse(picture).getroot().tag.endswith("svg")
    text = out.read_text()
    assert text.splitlines()[0] == sinter.CSV_HEADER
    stats = {(s.json_metadata["d"], s.json_metadata["p"]): s for s in sinter.read_stats_from_csv_files(out)}
    assert {key: s.shots for key, s in stats.items()} == {(d, p): 3000 for d in (3, 5) for p in (0.005, 0.012)}
    for (d, p), s in stats.items():
        circuit = surface_code(d, p)
        task = sinter.Task(circuit=circuit, decoder="pymatching", json_metadata={"d": d, "p": p},
                           detector_error_model=circuit.detector_error_model(decompose_errors=True,
                                                                             approximate_disjoint_errors=True))
        assert s.strong_id == task.strong_id()
    assert command(*words).returncode == 0 and out.read_text() == text  # there is nothing left to do
    words[words.index(3000)] = 5000
    assert command(*words).returncode == 0 and out.read_text().startswith(text)
    assert all(s.shots == 5000 for s in sinter.read_stats_from_csv_files(out))
    other = tmp_path / "other.png"
    assert command("plot", "--in", out, "--out", other, "--x", "d", "--group", "p").returncode == 0
    assert other.read_bytes().startswith(b"\x89PNG")


def test_the_command_takes_masks_metadata_and_decoders_of_yours(codes, tmp_path):
    noted = tmp_path / "noted.json"
    noted.write_text(json.dumps({path.stem: {"number": k} for k, path in enumerate(codes)}))
    (tmp_path / "decoders_of_mine.py").write_text(
        "import sinter\n\ndef decoders():\n    return {'mine': sinter.BUILT_IN_DECODERS['vacuous']}\n")
    done = command("collect", "--circuits", codes[0], "--max_shots", 4000, "--processes", 1, "--quiet", "--metadata", noted,
                   "--decoders", "mine", "--custom_decoders_module_function", "decoders_of_mine:decoders",
                   "--postselected_detectors_predicate", "coords[2] == 0", "--count_detection_events", cwd=tmp_path,
                   env={**os.environ, "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{tmp_path}"})
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(done.stdout.splitlines(), skipinitialspace=True))
    assert {row["decoder"] for row in rows} == {"mine"} and {row["json_metadata"] for row in rows} == {'{"number":0}'}
    total = lambda key: sum(int(row[key]) for row in rows)
    circuit = stim.Circuit.from_file(codes[0])
    first = [k for k, coords in circuit.get_detector_coordinates().items() if coords[2] == 0]
    dets, obs = circuit.compile_detector_sampler(seed=3).sample(50_000, separate_observables=True)
    kept = ~dets[:, first].any(axis=1)
    assert total("shots") == 4000 and rate_is(total("discards"), 4000, int((~kept).sum()), 50_000)
    assert rate_is(total("errors"), 4000, int(obs[kept].any(axis=1).sum()), 50_000)
    events = sum(json.loads(row["custom_counts"])["detection_events"] for row in rows)
    assert abs(events / 4000 / dets.sum(axis=1).mean() - 1) < 0.1


def test_what_was_found_before_an_interrupt_is_kept(codes, tmp_path):
    out = tmp_path / "stats.csv"
    words = ["collect", "--circuits", codes[-1], "--processes", 1, "--save_resume_filepath", out, "--quiet", "--max_shots"]
    process = subprocess.Popen([sys.executable, "-m", "tilewave", *map(str, words), str(10**9)], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (out.exists() and len(out.read_text().splitlines()) > 3) and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    message = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and message == (
        f"error: interrupted: what was found is in {out}, the same command goes on\n")
    before, = sinter.read_stats_from_csv_files(out)
    assert 0 < before.shots < 10**9
    assert command(*words, before.shots + 2000).returncode == 0
    after, = sinter.read_stats_from_csv_files(out)
    assert after.shots == before.shots + 2000 and after.errors >= before.errors


@pytest.mark.parametrize("words, code, message", [
    (["--max_shots", "10"], 2, "--circuits"),
    (["--circuits", "missing.stim", "--max_shots", "10"], 4, "missing.stim: No such file"),
    (["--circuits", "bad.stim", "--max_shots", "10"], 4, "bad.stim: "),
    (["--circuits", "good.stim", "--max_shots", "0"], 2, "not positive"),
    (["--circuits", "good.stim", "--max_shots", "10", "--decoders", "magic"], 2, "no decoder 'magic'"),
    (["--circuits", "good.stim", "--max_shots", "10", "--processes", "many"], 2, "number or auto"),
    (["--circuits", "good.stim", "--max_shots", "10", "--postselected_detectors_predicate", "coords["], 2, "no Python expression"),
    (["--circuits", "good.stim", "--max_shots", "10", "--postselected_detectors_predicate", "coords[9]"], 2, "IndexError"),
    (["--circuits", "good.stim", "--max_shots", "10", "--metadata", "bad.stim"], 4, "bad.stim:1:1"),
    (["--circuits", "good.stim", "--max_shots", "10", "--custom_decoders_module_function", "no_such:thing"], 2, "no_such"),
    (["--circuits", "good.stim", "--max_shots", "10", "--custom_decoders_module_function", "os:getpid"], 2,
     "os:getpid gives no dictionary of decoders"),
    (["--circuits", "good.stim", "--max_shots", "10", "--save_resume_filepath", "other.csv"], 4, "other.csv holds no statistics"),
    (["--circuits", "good.stim", "--max_shots", "10", "--existing_data_filepaths", "cut.csv"], 4, "cut.csv:2: no row of statistics: it is cut off"),
    (["--circuits", "good.stim", "--max_shots", "1e5"], 2, "'1e5' is no whole number"),
    (["--circuits", "good.stim", "--max_shots", "10", "--save_resume_filepath", "twice.csv"], 4, "twice.csv:3: a second header"),
    (["--circuits", "good.stim", "--max_shots", "10", "--existing_data_filepaths", "joined.csv"], 4,
     "joined.csv:2: more than a row"),
    (["--circuits", "good.stim", "--max_shots", "10", "--existing_data_filepaths", "one.csv", "--save_resume_filepath", "one.csv"], 2,
     "one.csv is save_resume_filepath"),
    (["--circuits", "random.stim", "--max_shots", "10", "--save_resume_filepath", "new.csv"], 4,
     "random.stim: observables are not deterministic"),
    (["--circuits", "good.stim", "good.stim", "--max_shots", "10"], 2, "the same task is given twice, as good.stim"),
    (["--circuits", "good.stim", "--max_shots", "10", "--plot", "x.svg"], 2, "which no circuit has"),
    (["--circuits", "p=1.stim", "--max_shots", "10", "--plot", "x.wrong"], 2, "x.wrong: matplotlib draws no wrong"),
])
def test_one_clear_error(tmp_path, words, code, message):
    (tmp_path / "bad.stim").write_text("NOTHING 1\n")
    (tmp_path / "good.stim").write_text("X_ERROR(0.1) 0\nM 0\nDETECTOR rec[-1]\nOBSERVABLE_INCLUDE(0) rec[-1]\n")
    (tmp_path / "p=1.stim").write_text("X_ERROR(0.1) 0\nM 0\nDETECTOR rec[-1]\nOBSERVABLE_INCLUDE(0) rec[-1]\n")
    (tmp_path / "random.stim").write_text("H 0\nM 0\nOBSERVABLE_INCLUDE(0) rec[-1]\n")
    row = '10,0,0,0.1,vacuous,1234,"{""d"":3}",'
    (tmp_path / "one.csv").write_text(f"{sinter.CSV_HEADER}\n{row}\n")
    (tmp_path / "joined.csv").write_text(f"{sinter.CSV_HEADER}\n{row}{row}\n")
    (tmp_path / "twice.csv").write_text(f"{sinter.CSV_HEADER}\n{row}\n{sinter.CSV_HEADER}\n{row}\n")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    (tmp_path / "cut.csv").write_text(f"{sinter.CSV_HEADER}\n  100,   1")  # by a program that was killed
    done = command("collect", *words, "--quiet", cwd=tmp_path)
    assert (tmp_path / "other.csv").read_text() == "a,b\n1,2\n"
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("error: ") and message in done.stderr and done.stderr.count("\n") == 1


def test_a_decoder_that_fails_is_one_error(codes, tmp_path):
    (tmp_path / "failing.py").write_text("""import sinter

class Failing(sinter.Decoder):
    def compile_decoder_for_dem(self, *, dem):
        raise ArithmeticError("no way to decode")

def decoders():
    return {"failing": Failing()}
""")
    done = command("collect", "--circuits", codes[0], "--max_shots", 10, "--processes", 1, "--quiet", "--decoders", "failing",
                   "--custom_decoders_module_function", "failing:decoders", cwd=tmp_path,
                   env={**os.environ, "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{tmp_path}"})
    assert done.returncode == 1
    assert done.stderr == "error: a worker failed: ArithmeticError: no way to decode\n"


def test_files_that_an_ended_run_left_are_gone_on_with(codes, tmp_path):
    """One without a row or a header yet, and one whose last row no newline ends: no row is lost."""
    out = tmp_path / "stats.csv"
    out.write_text("")
    words = ["collect", "--circuits", codes[0], "--processes", 1, "--save_resume_filepath", out, "--quiet", "--max_shots"]
    assert command(*words, 300).returncode == 0
    text = out.read_text()
    assert text.splitlines()[0] == sinter.CSV_HEADER
    out.write_text(text.rstrip("\n"))
    assert command(*words, 500).returncode == 0
    assert out.read_text().startswith(text)
    stats, = sinter.read_stats_from_csv_files(out)
    assert stats.shots == 500


class OfShape(sinter.Decoder):
    """Predicts zeros in an array of this kind."""

    def __init__(self, shape, dtype=np.uint8):
        self.shape, self.dtype = shape, dtype

    def compile_decoder_for_dem(self, *, dem):
        return SimpleNamespace(decode_shots_bit_packed=lambda bit_packed_detection_event_data: np.zeros(
            self.shape(len(bit_packed_detection_event_data)), self.dtype))


@pytest.mark.parametrize("decoder", [
    OfShape(lambda shots: (shots, 2), np.bool_), OfShape(lambda shots: (shots, 3), np.bool_), OfShape(lambda shots: (1, 1)),
    OfShape(lambda shots: (shots,)), OfShape(lambda shots: (shots, 3)), OfShape(lambda shots: (shots, 1), np.int64)])
def test_predictions_of_another_shape_are_refused(decoder):
    """Bits that are not packed, a row for all shots: NumPy would stretch them, and the rate would be another one."""
    from tilewave.sinter import TilewaveSampler
    circuit = stim.Circuit("X_ERROR(0.1) 0 1\nM 0 1\nDETECTOR rec[-1]\nOBSERVABLE_INCLUDE(0) rec[-1]\n"
                           "OBSERVABLE_INCLUDE(1) rec[-2]\n")
    task = sinter.Task(circuit=circuit, decoder="own", detector_error_model=circuit.detector_error_model())
    with pytest.raises(ValueError, match=r"the decoder predicts .*, not uint8 \[100, 1\]"):
        TilewaveSampler(decoder).compiled_sampler_for_task(task).sample(100)


@pytest.mark.parametrize("script, message", [
    ("import tilewave as tw\ntw.collect([{circuit!r}], max_shots=10, num_workers=1)\n", "under if __name__"),
    ("""import os, signal, sinter, tilewave as tw
class Dying(sinter.Decoder):
    def compile_decoder_for_dem(self, *, dem):
        os.kill(os.getpid(), signal.SIGKILL)
if __name__ == "__main__":
    tw.collect([{circuit!r}], decoders={{"dying": Dying()}}, max_shots=10, num_workers=2)
""", "killed by signal 9")])
def test_a_worker_that_dies_ends_the_run(tmp_path, script, message):
    """sinter would wait for it for ever."""
    path = tmp_path / "script.py"
    path.write_text(script.format(circuit="X_ERROR(0.1) 0\nM 0\nDETECTOR rec[-1]\nOBSERVABLE_INCLUDE(0) rec[-1]\n"))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and message in done.stderr.splitlines()[-1], done.stderr


def test_a_decoder_that_is_not_installed_is_named(monkeypatch):
    import importlib.util
    monkeypatch.setattr("tilewave.collection.find_spec", lambda name: None if name == "mwpf" else importlib.util.find_spec(name))
    with pytest.raises(ModuleNotFoundError, match="the decoder mw_parity_factor needs the module mwpf: pip install mwpf"):
        tw.collect([surface_code(3, 0.01)], decoders="mw_parity_factor", max_shots=10)


@pytest.mark.parametrize("module, extra, words", [
    ("sinter", "sinter", ["collect", "--circuits", "x.stim", "--max_shots", "1"]),
    ("matplotlib", "plot", ["plot", "--in", "x.csv", "--out", "x.svg"])])
def test_what_is_not_installed_is_named(module, extra, words):
    code = f"import sys; sys.modules[{module!r}] = None; from tilewave.__main__ import main; sys.exit(main({words!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr == f"error: tilewave.{extra} needs the module {module}: pip install 'tilewave[{extra}]'\n"


def test_rates_without_the_metadata_are_no_picture():
    from tilewave.plots import plot_error_rates
    stats = tw.collect([(surface_code(3, 0.01), {"q": 1})], max_shots=100, num_workers=1)
    with pytest.raises(ValueError, match="no statistics have the metadata 'p'.*they have q"):
        plot_error_rates(stats)
