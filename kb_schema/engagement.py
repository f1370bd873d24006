"""Rules of engagement: what a presenter holds to, in a form that can be carried out and checked.

Knowledge states them as sentences (KS 4.5) or in full. A sentence is recognised by what it says; one that is
not is kept, told as a warning when it is loaded, and not acted on.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from kb_schema.base import Model

RuleName = Literal[
    "never_silent", "explain_fields", "confirm_success", "say_why_first", "use_visitor_name"
]  # fmt: skip

LONGEST_S = 60.0
SILENCE_S = 3.0
"""How long nobody may be silent where a rule does not say."""


class EngagementRule(Model):
    """One thing the presenter holds to.

    `never_silent`: while a field is typed into, silence lasts at most `seconds`.
    `explain_fields`: something is said about every field that is filled.
    `confirm_success`: what was done is seen to be done, and said, before the story goes on.
    `say_why_first`: something is said before the first action.
    `use_visitor_name`: a visitor whose name is known is called by it.
    """

    rule: RuleName
    seconds: float = Field(default=SILENCE_S, gt=0, le=LONGEST_S)


_SENTENCES: tuple[tuple[RuleName, re.Pattern[str]], ...] = (
    ("explain_fields", re.compile(r"\b(explain|describe|say)\b.*\b(each|every|all)\b.*\bfields?\b")),
    ("explain_fields", re.compile(r"\bpurpose of\b.*\bfields?\b")),
    (
        "never_silent",
        re.compile(
            r"\b(narrate|talk|speak|keep talking)\b.*\b(while|during|when)\b.*\b(typing|filling|entering|form)"
        ),
    ),
    (
        "never_silent",
        re.compile(r"\b(never|don't|do not|no)\b.*\b(silent|silence|quiet)\b"),
    ),
    (
        "confirm_success",
        re.compile(
            r"\b(confirm|verify|check|show)\b.*\b(success|succeeded|worked|result|done|outcome)\b"
            r".*\b(before|next|moving|going)\b"
        ),
    ),
    ("say_why_first", re.compile(r"\bwhy\b.*\bbefore\b")),
    ("say_why_first", re.compile(r"\bintroduce\b.*\bbefore\b")),
    ("use_visitor_name", re.compile(r"\b(use|call|address|greet)\b.*\b(name)\b")),
)
_SECONDS = re.compile(r"\b(\d+(?:\.\d+)?)\s*(?:s|sec|seconds?)\b")


def recognised(rule: str | EngagementRule) -> tuple[EngagementRule, ...]:
    """What a rule asks for: a sentence may ask for more than one thing. Empty where it is not understood."""
    if isinstance(rule, EngagementRule):
        return (rule,)
    text = rule.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    seconds = _SECONDS.search(text)
    asked = {"seconds": float(seconds[1])} if seconds and 0 < float(seconds[1]) <= LONGEST_S else {}
    names = dict.fromkeys(name for name, pattern in _SENTENCES if pattern.search(text))
    return tuple(EngagementRule(rule=name, **asked if name == "never_silent" else {}) for name in names)
