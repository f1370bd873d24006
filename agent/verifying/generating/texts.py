"""Texts of a requirement as Python: placeholders become variables, secrets come from the environment.

What a test must not contain is known here: values that were typed into fields that hide them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.playwright_python.writing import escaped, python_string
from agent.verifying.generating.naming import constant, identifier, untaken
from kb_schema.placeholders import Literal, Part, Secret, Unique, is_open, parts
from kb_schema.verification import Plan, PlanStep

SHORTEST_SECRET = 6
"""Characters: a shorter one, or a mere word (`admin`), is only a secret where it is the whole text."""


@dataclass(frozen=True, slots=True)
class Named:
    """A value with a name of its own at the top of a test."""

    variable: str
    source: str


@dataclass(slots=True)
class Texts:
    """Writes the texts of one test, and remembers what they need."""

    hidden: Mapping[str, str] = field(default_factory=dict)
    """Values that are typed into fields that hide them -> the environment variable that is read instead."""
    named: Mapping[str, str] = field(default_factory=dict)
    """Texts that stand more than once in the test -> their variable."""
    uses_unique: bool = False
    uses_secret: bool = False

    def literal(self, text: str) -> str:
        """The text as Python: a literal, an f-string, a variable, or a call that reads a secret."""
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
        """Whether the text holds anything that must not be seen, not even in a failure's message."""
        return text is not None and any(isinstance(each, Secret) for each in self._pieces(text))

    def is_open(self, text: str | None) -> bool:
        """Whether the text is another one in every run."""
        return text is not None and any(not isinstance(each, str) for each in self._pieces(text))

    def safe(self, text: str) -> str:
        """For comments: without what is hidden, and without what no line of code may hold."""
        for value in sorted(self.hidden, key=len, reverse=True):
            if value == text or _is_telling(value):
                text = text.replace(value, "***")
        return "".join(each if each.isprintable() or each == "\n" else " " for each in text)

    def _pieces(self, text: str) -> list[str | Part | Named]:
        """Literal text and what stands for the rest."""
        if text in self.hidden:
            return [Secret(self.hidden[text])]
        found: list[str | Part | Named] = []
        for literal in self._split(text, [*self.named]):
            if isinstance(literal, Named):
                found.append(literal)
                continue
            for part in parts(literal):
                found += self._without_hidden(part.text) if isinstance(part, Literal) else [part]
        return found

    def _split(self, text: str, known: Sequence[str]) -> list[str | Named]:
        """The text where named texts stand in it, the longest first."""
        for name in sorted(known, key=len, reverse=True):
            before, found, after = text.partition(name)
            if found:
                return [*self._split(before, known), Named(self.named[name], ""), *self._split(after, known)]
        return [text] if text else []

    def _without_hidden(self, text: str) -> list[str | Part | Named]:
        for value in sorted(self.hidden, key=len, reverse=True):
            before, found, after = text.partition(value)
            if found and _is_telling(value):
                rest = self._without_hidden(after)
                return [*self._without_hidden(before), Secret(self.hidden[value]), *rest]
        return [text] if text else []

    def _call(self, piece: str | Part | Named, quote: str = '"') -> str:
        match piece:
            case Named(variable):
                return variable
            case Secret(name):
                self.uses_secret = True
                return f"secret({quote}{name}{quote})"
            case Unique():
                self.uses_unique = True
                return "unique"
            case _:
                return python_string(str(piece))


def _is_telling(value: str) -> bool:
    """Whether a secret inside another text can be nothing else."""
    return len(value) >= SHORTEST_SECRET and not value.isalpha()


def hidden_values(plans: Sequence[Plan]) -> dict[str, str]:
    """Literal values that are typed into fields that hide them, each with the environment variable that a
    test reads instead, named after the field.
    """
    found: dict[str, str] = {}
    for step in (step for plan in plans for step in plan.steps):
        value = step.intent.value
        if step.password and value and not is_open(value) and value not in found:
            found[value] = untaken(constant(step.intent.element, "PASSWORD"), found.values())
    return found


def worth_naming(plan: Plan) -> dict[str, str]:
    """Texts with `{unique}` in them that a step types and that stand in the plan more than once -> a variable
    named after the field.
    """
    said = list(_texts(plan))
    found: dict[str, str] = {}
    for step in plan.steps:
        value = step.intent.value
        typed = step.intent.element and step.expression and not step.password
        opened = value and value != "{unique}" and typed and "{unique}" in value
        if value and opened and value not in found and sum(text.count(value) for text in said) > 1:
            found[value] = untaken(identifier(step.intent.element, "value"), found.values())
    return found


def _texts(plan: Plan) -> list[str]:
    """Everything a test of the plan will say, in order; what a field is seen to hold is the value again."""
    found: list[str] = []
    for step in plan.steps:
        found += _said(step)
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


def _said(step: PlanStep) -> list[str]:
    return [step.intent.value or "", _strings(step.expression), step.dialog_message or ""]


def _strings(expression: Sequence[object]) -> str:
    return "\n".join(each.model_dump_json() for each in expression if hasattr(each, "model_dump_json"))
