"""What links need beyond a schema: requirements of which the steps can be read, so that there are runs to follow.

Half of the requests stay as they were generated.
"""

from __future__ import annotations

import itertools
from typing import Any

import schemathesis

_numbers = itertools.count()
_STEPS = ["Name | fill | Ada", "Save | click | | text:Saved"]


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Give every second requirement a readable step and an id of its own."""
    if context.operation.label != "POST /api/run" or not isinstance(body, dict):
        return body
    number = next(_numbers)
    if number % 2:
        return body
    return {"req_id": f"LINKED-{number}", "url": "https://shop.example/", "steps": _STEPS}
