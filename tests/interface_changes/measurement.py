"""Verifies a requirement on a changed site, and says what came of it.

The truth is the site's own journal: the same acts with the same values as on the unchanged site, and no other.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser

from agent.verification.planning import read_requirements
from kb_schema.verification import Requirement, VerificationPlan
from tests.interface_changes.operators import Operator, apply_operators, get_meant_words, list_operators
from tests.interface_changes.site_models import SITES, SiteModel
from tests.interface_changes.site_server import ShownSite, serve_site
from tests.support.verification import Came, verify_requirement

OPPOSITE_ACTS = ("delete_all", "archive", "create_more")
"""What no run may do: acts that only a wrong element does."""
Result = Literal["inapplicable", "green", "healed", "offered", "other", "blamed", "wrong", "right", "masked"]
"""Of a change and of a bug; see `operators.yaml`. A bug is `right`, `other` (another class) or `masked`."""


@dataclass(frozen=True)
class Measured:
    """What came of one site with these changes."""

    site: str
    operators: tuple[str, ...]
    result: Result
    cause: str = ""
    confidence: float = 0.0
    message: str = ""
    seconds: float = 0.0
    repeatable: bool | None = None
    """Whether the act on the changed control sent no data on the unchanged site; None: no step acts on it."""
    told: str = field(default="", compare=False)

    @property
    def key(self) -> str:
        """Name it in files."""
        return f"{self.site}.{'+'.join(self.operators)}"


def build_requirements(model: SiteModel) -> dict[str, str]:
    """Return the requirements of a site, in the pipe format."""
    words = {key: part.words for key, part in model.parts.items()}
    first, second = model.rows[0][0], model.rows[1][0]
    created = model.created.format(name=model.entered, kind=model.chosen[1], urgent=f", {model.urgent_word}")
    return {
        "add": f"""# add: Add one
URL: /

{words["open"]} | click | | visible:{words["save"]}
{words["name"]} | fill | {model.entered} | field_populated
{words["kind"]} | select | {model.chosen[1]} | selected:{model.chosen[1]}
{words["urgent"]} | check | | checked
{words["save"]} | click | | message:"{created}"; visible:{words["open"]}
 | navigate | / | shows:{model.entered}
""",
        "rows": f"""# rows: Work in the list
URL: /

"{words["search"]}" | fill | {second} | field_populated
{words["find"]} | click | | shows:{second}; not_shows:{first}
{words["act"]}@{second} | click | | message:"{model.acted.format(name=second)}"
{words["remove"]}@{second} | click | | dialog_opens
{words["confirm"]} | click | | message:"{model.removed.format(name=second)}"
""",
        "refuse": f"""# refuse: Nothing without a name
URL: /

