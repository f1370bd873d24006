"""A hook of schemathesis: a drawn `Authorization` makes no request invalid, since every request has a right `X-API-Key`.

The document says that one of the two is enough. Schemathesis takes each header by itself: a request whose only fault is a drawn
`Authorization` passes its checks, and one with a list of one text for a text, too, as both are sent as the same bytes. Both at once it
calls invalid and accepted, because the other fault "still makes the request invalid". Such requests are not drawn; those with one
of the two are.
"""

from __future__ import annotations

from typing import Any

import schemathesis

CREDENTIAL = "Authorization"


@schemathesis.hook
def filter_case(_context: Any, case: Any) -> bool:
    """Return whether the case is sent: `Authorization` is its only fault, or none of them."""
    data = case.meta.phase.data if case.meta else None
    faults = {(each.parameter_location, each.parameter) for each in getattr(data, "mutations", ())}
    return len(faults) < 2 or all(parameter != CREDENTIAL for _, parameter in faults)
