"""Diagrams say what Stim says of the same circuits, and are XML that others read."""
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import stim

import tilewave as tw

SVG = "{http://www.w3.org/2000/svg}"
EVERYTHING = """QUBIT_COORDS(0, 1) 0
H 0
S_DAG[tag <a>&"b"] 1
SQRT_XX 0 2
CX 0 1 2 3
CY 0 1
XCZ 1 2
SWAP 0 3
CXSWAP 0 1
TICK
TICK
X_ERROR(0.1) 0
DEPOLARIZE2(0.01) 1 2
PAULI_CHANNEL_1(0.1,0.2,0.1) 3
E(0.1) X1 Y2 Z3
ELSE_CORRELATED_ERROR(0.2) Z3
HERALDED_ERASE(0.01) 0
MPAD 0 1
MPP X0*X1*!Z3 Z2
MXX 0 1
SPP Z0*X2
M(0.01) !0 1
MR 2
CX rec[-1] 3 sweep[5] 1
CZ 2 rec[-2]
REPEAT 3 {
    M 0
    TICK
    REPEAT 2 {
        MX 1
        DETECTOR(1,2) rec[-1] rec[-2]
    }
    DETECTOR rec[-1] rec[-2] rec[-3]
}
OBSERVABLE_INCLUDE(3) rec[-1]
OBSERVABLE_INCLUDE(1) X2
R 0
RX 1
"""


def code(task, distance, rounds, p=0.01):
    return stim.Circuit.generated(task, distance=distance, rounds=rounds, after_clifford_depolarization=p,
                                  before_measure_flip_probability=p)


def elements(picture):
    root = ElementTree.fromstring(str(picture))
    assert root.tag == SVG + "svg" and float(root.get("width")) > 0 and float(root.get("height")) > 0
    return root


def titles(picture):
    return {element.text for element in elements(picture).iter(SVG + "title")}


def texts(picture):
    return ["".join(element.itertext()) if element.find(SVG + "title") is None else element.find(SVG + "title").tail
            for element in elements(picture).iter(SVG + "text")]


def regions_of(picture):
    """{"D3": "X1 Z4"} of a detector slice, by the titles of its shapes."""
    return dict(title.split(": ") for title in titles(picture) if re.match(r"[DL]\d+: ", title))


def regions_by_stim(circuit, tick):
    found = {}  # there the first TICK has the number 0
    for target, at in circuit.detecting_regions().items():
        if tick - 1 in at:
            paulis = at[tick - 1]
            found[str(target)] = " ".join(f"{'IXYZ'[paulis[q]]}{q}" for q in paulis.pauli_indices())
    return {name: words for name, words in found.items() if words}


@pytest.mark.parametrize("circuit", [
    code("surface_code:rotated_memory_x", 3, 3), code("surface_code:unrotated_memory_z", 3, 2),
    code("repetition_code:memory", 5, 5), code("color_code:memory_xyz", 3, 3)])
def test_detector_slices_are_the_regions_that_stim_finds(circuit):
    last = circuit.num_ticks
    for tick in range(1, last + 1):
        assert regions_of(tw.diagram(circuit, "detslice-svg", tick=tick)) == regions_by_stim(circuit, tick), tick
    several = tw.diagram(circuit, "detslice-svg", tick=range(2, 5))
    assert [text for text in texts(several) if text.startswith("tick")] == ["tick 2", "tick 3", "tick 4"]


def test_detector_slices_of_random_circuits():
    """Gates of all kinds around certain measurements, with feedback, pair measurements and a loop."""
    rng, regions = np.random.default_rng(8), 0
    for _ in range(60):
        lines = ["R 0 1 2 3"]
        gates = []
        for _ in range(12):
            a, b = rng.choice(4, 2, replace=False)
            gates.append(str(rng.choice([f"H {a}", f"S {a}", f"C_XYZ {a}", f"CX {a} {b}", f"CZ {a} {b}", f"ISWAP {a} {b}",
                                         f"SQRT_YY {a} {b}", f"XCY {a} {b}", f"SWAP {a} {b}"])))
        inverse = stim.Circuit("\n".join(gates)).inverse()
        cut = int(rng.integers(1, 11))
        lines += [*gates[:cut], "TICK", *gates[cut:], "TICK", *str(inverse).splitlines(), "TICK", "M 0 1 2 3"]
        lines += [f"DETECTOR rec[-{k}]" for k in (1, 2)] + ["DETECTOR rec[-3] rec[-4]"]
        lines += ["REPEAT 3 {", "R 1", "TICK", "MZZ 0 1", "CX rec[-1] 2", "DETECTOR rec[-1] rec[-5]", "M 1 2 3 1 1", "TICK", "}"]
        lines += ["OBSERVABLE_INCLUDE(0) rec[-6] rec[-2]"]
        circuit = stim.Circuit("\n".join(lines))
        for tick in range(1, circuit.num_ticks + 1):
            found = regions_of(tw.diagram(circuit, "detslice-svg", tick=tick))
            assert found == regions_by_stim(circuit, tick), (circuit, tick)
            regions += len(found)
    assert regions > 300


