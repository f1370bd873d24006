"""A workflow has success criteria, or states that its results are unverified (decision 0045)."""

from __future__ import annotations

from collections.abc import Iterator

from kb_schema.errors import Problem
from kb_schema.knowledge_base import KnowledgeBase


def check(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """Yield a problem for each workflow of which nothing tells whether it worked."""
    for workflow in knowledge.workflows.values():
        if not workflow.success_criteria and not workflow.unverified:
            yield Problem(
                "nothing tells whether it worked: it has no success criteria",
                path="$.success_criteria",
                document=f"workflow:{workflow.workflow_id}",
                fix="add success_criteria, or state `unverified: true`: then no run of it counts as a success",
                rule="workflow-evidence",
            )
