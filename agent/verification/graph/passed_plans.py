"""The plan with which each requirement passed last, one JSON file each, without secrets."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from agent.verification.graph.verification_state import is_same_test, seal_plan, unseal_plan
from agent.verification.page_checks.named_elements import is_same_description
from kb_schema.fingerprints import Fingerprint
from kb_schema.owner_folders import make_owner_folder
from kb_schema.verification import OfferedElement, PlanStep, Requirement, VerificationPlan

PLANS = "plans"
_OFFERED = ".offered"
"""Ending of the file with the element that was not used."""


class NothingOffered(Exception):
    """No element was offered for the step, or none that a selector leads to. `offered` is that of another step."""

    def __init__(self, req_id: str, step_idx: int, offered: OfferedElement | None) -> None:
        super().__init__(f"nothing is offered for step {step_idx + 1} of {req_id}")
        self.req_id, self.step_idx, self.offered = req_id, step_idx, offered


class PassedPlans:
    """Plans below `data_dir`. A plan is given only for a requirement that still says the same."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / PLANS

    async def find(self, website_id: str, requirement: Requirement) -> VerificationPlan | None:
        """Return the plan of this requirement, with the requirement's own values; None if there is none."""
        return await asyncio.to_thread(self._read, website_id, requirement)

    async def keep(self, website_id: str, plan: VerificationPlan) -> None:
        """Remember that the requirement passed with this plan."""
        await asyncio.to_thread(self._write, website_id, plan)

    async def list_usual_errors(self, website_id: str) -> frozenset[str]:
        """Return what scripts of a site threw while any of its requirements passed, as patterns."""
        return await asyncio.to_thread(self._read_usual_errors, website_id)

    async def offer(self, website_id: str, req_id: str, offered: OfferedElement) -> None:
        """Keep an element that was not used for a step, until it is accepted or the next one is offered."""
        path = self._path(website_id, req_id).with_suffix(_OFFERED)
        await asyncio.to_thread(_write_file, path, offered.model_dump_json())

    async def find_offer(self, website_id: str, req_id: str) -> OfferedElement | None:
        """Return the element that waits for an answer; None if there is none."""
        return await asyncio.to_thread(self._read_offer, website_id, req_id)

    async def accept(self, website_id: str, req_id: str, step_idx: int) -> OfferedElement:
        """Use the offered element for the step from now on, and return it. Raises `NothingOffered`."""
        return await asyncio.to_thread(self._accept, website_id, req_id, step_idx)

    def _accept(self, website_id: str, req_id: str, step_idx: int) -> OfferedElement:
        path, offered = self._path(website_id, req_id), self._read_offer(website_id, req_id)
        if offered is None:
            raise NothingOffered(req_id, step_idx, None)
        try:
            plan = VerificationPlan.model_validate_json(path.read_text("utf-8"))
        except (OSError, ValidationError):
            raise NothingOffered(req_id, step_idx, None) from None
        if offered.step_idx != step_idx or offered.selector is None or step_idx >= len(plan.steps):
            raise NothingOffered(req_id, step_idx, offered)
        known = plan.steps[step_idx].fingerprint
        steps = [_with_named_element(each, known, offered) for each in plan.steps]
        steps[step_idx] = _with_element(steps[step_idx], offered)
        _write_file(path, plan.model_copy(update={"steps": tuple(steps)}).model_dump_json())
        path.with_suffix(_OFFERED).unlink()
        return offered

    def _read_offer(self, website_id: str, req_id: str) -> OfferedElement | None:
        path = self._path(website_id, req_id).with_suffix(_OFFERED)
        try:
            return OfferedElement.model_validate_json(path.read_text("utf-8"))
        except (OSError, ValidationError):
            return None

    def _read(self, website_id: str, requirement: Requirement) -> VerificationPlan | None:
        try:
            plan = VerificationPlan.model_validate_json(
                self._path(website_id, requirement.req_id).read_text("utf-8")
            )
        except (OSError, ValidationError):
            return None
        if not is_same_test(plan.requirement, requirement, plan):
            return None
        return unseal_plan(plan, requirement, plan.base_url)

    def _read_usual_errors(self, website_id: str) -> frozenset[str]:
        found: set[str] = set()
        for path in self._path(website_id, "any").parent.glob("*.json"):
            with suppress(OSError, ValidationError):
                found.update(VerificationPlan.model_validate_json(path.read_text("utf-8")).usual_errors)
        return frozenset(found)

    def _write(self, website_id: str, plan: VerificationPlan) -> None:
        path = self._path(website_id, plan.requirement.req_id)
        _write_file(path, seal_plan(plan, plan.requirement).model_dump_json())
        path.with_suffix(_OFFERED).unlink(missing_ok=True)

    def _path(self, website_id: str, req_id: str) -> Path:
        return self._folder / re.sub(r"[^A-Za-z0-9_.-]", "_", website_id) / f"{req_id}.json"


def _write_file(path: Path, text: str) -> None:
    make_owner_folder(path.parent)
    new = path.with_suffix(f".{os.getpid()}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def _with_element(step: PlanStep, offered: OfferedElement) -> PlanStep:
    """Return the step, and the outcomes about its own element, with the offered element."""
    fields = _list_fields(offered)
    checks = tuple(
        each.model_copy(update=fields)
        if each.outcome.element is None and each.selector is not None and each.selector == step.selector
        else each
        for each in step.checks
    )
    return step.model_copy(update={**fields, "checks": checks})


def _with_named_element(step: PlanStep, known: Fingerprint | None, offered: OfferedElement) -> PlanStep:
    """Return the step with the offered element in the outcomes that name the element it stands for."""
    checks = tuple(
        each.model_copy(update=_list_fields(offered))
        if each.outcome.element is not None and is_same_description(each.fingerprint, known)
        else each
        for each in step.checks
    )
    return step.model_copy(update={"checks": checks})


def _list_fields(offered: OfferedElement) -> dict[str, object]:
    return {
        "selector": offered.selector,
        "expression": offered.expression,
        "fingerprint": offered.fingerprint,
        "role": offered.fingerprint.role if offered.fingerprint else None,
    }