def test_filters_show_the_detectors_that_stim_keeps():
    """Stim's text pictures hold the names of what they show."""
    def shown_by_stim(circuit, tick, entries):
        return set(re.findall(r"[DL]\d+", str(circuit.diagram("detslice-text", tick=tick, filter_coords=entries))))

    # shifts that add up over turns, a shift longer than what it shifts, detectors with no coordinates
    loops = stim.Circuit("R 0 1 2\nM 0 1 2\nDETECTOR rec[-1]\nREPEAT 3 {\nREPEAT 2 {\nTICK\nM 0 1\nDETECTOR(0) rec[-1] rec[-3]\nDETECTOR(0, 5) rec[-2] rec[-4]\n"
                         "SHIFT_COORDS(1, 0, 7)\n}\nSHIFT_COORDS(0, 2)\n}\nTICK\nM 0 1 2\nDETECTOR rec[-2] rec[-4]\nDETECTOR(-1.5, 2) rec[-3] rec[-5]\nOBSERVABLE_INCLUDE(1) rec[-1]\n")
    kept = set()
    for circuit, all_entries in ((code("surface_code:rotated_memory_x", 3, 4), ([(2,)], [(2, 4)], [(2, 4, 1), (4,)], [(2, 4, 1, 0)], ["L0", (4, 2)])),
                                 (loops, ([(0,)], [(1,)], [(0, 5), (3, 9)], [(4,), (5, 9), "L1"], [()], [], [(4.5, 8)], [(6.5,)], ["L7", "D77"], ["D0"]))):
        for entries in (*all_entries, ["D3"], ["L0"], [stim.DemTarget("D8"), "D9"], [stim.target_logical_observable_id(1)], "D5", stim.DemTarget("D6")):
            for tick in range(1, circuit.num_ticks + 1):
                stims = [entries] if isinstance(entries, stim.DemTarget) else entries
                found = set(regions_of(tw.diagram(circuit, "detslice-svg", tick=tick, filter_coords=entries)))
                assert found == shown_by_stim(circuit, tick, stims), (entries, tick)
                kept |= found
    assert len(kept) > 20 and {"L0", "L1"} <= kept


def test_a_detector_late_in_a_long_loop_has_its_coordinates():
    circuit = "R 0\nM 0\nTICK\nREPEAT 1000000000 {\nM 0\nSHIFT_COORDS(0, 1)\nDETECTOR(3, 0.5) rec[-1] rec[-2]\n}\nTICK\nM 0\nDETECTOR(1) rec[-1] rec[-2]\nDETECTOR(2) rec[-1] rec[-2]"
    show = lambda entry: set(regions_of(tw.diagram(circuit, "detslice-svg", tick=2, filter_coords=[entry])))
    assert show((1,)) == {"D1000000000"} and show((2,)) == show("D1000000001") == {"D1000000001"} and show((3,)) == set()


def test_noise_is_removed_before_drawing():
    noisy = ("R 0 1 2\nX_ERROR(0.1) 0\nE(0.1) X0\nELSE_CORRELATED_ERROR(0.2) Z1\nTICK\nREPEAT 2 {\nDEPOLARIZE2(0.1) 0 1\n}\nREPEAT 2 {\nI_ERROR(0.1) 2\nH 2\n}\n"
             "M(0.1) 0 !1\nMXX(0.1) 0 1\nMPP(0.1) Z0*Z1\nHERALDED_ERASE(0.1) 2\nHERALDED_PAULI_CHANNEL_1(0.1, 0, 0, 0) 2 1\nMPAD(0.1) 1\n"
             "R_X(0.25) 2\nDETECTOR(4) rec[-8] rec[-3]\n")
    quiet = ("R 0 1 2\nTICK\nREPEAT 2 {\nH 2\n}\nM 0 !1\nMXX 0 1\nMPP Z0*Z1\nMPAD 0\nMPAD 0 0\nMPAD 1\nR_X(0.25) 2\nDETECTOR(4) rec[-8] rec[-3]\n")
    assert str(tw.diagram(noisy, remove_noise=True)) == str(tw.diagram(quiet)) != str(tw.diagram(noisy))
    leaky = "LEAKAGE(0.1) 0\nCX(0.1, 0, 0, 0) 0 1\nRELAX(0.1) 0\nHERALD_LEAKAGE_EVENT(0.1) 0\nM 1\nRL 0\nDETECTOR rec[-2]"
    assert str(tw.diagram(leaky, remove_noise=True)) == str(tw.diagram("CX 0 1\nMPAD 0\nM 1\nDETECTOR rec[-2]"))
    circuit = code("surface_code:rotated_memory_x", 3, 2)
    assert str(tw.diagram(circuit, remove_noise=True)) == str(tw.diagram(circuit.without_noise())) != str(tw.diagram(circuit))
    slices = [tw.diagram(c, "detslice-svg", tick=3, remove_noise=r) for c, r in ((circuit, True), (circuit, False), (circuit.without_noise(), False))]
    assert len(set(map(str, slices))) == 1


