"""Figures of benchmarks: what counts as a regression, what is kept, and where a curve is drawn."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from benchmarks.bench_flows import COLOURS, draw
from benchmarks.bench_long import Growth
from benchmarks.bench_start import STARTS
from benchmarks.curves import Chart, Line, draw_charts
from benchmarks.figures import Figures
from benchmarks.long_site import page_path
from benchmarks.process_cpu import read_tree_cpu_s
from benchmarks.regression_check import COMMITTED, find_regressions
from benchmarks.simulated_jobs import build_job, register
from periplus.fleet.local_fleet import open_local_fleet

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(("ratio", "wrong"), [(0.5, []), (2.0, []), (2.5, []), (2.51, ["load"])])
def test_more_than_a_quarter_above_the_committed_ratio_is_a_regression(ratio, wrong):
    assert list(find_regressions({"load": ratio}, {"load": 2.0})) == wrong


def test_a_ratio_that_is_no_longer_measured_or_not_yet_committed_is_red():
    assert list(find_regressions({"new": 1.0}, {"old": 1.0})) == ["new", "old"]


def test_every_start_that_is_measured_has_a_committed_ratio():
    committed = json.loads(COMMITTED.read_text(encoding="utf-8"))
    assert {f"start: {each.name}" for each in STARTS} <= committed.keys()
    assert len(committed) == len(STARTS) + 7


def test_an_interrupted_measurement_finds_the_parts_that_were_kept(tmp_path):
    Figures("huge", tmp_path).add("1000", {"load_s": 0.5})
    again = Figures("huge", tmp_path)
    again.add("10000", {"load_s": 5.0})
    assert Figures("huge", tmp_path).parts == {"1000": {"load_s": 0.5}, "10000": {"load_s": 5.0}}
    assert len(again.measured) == len("2026-11-29")


def test_equal_factors_are_equal_distances_on_both_axes():
    line = Line("<ours>", [(10, 1.0), (100, 10.0), (1_000, 100.0)])
    root = ET.fromstring(draw_charts([Chart("Time & size", [line])], "a note"))
    dots = [(float(each.get("cx")), float(each.get("cy"))) for each in root.iter(f"{SVG}circle")]
    (x1, y1), (x2, y2), (x3, y3) = dots
    assert (x2 - x1, y1 - y2) == pytest.approx((x3 - x2, y2 - y3), abs=0.2)
    assert x2 > x1
    assert y2 < y1
    assert {"<ours>", "Time & size", "a note"} <= {each.text for each in root.iter(f"{SVG}text")}


def test_growth_is_from_the_second_tenth_to_the_last(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 5_000)
    growth = Growth(100, tmp_path)
    for done in range(1, 101):
        growth.reached(done)
    assert all(growth.memory_mb)
    assert all(growth.cpu_ms)
    growth.memory_mb = [[100.0], [50.0, 51.0, 40.0], *[[80.0]] * 7, [55.0]]
    found = growth.figures()
    assert found["memory_mb growth"] == pytest.approx(0.1)
    assert (found["units"], found["files_kb a unit"]) == (100, pytest.approx(0.05))


def test_bars_are_as_long_as_their_cpu_time():
    sides = {"hand": (1.0, 2.0, 3.0), "engine": (2.0, 4.0, 6.0)}
    flow = {
        f"{side} {part}": value
        for side, values in sides.items()
        for part, value in zip(
            ("own", "driver", "chromium", "cpu", "messages"), (*values, sum(values), 7.0), strict=True
        )
    }
    root = ET.fromstring(draw({"sample": flow}, "a note"))
    bars = [each for each in root.iter(f"{SVG}rect") if each.get("height") == "20"]
    widths = [float(each.get("width")) for each in bars]
    assert [each.get("fill") for each in bars] == [
        COLOURS[part] for part in ("own", "driver", "chromium")
    ] * 2
    assert widths == pytest.approx([35, 70, 105, 70, 140, 210])


async def test_a_simulated_job_returns_its_number():
    register()
    async with open_local_fleet(2) as fleet:
        assert [await fleet.do(build_job(n, compute_s=0.001, wait_s=0.001)) for n in (3, 5)] == [3, 5]


def test_the_pages_of_the_long_site_differ_in_words():
    paths = {page_path(number) for number in range(8_000)}
    assert len(paths) == 8_000
    assert not any(each.isdigit() for path in paths for each in path)


def test_a_browsers_process_that_ended_is_counted_before_its_parent_asks_for_it():
    """A renderer's time was charged to whatever was measured next."""
    ends = """
import os, time
if not os.fork():
    while time.process_time() < 0.1:
        pass
    os._exit(0)
print("forked", flush=True)
time.sleep(60)
"""
    before = read_tree_cpu_s()
    with subprocess.Popen([sys.executable, "-c", ends], stdout=subprocess.PIPE) as parent:
        try:
            assert parent.stdout is not None
            parent.stdout.readline()
            child = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()[0]
            while " Z " not in Path(f"/proc/{child}/stat").read_text():
                os.sched_yield()
            assert read_tree_cpu_s() - before >= 0.1
        finally:
            parent.kill()
