"""Hooks of the stateful run of schemathesis: what makes something is asked with the examples of the document, and links are counted.

Schemathesis begins a chain only with operations whose bodies name no id of another kind: a task, a website or a `req_id`
that nothing in the document makes. So the operations with links were never called, or with bodies that are refused. Here
their bodies are the document's own examples, and all that comes after them is drawn as before. Lists are asked without their optional filters by an id,
for the same reason: `GET /api/runs?req_id=` began no chain.

`links.json` in the working folder then has each link of the document, stated and inferred, with how often each status answered it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import schemathesis
import schemathesis_credentials  # noqa: F401 - it registers its hook
from schemathesis import cli
from schemathesis.engine import events

LINKS = Path("links.json")
_LOADED: list[Any] = []


@schemathesis.hook
def before_load_schema(_context: Any, raw_schema: dict[str, Any]) -> None:
    """Replace the bodies of operations that name others on what they make, and leave out filters of lists."""
    named = raw_schema["components"]["schemas"]
    for methods in raw_schema["paths"].values():
        listed = methods.get("get", {})
        if "parameters" in listed:
            listed["parameters"] = [each for each in listed["parameters"] if not _is_filter(each)]
        made = methods.get("post", {})
        if not any("links" in each for each in made.get("responses", {}).values()):
            continue
        media = made["requestBody"]["content"]["application/json"]
        model = named.get(media["schema"].get("$ref", "").rpartition("/")[2], {})
        examples = [each["value"] for each in media.get("examples", {}).values()]
        media["schema"] = {"enum": examples + model.get("examples", [])}


def _is_filter(parameter: dict[str, Any]) -> bool:
    by_id = parameter["in"] == "query" and parameter["name"].endswith("_id") and parameter["name"] != "run_id"
    return by_id and not parameter.get("required")


@schemathesis.hook
def after_load_schema(_context: Any, schema: Any) -> None:
    """Keep the document; its links are read at the end, since reading them settles its address."""
    _LOADED.append(schema)


@cli.handler()
class _Links(cli.EventHandler):
    """Counts the links that were followed, by the status that answered."""

    def __init__(self, *_args: Any, **_params: Any) -> None:
        self.followed: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.begun: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """Of the operations with which chains began."""

    def handle_event(self, _context: Any, event: Any) -> None:
        if not isinstance(event, events.ScenarioFinished):
            return
        for case_id, case in event.recorder.cases.items():
            made = event.recorder.interactions.get(case_id)
            status = "none" if made is None or made.response is None else str(made.response.status_code)
            if case.transition is None:
                self.begun[case.value.operation.label][status] += 1
            elif case.is_transition_applied:
                self.followed[case.transition.id][status] += 1

    def shutdown(self, _context: Any) -> None:
        operations = _LOADED[-1].as_state_machine()._transitions.operations
        known = sorted({link.full_name for each in operations.values() for link in each.outgoing})
        links = {name: dict(self.followed.get(name, {})) for name in known}
        begun = {name: dict(each) for name, each in sorted(self.begun.items())}
        LINKS.write_text(json.dumps({"links": links, "begun": begun}, indent=1), encoding="utf-8")