def test_a_time_line_has_every_operation_once():
    picture = tw.diagram(EVERYTHING)
    words = texts(picture)
    for text in ("H", "S†", "√XX", "CXSWAP", "err X", "dep 2", "E X", "E Y", "else E Z", "erase", "pad 1", "MX", "!MZ", "MXX",
                 "√Z", "√X", "!M", "MR", "REPEAT 3", "REPEAT 2", "D0+3i+j", "D2+3i", "L3", "L1", "R", "RX", "q0 (0, 1)", "q3"):
        assert text in words, text
    # records are numbered as measured, those of blocks by the turn
    assert [text for text in words if re.fullmatch(r"(0.01 )?rec\[[0-9]+\]", text)] == [
        "0.01 rec[0]", "rec[1]", "rec[2]", "rec[3]", "rec[4]", "rec[5]", "0.01 rec[6]", "0.01 rec[7]", "rec[8]", "rec[8]",
        "rec[7]", "rec[17]"]
    assert "rec[9+3i]" in words and "rec[10+3i+j]" in words
    assert 'S_DAG[tag <a>&"b"]' in titles(picture)
    assert "DETECTOR D2+3i = rec[11+3i] ^ rec[10+3i] ^ rec[9+3i]" in titles(picture)


def test_gates_beyond_clifford_are_drawn():
    picture = tw.diagram("T 0\nR_Z(0.25) 1\nR_XX(0.125) 0 1\nTPP X0*Z2\nU3(0.1, 0.2, 0.3) 1\nCCX 0 1 2\nCCZ 2 1 0\nCH 0 2\nM 0\n")
    words = texts(picture)
    assert [words.count(text) for text in ("T", "R_Z", "0.25", "R_XX", "0.125", "TPP X", "TPP Z", "U3", "CH", "M")] == [
        1, 1, 1, 2, 2, 1, 1, 1, 2, 1]
    dots = [c for c in elements(picture).iter(SVG + "circle") if c.get("r") == "4.5"]
    assert [c.find(SVG + "title").text for c in dots] == ["CCX"] * 2 + ["CCZ"] * 3
    with pytest.raises(ValueError, match="Clifford"):
        tw.diagram("T 0\nTICK\nT 0\nM 0\nDETECTOR rec[-1]", "detslice-svg", tick=1)


def test_operations_of_a_time_line_stand_in_order():
    """No two on one place, those of a qubit from left to right, a gate's parts one below the other."""
    circuit = code("surface_code:rotated_memory_z", 3, 2).flattened()
    root = elements(tw.diagram(circuit))
    boxes = [box for box in root.iter(SVG + "rect") if box.find(SVG + "title") is not None]
    places = [(float(b.get("x")) + float(b.get("width")) / 2, float(b.get("y"))) for b in boxes]
    assert len(set(places)) == len(places)
    rows = sorted({y for _, y in places})
    used = sorted({t.value for op in circuit if op.name != "QUBIT_COORDS" for t in op.targets_copy() if t.is_qubit_target})
    assert len(rows) == len(used)
    for row, qubit in zip(rows, used):
        drawn = [b.find(SVG + "title").text.split("(")[0] for b, (x, y) in sorted(
            zip(boxes, places), key=lambda pair: pair[1]) if y == row]
        expected = [op.name for op in circuit if op.name not in ("QUBIT_COORDS", "CX", "DETECTOR", "OBSERVABLE_INCLUDE")
                    for t in op.targets_copy() if t.is_qubit_target and t.value == qubit]
        assert [name for name in drawn if name.split(" ")[0] not in ("DETECTOR", "OBSERVABLE_INCLUDE")] == expected
    annotations = [b for b in boxes if b.find(SVG + "title").text.startswith("DETECTOR")]
    assert len(annotations) == circuit.num_detectors


