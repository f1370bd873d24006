"""Writes the results of a verification: JSON (PACTS 8.3), JUnit XML for CI, and an HTML page.

Everything is made from `VerdictReport`s and the files beside them; nothing is decided here.
"""

from agent.verification.reports.html_report import REPORT, write_html
from agent.verification.reports.junit_report import JUNIT, write_junit
from agent.verification.reports.verdict_files import read_verdict, verdict_path, write_verdict

__all__ = ["JUNIT", "REPORT", "read_verdict", "verdict_path", "write_html", "write_junit", "write_verdict"]
