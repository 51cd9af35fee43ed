"""Plots, and the report page in a real browser: no script errors, the numbers on it are those of the JSON."""
import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tilewave as tw

ROOT = Path(os.environ["TILEWAVE_ROOT"])
BROWSER = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="NOT TESTED: no chromium here (apt-get install chromium)")


def embedded(page):
    return json.loads(re.search(r'<script type="application/json" id="run">(.*?)</script>', page, re.S)[1])


def render(path, *flags):
    """The page as the browser shows it: its DOM, and everything its console said."""
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           "--enable-logging=stderr", "--v=0", "--virtual-time-budget=4000", *flags, "--dump-dom",
                           path.as_uri()], capture_output=True, text=True, timeout=120)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def look_up(data, key):
    for part in re.match(r"(counts)\.(.*)", key).groups() if key.startswith("counts.") else key.split("."):
        data = data[int(part) if isinstance(data, list) else part]
    return data


def check_page(path, data):
    dom, console = render(path)
    assert not console, console
    assert 'data-ready="yes"' in dom
    shown = re.findall(r'data-key="([^"]*)" data-value="([^"]*)"[^>]*>([^<]*)<', dom)
    for key, value, text in shown:
        expected = look_up(data, html.unescape(key))
        value = html.unescape(value)
        if isinstance(expected, (int, float)) and abs(expected) < 2**53:
            assert float(value) == expected, key
            leading = float(re.match(r"-?[\d.]+(e[-+]?\d+)?", text)[0])
            if expected and leading:  # the same digits, whatever the unit
                ratio = np.log10(abs(expected / leading)) / 1
                assert abs(ratio - round(ratio)) < 3e-3 or abs(abs(expected) - abs(leading)) < 1e-9, (key, text)
        else:
            assert isinstance(expected, (int, str)) , key
    keys = {key for key, _, _ in shown}
    for key in ("num_qubits", "shots", "norm", "plan.passes", "plan.bytes", "timings_s.execute", "steps.0.bytes"):
        assert key in keys, key
    assert sum(key.startswith("counts.") for key in keys) == min(64, len(data["counts"]))
    return dom, keys


@needs_browser
def test_page_of_the_command_line(tmp_path):
    page = tmp_path / "run.html"
    done = subprocess.run([os.environ["TILEWAVE"], "run", ROOT / "examples" / "qft_20.qasm", "--shots", "500", "--seed",
                           "3", "--probabilities", "0,3,7", "--expect", "Z0 + 0.5 X1", "--amplitudes", "0-3", "--json", "--report", page],
                          capture_output=True, text=True, check=True)
    data = json.loads(done.stdout)
    assert embedded(page.read_text())["counts"] == data["counts"]
    dom, keys = check_page(page, data)
    assert {"probabilities.2", "joint_probabilities.7", "expectations.1", "expectation_sum", "limit_bytes_per_s"} <= keys
    assert "0.5 IIIIIIIIIIIIIIIIIIXI" in dom and "statevector" in dom and "1 - " in dom  # term, engine, norm
    assert dom.count("0.250000 + ") == 4  # amplitudes
    assert "<svg" in dom and dom.count("<rect") == 2 * len(data["steps"]) and "qft_20.qasm" in dom


def shown_text(path):
    """What a person can read on the page."""
    dom, console = render(path)
    assert not console, console
    return re.sub(r"<script.*?</script>", "", dom, flags=re.S)


@needs_browser
def test_page_of_other_engines(tmp_path):
    page = tmp_path / "run.html"
    seed = 2**64 - 1  # more digits than a script's numbers have
    run = [os.environ["TILEWAVE"], "run", "--seed", str(seed), "--quiet", "--report", page]
    subprocess.run([*run, ROOT / "examples" / "ghz_24.qasm"], capture_output=True, check=True)
    text = shown_text(page)
    assert "undefined" not in text and ">stabilizer<" in text and f">{seed}<" in text
    subprocess.run([*run, ROOT / "examples" / "bell.qasm", "--noise", ROOT / "examples" / "noise" / "device.json",
                    "--engine", "trajectories", "--shots", "200", "--expect", "ZZ", "--probabilities", "all"],
                   capture_output=True, check=True)
    text = shown_text(page)
    assert "undefined" not in text and "NaN" not in text and text.count("\u00b1") == 4  # two qubits, a term, the sum


@needs_browser
def test_page_of_many_outcomes(tmp_path):
    page = tmp_path / "run.html"
    circuit = tw.Circuit(18)
    for q in range(18):
        circuit.h(q).t(q)
    assert len(tw.report(circuit, page, 300000, seed=1).counts) > 150000
    assert "further rows are in the JSON" in shown_text(page)