def test_steps_of_a_time_line():
    circuit = "H 0\nTICK\nS 0\nREPEAT 1000000 {\nM 0\nTICK\nDETECTOR rec[-1]\nX 0\n}\nTICK\nZ 0\n"
    shown = lambda ticks: [t for t in texts(tw.diagram(circuit, tick=ticks)) if t in "HSMXZ" or t[0] in "rD" or "REP" in t]
    assert shown(0) == ["H"]
    assert shown(1) == ["S", "M", "rec[0]"]
    assert shown(2) == ["D0", "rec[0]", "X", "M", "rec[1]"]
    assert shown(range(2, 5)) == ["D0", "rec[0]", "X", "M", "rec[1]", "D1", "rec[1]", "X", "M", "rec[2]", "D2", "rec[2]", "X",
                                  "M", "rec[3]"] or shown(range(2, 5))[0] == "REPEAT 2"
    assert shown(1_000_001) == ["D999999", "rec[999999]", "X"]
    assert shown(1_000_002) == ["Z"]
    assert shown(range(1, 1_000_003)) == ["REPEAT 1000000", "S", "M", "rec[0+i]", "D0+i", "rec[0+i]", "X", "Z"]


@pytest.mark.parametrize("circuit", [
    code("surface_code:rotated_memory_x", 3, 2), code("surface_code:unrotated_memory_z", 3, 3), code("repetition_code:memory", 5, 4)])
def test_a_match_graph_has_the_errors_of_the_model(circuit):
    model = circuit.detector_error_model(decompose_errors=True, flatten_loops=True)
    expected = {}
    for error in model:
        if error.type != "error":
            continue
        for group in error.target_groups():
            key = " ".join(sorted(map(str, group)))
            p, q = expected.get(key, 0), error.args_copy()[0]
            expected[key] = p * (1 - q) + q * (1 - p)
    for given in (circuit, model, str(model), tw.detector_error_model(circuit, decompose_errors=True)):
        found = {}
        for title in titles(tw.diagram(given, "matchgraph-svg")):
            if match := re.fullmatch(r"error\((.*?)\) (.*)", title):
                found[" ".join(sorted(match[2].split()))] = float(match[1])
        assert found.keys() == expected.keys()
        assert all(abs(found[key] - p) < 1e-9 for key, p in expected.items())
    coords = circuit.get_detector_coordinates()
    named = {t for t in titles(tw.diagram(model, "matchgraph-svg")) if t[0] == "D"}
    assert named == {f"D{d} ({', '.join(f'{c:g}' for c in at)})" for d, at in coords.items()}


def test_errors_of_many_detectors_are_in_a_match_graph():
    model = code("color_code:memory_xyz", 3, 2).detector_error_model()
    found = [t for t in titles(tw.diagram(model, "matchgraph-svg")) if t.startswith("error")]
    assert len(found) == model.num_errors and max(len(t.split()) for t in found) > 4


