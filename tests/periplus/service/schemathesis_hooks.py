"""Hooks of the stateful run of schemathesis: what makes something is asked with the examples of the document.

Schemathesis begins a chain only with operations whose bodies name no id of another kind: a task, a website or a `req_id`
that nothing in the document makes. So the operations with links were never called, or with bodies that are refused. Here
their bodies are the document's own examples, and all that comes after them is drawn as before.
"""

from __future__ import annotations

from typing import Any

import schemathesis


@schemathesis.hook
def before_load_schema(_context: Any, raw_schema: dict[str, Any]) -> None:
    """Replace the bodies of operations that name others on what they make."""
    named = raw_schema["components"]["schemas"]
    for methods in raw_schema["paths"].values():
        made = methods.get("post", {})
        if not any("links" in each for each in made.get("responses", {}).values()):
            continue
        media = made["requestBody"]["content"]["application/json"]
        model = named.get(media["schema"].get("$ref", "").rpartition("/")[2], {})
        examples = [each["value"] for each in media.get("examples", {}).values()]
        media["schema"] = {"enum": examples + model.get("examples", [])}
