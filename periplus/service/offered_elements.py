"""Elements that verifications offered for a step: whether one still waits for an answer, and how it is accepted.

They are kept beside the plans of the data directory, where `periplus verify --accept` finds them, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kb_schema.verification import OfferedElement
from kb_store.audit.audit_recorder import record_async
from periplus.service.problem_details import ApiProblem

if TYPE_CHECKING:
    from agent.verification.graph.passed_plans import PassedPlans


@dataclass(frozen=True, slots=True)
class OfferedElements:
    """The offers below `data_dir`."""

    data_dir: Path

    async def is_open(self, offered: OfferedElement) -> bool:
        """Return whether this element can be accepted: a selector leads to it, nothing else was offered since, and it
        was not accepted yet.
        """
        if offered.selector is None:
            return False
        kept = await self._plans().find_offer(offered.website_id, offered.req_id)
        return kept is not None and _is_same_offer(kept, offered)

    async def accept(self, offered: OfferedElement) -> None:
        """Use the element for its step from now on. Raises `ApiProblem` (409) if it cannot be accepted any more."""
        from agent.verification.graph.passed_plans import NothingOffered  # noqa: PLC0415 - imports LangGraph

        if not await self.is_open(offered):
            raise _build_refusal(offered)
        try:
            await self._plans().accept(offered.website_id, offered.req_id, offered.step_idx)
        except NothingOffered as exc:
            raise _build_refusal(offered) from exc
        about = (
            f"{offered.element} of step {offered.step_idx + 1} of {offered.req_id} is {offered.description}"
        )
        await record_async("element_accepted", about, website=offered.website_id)

    def _plans(self) -> PassedPlans:
        from agent.verification.graph.passed_plans import PassedPlans  # noqa: PLC0415 - imports LangGraph

        return PassedPlans(self.data_dir)


def _is_same_offer(kept: OfferedElement, offered: OfferedElement) -> bool:
    """Return whether both are one element for one step. Pictures and likeness may differ: a later run offered it, too."""
    same = ("step_idx", "description", "selector")
    return all(getattr(kept, each) == getattr(offered, each) for each in same)


def _build_refusal(offered: OfferedElement) -> ApiProblem:
    return ApiProblem(
        409,
        "not_offered",
        f"{offered.description} is not offered for step {offered.step_idx + 1} of {offered.req_id} any more",
        fix="verify the requirement again: its newest run has what is offered now",
    )
