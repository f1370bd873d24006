"""Rules of engagement of a presenter, in a form that can be executed and checked.

The knowledge states them as sentences (KS 4.5) or in full. A sentence is recognised by its words; an unknown
rule is kept, reported as a warning when it is loaded, and not applied.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from kb_schema.base import Model

RuleName = Literal["never_silent", "explain_fields", "confirm_success", "say_why_first", "use_visitor_name"]

LONGEST_S = 60.0
SILENCE_S = 3.0
"""The longest silence in seconds if a rule states none."""


class EngagementRule(Model):
    """One rule.

    `never_silent`: while a field is typed, silence lasts at most `seconds`. `explain_fields`: narration
    covers every field that is filled. `confirm_success`: a result is verified and stated before the
    presentation continues. `say_why_first`: narration precedes the first action. `use_visitor_name`: the
    visitor is addressed by name, if it is known.
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


def parse_engagement_rules(rule: str | EngagementRule) -> tuple[EngagementRule, ...]:
    """Return the rules that a sentence states: it may state several. Empty if it is not understood."""
    if isinstance(rule, EngagementRule):
        return (rule,)
    text = rule.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    seconds = _SECONDS.search(text)
    asked = {"seconds": float(seconds[1])} if seconds and 0 < float(seconds[1]) <= LONGEST_S else {}
    names = dict.fromkeys(name for name, pattern in _SENTENCES if pattern.search(text))
    return tuple(EngagementRule(rule=name, **asked if name == "never_silent" else {}) for name in names)
