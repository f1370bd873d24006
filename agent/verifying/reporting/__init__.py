"""What became of requirements, for programs, for CI and for people: JSON (PACTS 8.3), JUnit XML, one HTML page.

Everything here is made from `VerdictReport`s and the files beside them; nothing is decided.
"""

from agent.verifying.reporting.html import REPORT, write_html
from agent.verifying.reporting.junit import JUNIT, write_junit
from agent.verifying.reporting.verdicts import read_verdict, verdict_path, write_verdict

__all__ = ["JUNIT", "REPORT", "read_verdict", "verdict_path", "write_html", "write_junit", "write_verdict"]
