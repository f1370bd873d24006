"""Writes texts of a requirement as Python: placeholders become variables, secrets come from the
environment.

It also knows what a test must not contain: values that were typed into password fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.verification.generation.pytest_names import constant, identifier, make_unique_name
from kb_schema.locator_expressions import escaped, python_string
from kb_schema.placeholders import LiteralPart, SecretPart, UniquePart, ValuePart, is_open, parts
from kb_schema.verification import PlanStep, VerificationPlan

SHORTEST_SECRET = 6
"""In characters. A shorter value, or a plain word (`admin`), only counts as a secret if it is the whole
text.
"""


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A value with a name of its own at the top of a test."""

    variable: str
    source: str


@dataclass(slots=True)
class TextExpressions:
    """Writes the texts of one test, and collects what they need."""

    hidden: Mapping[str, str] = field(default_factory=dict)
    """Values typed into password fields -> the environment variable that is read instead."""
    named: Mapping[str, str] = field(default_factory=dict)
    """Texts that appear more than once in the test -> their variable."""
    uses_unique: bool = False
    uses_secret: bool = False

    def literal(self, text: str) -> str:
        """Return the text as Python: a literal, an f-string, a variable, or a call that reads a secret."""
        if text in self.named:
            return self.named[text]
        pieces = self._pieces(text)
        if all(isinstance(each, str) for each in pieces):
            return python_string("".join(map(str, pieces)))
        if len(pieces) == 1:
            return self._call(pieces[0])
        quote = "'" if any(isinstance(each, str) and '"' in each for each in pieces) else '"'
        inner = "'" if quote == '"' else '"'
        body = "".join(
            escaped(each, quote).replace("{", "{{").replace("}", "}}")
            if isinstance(each, str)
            else "{" + self._call(each, inner) + "}"
            for each in pieces
        )
        return f"f{quote}{body}{quote}"

    def is_secret(self, text: str | None) -> bool:
        """Return whether the text contains a secret, which must not appear even in a failure's message."""
        return text is not None and any(isinstance(each, SecretPart) for each in self._pieces(text))

    def is_open(self, text: str | None) -> bool:
        """Return whether the text differs in every run."""
        return text is not None and any(not isinstance(each, str) for each in self._pieces(text))

    def safe(self, text: str) -> str:
        """Return the text for a comment: without secrets, and without characters a comment cannot contain."""
        for value in sorted(self.hidden, key=len, reverse=True):
            if value == text or _is_telling(value):
                text = text.replace(value, "***")
        return "".join(each if each.isprintable() or each == "\n" else " " for each in text)

    def _pieces(self, text: str) -> list[str | ValuePart | NamedValue]:
        """Split the text into literal parts and placeholders."""
        if text in self.hidden:
            return [SecretPart(self.hidden[text])]
        found: list[str | ValuePart | NamedValue] = []
        for literal in self._split(text, [*self.named]):
            if isinstance(literal, NamedValue):
                found.append(literal)
                continue
            for part in parts(literal):
                found += self._without_hidden(part.text) if isinstance(part, LiteralPart) else [part]
        return found

    def _split(self, text: str, known: Sequence[str]) -> list[str | NamedValue]:
        """Split the text at named texts, the longest first."""
        for name in sorted(known, key=len, reverse=True):
            before, found, after = text.partition(name)
            if found:
                return [
                    *self._split(before, known),
                    NamedValue(self.named[name], ""),
                    *self._split(after, known),
                ]
        return [text] if text else []

    def _without_hidden(self, text: str) -> list[str | ValuePart | NamedValue]:
        for value in sorted(self.hidden, key=len, reverse=True):
            before, found, after = text.partition(value)
            if found and _is_telling(value):
                rest = self._without_hidden(after)
                return [*self._without_hidden(before), SecretPart(self.hidden[value]), *rest]
        return [text] if text else []

    def _call(self, piece: str | ValuePart | NamedValue, quote: str = '"') -> str:
        match piece:
            case NamedValue(variable):
                return variable
            case SecretPart(name):
                self.uses_secret = True
                return f"secret({quote}{name}{quote})"
            case UniquePart():
                self.uses_unique = True
                return "unique"
            case _:
                return python_string(str(piece))


def _is_telling(value: str) -> bool:
    """Return whether a secret inside another text is certainly that secret."""
    return len(value) >= SHORTEST_SECRET and not value.isalpha()


def hidden_values(plans: Sequence[VerificationPlan]) -> dict[str, str]:
    """Return the literal values typed into password fields, each with the environment variable that a test
    reads instead, named after the field.
    """
    found: dict[str, str] = {}
    for step in (step for plan in plans for step in plan.steps):
        value = step.intent.value
        if step.password and value and not is_open(value) and value not in found:
            found[value] = make_unique_name(constant(step.intent.element, "PASSWORD"), found.values())
    return found


def list_texts_worth_naming(plan: VerificationPlan) -> dict[str, str]:
    """Return the texts with `{unique}` that a step types and that the plan has more than once -> a variable
    named after the field.
    """
    said = list(_texts(plan))
    found: dict[str, str] = {}
    for step in plan.steps:
        value = step.intent.value
        typed = step.intent.element and step.expression and not step.password
        opened = value and value != "{unique}" and typed and "{unique}" in value
        if value and opened and value not in found and sum(text.count(value) for text in said) > 1:
            found[value] = make_unique_name(identifier(step.intent.element, "value"), found.values())
    return found


def _texts(plan: VerificationPlan) -> list[str]:
    """Return all texts a test of the plan will contain, in order; the value a field is seen to hold is
    counted again.
    """
    found: list[str] = []
    for step in plan.steps:
        found += _list_step_texts(step)
        for check in step.checks:
            implied = (
                check.outcome.kind == "field_populated"
                and not check.outcome.value
                and not check.outcome.element
            )
            found += [
                check.outcome.value or (step.intent.value or "" if implied else ""),
                _strings(check.expression),
            ]
    return found


def _list_step_texts(step: PlanStep) -> list[str]:
    return [step.intent.value or "", _strings(step.expression), step.dialog_message or ""]


def _strings(expression: Sequence[object]) -> str:
    return "\n".join(each.model_dump_json() for each in expression if hasattr(each, "model_dump_json"))
