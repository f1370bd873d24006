"""Judges conditions on a stored page: collect the probes, answer them, judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kb_schema.conditions import BaseCondition
from kb_schema.evaluation import questions, verdicts
from kb_schema.pages.stored import StoredPage, answer_probes
from kb_schema.probes import Facts, Scope, Verdict
from kb_schema.snapshots import PageSnapshot


def evaluate(
    page: PageSnapshot | StoredPage,
    conditions: Sequence[BaseCondition],
    scope: Scope,
    facts: Facts | None = None,
) -> list[Verdict]:
    """The verdict on each condition; `facts` carries what the snapshot cannot say (screen, events,
    time, context, base URLs). Raises `PageRefused`.
    """
    snapshot = page.snapshot if isinstance(page, StoredPage) else page
    known = replace(
        facts or Facts(),
        url=snapshot.url,
        title=snapshot.title,
        ready_state=snapshot.ready_state,
        answers=answer_probes(page, questions(conditions, scope)),
    )
    return verdicts(conditions, known, scope)
