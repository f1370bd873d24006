"""JUnit XML for CI servers: one test case for each requirement, failures with class and evidence.

A fault of the environment (`env_fault`) is an *error*, and so is a run that was stopped, since its result
is unknown. Everything else that did not pass is a *failure*.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from kb_schema.verification import VerdictReport

JUNIT = "junit.xml"
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(reports: Sequence[VerdictReport], path: Path, *, name: str = "periplus verify") -> Path:
    """Write the file and return its path."""
    suites = ET.Element("testsuites", _counts(reports) | {"name": _clean(name)})
    suite = ET.SubElement(suites, "testsuite", _counts(reports) | {"name": _clean(name)})
    if reports:
        suite.set("timestamp", min(each.timestamp for each in reports).isoformat(timespec="seconds"))
    for report in reports:
        _case(suite, report)
    ET.indent(suites)
    path.parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)
    return path


def _counts(reports: Sequence[VerdictReport]) -> dict[str, str]:
    failed = [each for each in reports if each.verdict != "pass"]
    errors = sum(_is_error(each) for each in failed)
    return {
        "tests": str(len(reports)),
        "failures": str(len(failed) - errors),
        "errors": str(errors),
        "skipped": "0",
        "time": f"{sum(each.duration_ms for each in reports) / 1000:.3f}",
    }


def _is_error(report: VerdictReport) -> bool:
    return report.rca.class_ == "env_fault" or report.verdict == "partial"


def _case(suite: ET.Element, report: VerdictReport) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        {
            "classname": "periplus.verify",
            "name": _clean(report.req_id if not report.title else f"{report.req_id}: {report.title}"),
            "time": f"{report.duration_ms / 1000:.3f}",
        },
    )
    properties = ET.SubElement(case, "properties")
    told = {
        "req_id": report.req_id,
        "run_id": report.run_id,
        "url": report.url,
        "verdict": report.verdict,
        "root_cause": report.rca.class_,
        "confidence": f"{report.rca.confidence:g}",
        "heal_rounds": str(report.summary.heal_rounds),
        **({"test_proof": report.proof.status} if report.proof is not None else {}),
        **report.artifacts,
    }
    for name, value in told.items():
        ET.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    if report.verdict != "pass":
        kind = "error" if _is_error(report) else "failure"
        message = {"type": report.rca.class_, "message": _clean(report.rca.message)}
        ET.SubElement(case, kind, message).text = _clean("\n".join(_why(report)))
    ET.SubElement(case, "system-out").text = _clean("\n".join(_steps(report)))


def _why(report: VerdictReport) -> Iterable[str]:
    yield f"{report.rca.class_} (confidence {report.rca.confidence:g}): {report.rca.message}"
    for each in report.missing:
        nearest = f"; the nearest: {', '.join(each.nearest)}" if each.nearest else ""
        yield f"missing, step {each.step_idx + 1} {each.intent}: {each.what}: {each.reason}{nearest}"
    for step in report.steps:
        if step.status == "failed":
            yield f"failed, step {step.step_idx + 1} {step.action} {step.element}: {step.error or ''}"
    yield from (f"evidence: {each}" for each in report.rca.evidence)
    if report.rca.recommendation:
        yield f"recommendation: {report.rca.recommendation}"


def _steps(report: VerdictReport) -> Iterable[str]:
    for step in report.steps:
        healed = f", healed in round {step.heal_round}" if step.heal_round else ""
        took = f"{step.duration_ms / 1000:.2f} s"
        yield f"{step.step_idx + 1}. {step.status} {step.action} {step.element} ({took}{healed})"
    yield from report.notes


def _clean(text: str) -> str:
    """Remove characters that XML cannot contain."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