def test_page_of_a_noisy_run(tmp_path):
    page = tmp_path / "run.html"
    noise = {"channels": [{"after": "all", "channel": "depolarizing", "p": 0.1}]}
    result = tw.report(tw.Circuit(3).h(0).cx(0, 2), page, 50, seed=2**63, noise=noise, engine="trajectories",
                       observables="0.5 XIY")
    data = embedded(page.read_text())
    assert data["seed"] == str(2**63) and data["observables"] == ["0.5 XIY"] and data["trajectories"] == 50
    assert data["engine"] == "trajectories" and data["expectation_errors"] == list(result.expectation_errors)


@needs_browser
def test_page_from_python_on_a_phone(tmp_path):
    circuit = tw.Circuit.from_qasm(ROOT / "examples" / "teleport.qasm")
    page = tmp_path / "run.html"
    result = tw.report(circuit, page, 300, seed=1, title="</script><b>teleport</b>")
    data = embedded(page.read_text())
    assert data["counts"] == result.counts
    dom, _ = check_page(page, data)
    assert "&lt;/script&gt;&lt;b&gt;teleport" in dom
    probe = tmp_path / "probe.html"
    # what a narrow dark screen makes of it: its colours, and no sideways scrolling
    probe.write_text(page.read_text().replace("</body>", """<script>
        const e = document.documentElement;
        e.setAttribute("data-width", e.scrollWidth <= e.clientWidth ? "fits" : e.scrollWidth + ">" + e.clientWidth);
        e.setAttribute("data-paper", getComputedStyle(document.body).backgroundColor);</script></body>"""))
    light, _ = render(probe, "--window-size=500,900")
    dark, _ = render(probe, "--window-size=500,900", "--blink-settings=preferredColorScheme=0")
    assert 'data-width="fits"' in light and 'data-paper="rgb(255, 255, 255)"' in light
    assert 'data-paper="rgb(20, 24, 31)"' in dark


def test_page_without_a_browser(tmp_path):
    page = tmp_path / "run.html"
    result = tw.report(tw.Circuit(3).h(0).cx(0, 1).measure_all(), page, 100, seed=2, observables="IZZ")
    data = embedded(page.read_text())
    assert data["counts"] == result.counts and data["expectations"] == pytest.approx([1])
    assert data["limit_bytes_per_s"] > 1e9
    text = page.read_text()
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "") and "https://" not in text
    assert "prefers-color-scheme: dark" in text and 'name="viewport"' in text
    done = subprocess.run([os.environ["TILEWAVE"], "run", ROOT / "examples" / "bell.qasm", "--report",
                           tmp_path / "no" / "such.html"], capture_output=True, text=True)
    assert done.returncode == 3 and "cannot write the file" in done.stderr
    done = subprocess.run([os.environ["TILEWAVE"], "run", ROOT / "examples" / "bell.qasm", "--report", page,
                           "--dry-run"], capture_output=True, text=True)
    assert done.returncode == 2


def test_plots():
    pytest.importorskip("matplotlib")
    circuit = tw.Circuit(6)
    for q in range(6):
        circuit.h(q)
    result = tw.run(circuit.measure_all(), 1000, seed=1, record_steps=True)
    ax = tw.plot_counts(result)
    assert len(ax.patches) == 32 and "32 of 64" in ax.get_title()
    heights = [bar.get_height() for bar in tw.plot_counts({"00": 3, "11": 5}).patches]
    assert heights == [3, 5]
    assert [bar.get_height() for bar in tw.plot_probabilities([0.25, 1]).patches] == [0.25, 1]
    assert len(tw.plot_plan(result).patches) == 2 * len(result.steps)
    image = np.arange(100).reshape(10, 10).astype(np.uint8)
    assert np.array_equal(tw.plot_entropy(tw.entropy(image)).images[0].get_array(), tw.entropy(image))
    plan = tw.plan(circuit)
    assert [bar.get_width() for bar in tw.plot_plan(plan).patches] == [1e3 * step["predicted_s"] for step in plan.steps]
    assert len(plan.steps) == plan.num_passes and sum(s["predicted_s"] for s in plan.steps) == pytest.approx(plan.predicted_s)
    for wrong in (lambda: tw.plot_counts({}), lambda: tw.plot_plan(tw.plan(tw.Circuit(1))), lambda: tw.plot_plan(tw.run(circuit)),
                  lambda: tw.plot_entropy(np.zeros(3)), lambda: tw.plot_probabilities(np.zeros((2, 2)))):
        with pytest.raises(ValueError):
            wrong()


def test_a_page_appears_whole_or_not_at_all(tmp_path):
    circuit, page = tw.Circuit(2).h(0).cx(0, 1).measure_all(), tmp_path / "run.html"
    page.write_text("old")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "run.html.part").symlink_to(victim)
    tw.report(circuit, page, 10, seed=1)
    assert page.read_text().rstrip().endswith("</html>") and victim.read_text() == "precious"
    before = page.read_text()
    for place in (tmp_path / "no" / "folder.html", "/dev/full"):
        with pytest.raises(MemoryError, match="cannot write"):
            tw.report(circuit, place, 10, seed=1)
    assert page.read_text() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.html", "run.html.part", "victim"]
