"""The plan with which each requirement passed last, one JSON file each, without secrets."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from pydantic import ValidationError

from agent.verification.graph.verification_state import is_same_test, seal_plan, unseal_plan
from kb_schema.verification import Requirement, VerificationPlan

PLANS = "plans"


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

    def _write(self, website_id: str, plan: VerificationPlan) -> None:
        path = self._path(website_id, plan.requirement.req_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}.new")
        new.write_text(seal_plan(plan, plan.requirement).model_dump_json(), encoding="utf-8")
        new.replace(path)

    def _path(self, website_id: str, req_id: str) -> Path:
        return self._folder / re.sub(r"[^A-Za-z0-9_.-]", "_", website_id) / f"{req_id}.json"
