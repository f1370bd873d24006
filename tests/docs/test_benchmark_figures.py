"""Figures of benchmarks: what counts as a regression, what is kept, and where a curve is drawn."""

import json
import xml.etree.ElementTree as ET

import pytest

from benchmarks.bench_start import STARTS
from benchmarks.curves import Chart, Line, draw_charts
from benchmarks.figures import Figures
from benchmarks.regression_check import COMMITTED, find_regressions

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(("ratio", "wrong"), [(0.5, []), (2.0, []), (2.5, []), (2.51, ["load"])])
def test_more_than_a_quarter_above_the_committed_ratio_is_a_regression(ratio, wrong):
    assert list(find_regressions({"load": ratio}, {"load": 2.0})) == wrong


def test_a_ratio_that_is_no_longer_measured_or_not_yet_committed_is_red():
    assert list(find_regressions({"new": 1.0}, {"old": 1.0})) == ["new", "old"]


def test_every_start_that_is_measured_has_a_committed_ratio():
    committed = json.loads(COMMITTED.read_text(encoding="utf-8"))
    assert {f"start: periplus {' '.join(each.arguments)}" for each in STARTS} <= committed.keys()
    assert len(committed) == len(STARTS) + 5


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
