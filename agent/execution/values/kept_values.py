"""Outputs of global scope from earlier processes, and those of this one for later ones (KS 9.1).

They belong to one website and one person: the account of its sign-in. Secrets and a visitor's words are never kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agent.execution.persistence.checkpoint_state import remove_secret_values
from agent.run_context import TimestampedValues, is_meaningful
from agent.session import Session
from kb_schema.kept_values import MAX_VALUE_CHARACTERS, KeptValue

if TYPE_CHECKING:
    from kb_schema.tasks import Task


class KeptValues:
    """Loads and keeps the global values of one task runner's session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._loaded: str | None = None
        """The person whose values are loaded."""

    async def load(self, given: Mapping[str, Any]) -> None:
        """Take over what earlier processes kept, once for a person. Values of this run go first."""
        port, context = self._session.kept_values, self._session.context
        person = None if port is None or self._session.beside else await self._find_person(given)
        if port is None or person is None or person == self._loaded:
            return
        self._loaded = person
        now = datetime.now(UTC)
        known = context.global_values
        for each in await port.kept(self._session.website.website_id, person):
            if each.name in context.said or each.name in given:
                continue
            if isinstance(known, TimestampedValues):
                known.put(each.name, each.value, age_s=max(0.0, (now - each.kept_at).total_seconds()))
            else:
                known[each.name] = each.value

    async def keep(self, task: Task, outputs: Mapping[str, Any]) -> None:
        """Store a task's outputs if they are of global scope and say something."""
        port, context = self._session.kept_values, self._session.context
        if port is None or self._session.beside or task.io_spec.lasting != "global":
            return
        person = await self._find_person({})
        if person is None:
            return
        secret = {spec.name for spec in task.io_spec.outputs if spec.secret}
        open_values = remove_secret_values(dict(outputs), context.redact(dict(outputs)))
        kept = [
            KeptValue(
                website_id=self._session.website.website_id,
                person=person,
                name=name,
                value=value,
                task_id=task.task_id,
                kept_at=datetime.now(UTC),
            )
            for name, value in open_values.items()
            if name not in secret
            and is_meaningful(value)
            and _fits(value)
            and not context.personal.within(value)
        ]
        if kept:
            await port.keep(kept)

    async def _find_person(self, given: Mapping[str, Any]) -> str | None:
        """Return a digest of the account; empty if the website has no sign-in, None if the account is not known."""
        session = self._session
        login = session.website.login_task_id
        if login is None:
            return ""
        known = {**session.context.known_values(), **given}
        inputs = (await session.knowledge.task(login)).io_spec.inputs
        account = [(spec.name, known[spec.name]) for spec in inputs if not spec.secret and spec.name in known]
        if not account:
            return None
        text = json.dumps([session.website.website_id, account], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def _fits(value: Any) -> bool:
    return len(json.dumps(value, default=str)) <= MAX_VALUE_CHARACTERS