{words["open"]} | click | | visible:{words["save"]}
{words["save"]} | click | | shows:"{model.refused}"
""",
    }


@dataclass
class Bench:
    """A browser, the server, and the plan and journal of each requirement on the unchanged sites."""

    browser: Browser
    shown: ShownSite
    healthy: dict[tuple[str, str], tuple[Requirement, VerificationPlan, list[list[str]]]] = field(
        default_factory=dict
    )

    async def build_plans(self, site: str) -> dict[str, VerificationPlan]:
        """Return the plan of each requirement of a site, with which it passed."""
        return {each: (await self._read_healthy(site, each))[1] for each in build_requirements(SITES[site])}

    async def _read_healthy(
        self, site: str, requirement: str
    ) -> tuple[Requirement, VerificationPlan, list[list[str]]]:
        """Return the requirement, the plan that passed, and the journal of a run with it."""
        key = site, requirement
        if key not in self.healthy:
            wanted = await read_requirement(build_requirements(SITES[site])[requirement])
            self.shown.show(SITES[site])
            came = await verify_requirement(wanted, self.shown.base, self.browser)
            assert came.green, f"{site} fails unchanged\n{came.told()}"
            assert came.plan is not None
            self.shown.show(SITES[site])
            again = await verify_requirement(wanted, self.shown.base, self.browser, came.plan)
            assert again.green, f"{site} fails unchanged with its plan\n{again.told()}"
            self.healthy[key] = wanted, came.plan, list(self.shown.journal)
        return self.healthy[key]

    async def measure(self, site: str, names: tuple[str, ...]) -> Measured:
        """Verify the requirement of the last operator on the site with all of them."""
        operator = list_operators()[names[-1]]
        changed = apply_operators(site, names)
        if changed is None:
            return Measured(site, names, "inapplicable")
        wanted, plan, expected = await self._read_healthy(site, operator.requirement)
        self.shown.show(changed)
        began = time.monotonic()
        came = await verify_requirement(wanted, self.shown.base, self.browser, plan)
        journal = self.shown.journal
        if operator.is_bug:
            result = _judge_bug(operator, came, journal)
        else:
            result = _judge_change(came, journal, expected, get_words(changed, names))
        cause = came.report.rca
        return Measured(
            site, names, result, cause.class_, cause.confidence, cause.message, round(time.monotonic() - began, 1),
            is_repeatable(SITES[site], plan, names), f"{came.told()}\n  journal {self.shown.journal}",
        )  # fmt: skip


def is_repeatable(model: SiteModel, plan: VerificationPlan, names: tuple[str, ...]) -> bool | None:
    """Return whether no step on a control that these operators change sent data; None if there is no such step."""
    listed = list_operators()
    words = {model.parts[listed[each].part].words for each in names if listed[each].part}
    sent = [each.sent_data for each in plan.steps if each.intent.element in words]
    return not any(each is not False for each in sent) if sent else None


def get_words(model: SiteModel, names: tuple[str, ...]) -> list[str]:
    """Return the words that the changed controls have now."""
    listed = list_operators()
    return [get_meant_words(model, listed[each]) for each in names if listed[each].part]


async def read_requirement(text: str) -> Requirement:
    """Return the requirement of a text in the pipe format."""
    with tempfile.TemporaryDirectory(prefix="periplus-changes-") as folder:
        file = Path(folder) / "requirement.txt"
        file.write_text(text, encoding="utf-8")
        return (await read_requirements([file]))[0]


def _judge_bug(operator: Operator, came: Came, journal: list[list[str]]) -> Result:
    if came.green:
        return "masked"
    if any(act[0] in OPPOSITE_ACTS for act in journal):
        return "wrong"
    return "right" if came.cause in operator.classes else "other"


def _judge_change(
    came: Came, journal: list[list[str]], expected: list[list[str]], meant: list[str]
) -> Result:
    if any(act not in expected for act in journal) or (came.green and journal != expected):
        return "wrong"
    if came.green:
        return "healed" if came.recovered else "green"
    if came.cause == "app_defect":
        return "blamed"
    return "offered" if _names_candidate(came, [each.casefold() for each in meant]) else "other"


def _names_candidate(came: Came, meant: list[str]) -> bool:
    """Whether the report names the element that is meant as the first candidate."""
    evidence = came.evidence
    if evidence is None:
        return False
    nearest, advice = (evidence.nearest or "").casefold(), came.report.rca.recommendation.casefold()
    named = {
        "healing_declined": [f"'{each}'" in nearest for each in meant],
        "selector_drift": [f"'{each}'" in nearest for each in meant],
        "data_issue": [f"“{each}”" in advice for each in meant],
    }
    return any(named.get(came.cause, []))


@asynccontextmanager
async def open_bench(browser: Browser) -> AsyncIterator[Bench]:
    """A bench with a server of its own."""
    with serve_site() as shown:
        yield Bench(browser, shown)


def to_record(measured: Measured) -> dict[str, Any]:
    """Return what is kept of it."""
    return {
        "site": measured.site, "operators": list(measured.operators), "result": measured.result, "cause": measured.cause,
        "confidence": measured.confidence, "message": measured.message, "seconds": measured.seconds, "repeatable": measured.repeatable,
        "told": measured.told,
    }  # fmt: skip


def read_record(record: dict[str, Any]) -> Measured:
    """Return what was kept by `to_record`."""
    return Measured(**{**record, "operators": tuple(record["operators"])})
