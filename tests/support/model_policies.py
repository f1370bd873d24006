"""Scripted models for jobs in words: each answers a request for a plan, then requests for acts, from what it was sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.support.model_server import Answer, Asked, Policy

PAGE = re.compile(r"<page-text>\n(.*?)\n</page-text>", re.DOTALL)


def page_of(asked: Asked) -> str:
    """What the page shows: the last block of a request for an act."""
    blocks = PAGE.findall(asked.prompt)
    return blocks[-1] if blocks else ""


def wants_plan(asked: Asked) -> bool:
    return "You plan it before you have seen any page" in asked.prompt


def ref_of(asked: Asked, words: str, role: str = r"\w+") -> str:
    """The reference of the control with these words; one that is not there if the page has none."""
    found = re.search(rf'^\s*(e\d+) {role} "?{words}', page_of(asked), re.MULTILINE)
    return found[1] if found else "e9999"


def follow(plan: Mapping[str, Any], acts: Sequence[Mapping[str, Any]]) -> Policy:
    """A good policy: the plan, then one act after the other, then done. `on`: the words of the act's element."""
    left: list[Mapping[str, Any]] = list(acts)

    def policy(asked: Asked) -> Answer:
        if wants_plan(asked):
            left[:] = acts
            return Answer(tool=dict(plan))
        if not left:
            return Answer(tool={"kind": "done"})
        act = dict(left.pop(0))
        words = act.pop("on", None)
        if words is not None:
            act = {"kind": "act", "element": ref_of(asked, words, act.pop("role", r"\w+")), **act}
        return Answer(tool=act)

    return policy


def then(first: Policy, second: Callable[[Asked], Answer | None]) -> Policy:
    """`second` where it has an answer, else `first`."""

    def policy(asked: Asked) -> Answer:
        return second(asked) or first(asked)

    return policy
