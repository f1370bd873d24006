"""Foresees that a run's request will be accepted, from stored JSON alone: without models of documents and without MCP.

`check_run_request` decides. This only allows the browser to be started meanwhile: whatever is unusual is no, and the browser
waits for the check (decision 0202).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kb_schema.base import SCHEMA_VERSION
from kb_store.record_changes import ChangeableStore

if TYPE_CHECKING:
    from kb_store import Stores

_OWN_VALUE = ("default", "template", "extraction", "from_task")
"""Fields of an input that give it a value, or leave it to the run."""


async def is_plain_request(
    stores: Stores, website_id: str, task_id: str, values: Mapping[str, object]
) -> bool:
    """Return whether the task or workflow exists, and each input that it and its sign-in need is given, and no other."""
    documents = stores.documents
    active = await documents.active(website_id)
    if (
        active is None
        or active.schema_version != SCHEMA_VERSION
        or not isinstance(documents, ChangeableStore)
    ):
        return False
    if any("{secret:" in str(each) for pair in values.items() for each in pair):
        return False

    async def find(*keys: tuple[str, str]) -> dict[str, list[Mapping[str, Any]]]:
        found: dict[str, list[Mapping[str, Any]]] = {"task": [], "workflow": [], "website": []}
        for record in await documents.find_records(website_id, active.stored, keys):
            found[record.kind].append(record.body)
        return found

    try:
        here = await find(("task", task_id), ("workflow", task_id), ("website", website_id))
        works, websites = [*here["task"], *here["workflow"]], here["website"]
        if len(works) != 1 or len(websites) != 1:
            return False
        sign_ins = set(_list_remedies(works[0]))
        works += (await find(*(("task", each) for each in sign_ins)))["task"]
        inputs = [spec for work in works for spec in work.get("io_spec", {}).get("inputs", ())]
        known = {spec["name"] for spec in inputs} | websites[0].get("global_context", {}).keys()
        return (
            len(works) == 1 + len(sign_ins)
            and values.keys() <= known
            and all(_has_value(spec, values) for spec in inputs)
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return False  # edited by hand: the check says what is wrong


def _list_remedies(work: Mapping[str, Any]) -> Iterable[str]:
    """Yield the tasks that remedy a precondition of a step."""
    for step in work.get("steps", ()):
        for condition in step.get("preconditions", ()):
            if condition.get("remediation_task_id") is not None:
                yield condition["remediation_task_id"]


def _has_value(spec: Mapping[str, Any], values: Mapping[str, object]) -> bool:
    return (
        spec["name"] in values
        or spec.get("required") is False
        or any(spec.get(field) is not None for field in _OWN_VALUE)
    )