def test_the_command_draws_the_same(tmp_path):
    path, out = tmp_path / "everything.stim", tmp_path / "out.svg"
    path.write_text(EVERYTHING)
    def run(*words, **options):
        return subprocess.run([os.environ["TILEWAVE"], "diagram", *words], capture_output=True, text=True, **options)
    assert run("--type", "timeline-svg", "--in", path, "--out", out).returncode == 0
    tw.diagram(path).write(tmp_path / "ours.svg")
    assert out.read_text() == (tmp_path / "ours.svg").read_text() == tw.diagram(EVERYTHING)._repr_svg_()
    done = run("--type", "detslice-svg", "--tick", "3:5", input=str(code("repetition_code:memory", 3, 3)))
    assert done.stdout == str(tw.diagram(code("repetition_code:memory", 3, 3), "detslice-svg", tick=range(3, 5)))
    done = run("--type", "detslice-svg", "--tick", "3", "--filter_coords", "1:D3:L0", "--remove_noise", input=str(code("repetition_code:memory", 3, 3)))
    assert done.stdout == str(tw.diagram(code("repetition_code:memory", 3, 3), "detslice-svg", tick=3, filter_coords=[(1,), "D3", "L0"])) and done.returncode == 0
    done = run("--type", "timeline-svg", "--remove_noise", input="X_ERROR(0.1) 0\nH 0")
    assert done.stdout == str(tw.diagram("H 0"))
    model = tmp_path / "model.dem"
    model.write_text("error(0.1) D0 D1 L0\n")
    assert run("--type", "matchgraph-svg", "--in", model).stdout == str(tw.diagram(model, "matchgraph-svg"))
    model.write_text("detector(1, 2) D0\n")  # known by its name alone
    assert run("--type", "matchgraph-svg", "--in", model).stdout == str(tw.diagram(model, "matchgraph-svg"))
    done = run("--type", "matchgraph-svg", "--remove_noise", "--in", model)
    assert done.returncode == 2 and "without noise there are none" in done.stderr and done.stdout == ""
    for words, message in ((["--type", "cube"], "cube"), (["--type", "detslice-svg"], "--tick"),
                           (["--type", "detslice-svg", "--tick", "9"], "the circuit has 5 ticks"),
                           (["--type", "timeline-svg", "--tick", "5:1"], "no range of ticks"),
                           (["--type", "timeline-svg", "--tick", "x"], "no range of ticks"), (["--type", "timeline-svg", "--tick", "2:2"], "no range of ticks"),
                           (["--type", "timeline-svg", "--filter_coords", "D0"], "what a detector slice shows"), (["--type", "matchgraph-svg", "--filter_coords", "D0"], "what a detector slice shows"),
                           (["--type", "matchgraph-svg", "--remove_noise"], "without noise there are none"),
                           *((["--type", "detslice-svg", "--tick", "1", "--filter_coords", wrong], "does not say what") for wrong in ("x", "D", "d0", "1,,2", "nan", "1,inf", "D0.5", "D-1", "L0:1x")),
                           (["--type", "matchgraph-svg", "--tick", "1"], "no ticks"), ([], "--type")):
        done = run(*words, "--in", path)
        assert done.returncode == 2 and message in done.stderr and done.stdout == "", words


@pytest.mark.parametrize("wrong, exception, message", [
    (lambda: tw.diagram("H 0", "cube"), ValueError, "unknown diagram 'cube'"),
    (lambda: tw.diagram("H 0", "detslice-svg"), ValueError, "tick="),
    (lambda: tw.diagram("H 0", "detslice-svg", tick=1), ValueError, "0 ticks"),
    (lambda: tw.diagram("H 0", tick=range(4, 2)), ValueError, "steps of one"),
    (lambda: tw.diagram("TICK\nH 0", tick=2), ValueError, "the circuit has 1 ticks"),
    (lambda: tw.diagram("TICK\nH 0", tick=0.5), TypeError, "integer"),
    (lambda: tw.diagram("M 0\nDETECTOR rec[-1]", "matchgraph-svg", tick=0), ValueError, "no ticks"),
    (lambda: tw.diagram("TICK\n" * 99, "detslice-svg", tick=range(0, 90)), ValueError, "at most 64"),
    (lambda: tw.diagram(stim.DetectorErrorModel("error(0.1) D0"), "timeline-svg"), ValueError, "matchgraph-svg only"),
    (lambda: tw.diagram("NOTHING 1\n"), ValueError, "<text>:1"),
    (lambda: tw.diagram("M 0", "detslice-svg", tick=0, filter_coords=["d0"]), ValueError, "'D5' or 'L0'"),
    (lambda: tw.diagram("M 0", "detslice-svg", tick=0, filter_coords=[(float("nan"),)]), ValueError, "does not say what"),
    (lambda: tw.diagram("M 0", "detslice-svg", tick=0, filter_coords=[1]), TypeError, "coordinates such as"),
    (lambda: tw.diagram("M 0", filter_coords=["D0"]), ValueError, "leave it out"),
    (lambda: tw.diagram("M 0", "matchgraph-svg", remove_noise=True), ValueError, "leave remove_noise out"),
    (lambda: tw.diagram(5), TypeError, "stim.Circuit"),
    (lambda: tw.diagram("H 0\n" * 60_000), MemoryError, "choose ticks"),
    (lambda: tw.diagram("repeat 1000000 {\nerror(0.1) D0\nshift_detectors 1\n}", "matchgraph-svg"), MemoryError, "fewer rounds"),
])
def test_errors(wrong, exception, message):
    with pytest.raises(exception, match=message):
        wrong()


def test_nothing_to_draw_is_a_picture():
    for picture in (tw.diagram(""), tw.diagram("", "matchgraph-svg"), tw.diagram("TICK", "detslice-svg", tick=1),
                    tw.diagram("OBSERVABLE_INCLUDE(0)\nDETECTOR"), tw.diagram("M 0\nOBSERVABLE_INCLUDE(0) rec[-1]", "matchgraph-svg")):
        elements(picture)
