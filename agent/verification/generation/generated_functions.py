"""Writes one plan as one function: its start, its steps as commented blocks, the names it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import PurePath

from agent.verification.generation.action_statements import ActionWriting, write_action
from agent.verification.generation.function_body import FunctionBody, SharedElement, StepBlock
from agent.verification.generation.generated_urls import relativize_url
from agent.verification.generation.outcome_assertions import write_checks
from agent.verification.generation.pytest_names import identifier, module_name, path_pattern
from agent.verification.generation.text_expressions import TextExpressions, list_texts_worth_naming
from kb_schema.locator_expressions import to_source
from kb_schema.verification import DismissedOverlay, PlanStep, SourceLocation, VerificationPlan

SharedElements = Mapping[str, Mapping[str, SharedElement]]
_TYPES = {"unique": "str", "console_errors": "list[str]"}


@dataclass(frozen=True, slots=True)
class SuiteContext:
    """What the functions of a suite have in common."""

    shared: SharedElements
    """Elements of page objects: by path, then by source."""
    hidden: Mapping[str, str]
    """Values that no file may contain -> the environment variable that is read instead."""
    base_url: str
    obstacles: Mapping[str, DismissedOverlay]
    """Overlays of the site, by the source of the control that closes them."""


@dataclass(frozen=True, slots=True)
class GeneratedFunction:
    """A function of the suite, ready for its template."""

    name: str
    summary: str
    about: str
    """The docstring: the title, and where the requirement stands."""
    opening: tuple[str, ...]
    """Statements before the first step."""
    blocks: tuple[StepBlock, ...]
    imports: tuple[str, ...]
    fixtures: tuple[str, ...]
    uses_files: bool
    helpers: frozenset[str]
    marks: tuple[str, ...] = ()

    def marked(self, marks: Sequence[str]) -> GeneratedFunction:
        """Return the function with these marks."""
        return replace(self, marks=tuple(marks))

    @property
    def arguments(self) -> str:
        """The fixtures it requests from pytest."""
        return ", ".join(["page: Page", *(f"{name}: {_TYPES[name]}" for name in self.fixtures)])


def test_function(plan: VerificationPlan, common: SuiteContext) -> GeneratedFunction:
    """Write the test of a plan. Raises `CannotBeWritten`."""
    texts = TextExpressions(hidden=common.hidden, named=list_texts_worth_naming(plan))
    name = identifier(module_name(plan.requirement.req_id)).strip("_")
    return _function(f"test_{name}", plan, texts, common)


test_function.__test__ = False  # type: ignore[attr-defined]  # not pytest's


def login_function(plan: VerificationPlan, common: SuiteContext) -> GeneratedFunction:
    """Write the fixture that signs in, once per worker; the console is not checked. Raises
    `CannotBeWritten`.
    """
    quiet = tuple(
        step.model_copy(
            update={"checks": tuple(c for c in step.checks if c.outcome.kind != "no_console_errors")}
        )
        for step in plan.steps
    )
    plan = plan.model_copy(update={"steps": quiet})
    function = _function("signed_in", plan, TextExpressions(hidden=common.hidden), common)
    if "unique" in function.fixtures:  # a fixture of single tests
        return replace(function, opening=("unique = uuid4().hex[:8]", *function.opening))
    return function


def _function(
    name: str, plan: VerificationPlan, texts: TextExpressions, common: SuiteContext
) -> GeneratedFunction:
    requirement = plan.requirement
    body = FunctionBody(texts, {})
    begin = [f"page.goto({texts.literal(relativize_url(requirement.url, common.base_url))})"]
    if common.obstacles and not any(_answers(step, common.obstacles) for step in plan.steps):
        body.helpers.add("put_away_notices")
        begin.insert(0, "put_away_notices(page)")
    for number, step in enumerate(plan.steps, 1):
        body.shared = _of_page(step, common.shared)
        statements = [*write_action(ActionWriting(body, step, common.base_url)), *write_checks(body, step)]
        body.add(texts.safe(_comment(number, step)), list(dict.fromkeys(statements)))
    named = {variable: _value(text, texts) for text, variable in texts.named.items()}
    blocks = body.finished(opening=named)
    if texts.uses_unique:
        body.fixtures.add("unique")
    if texts.uses_secret:
        body.helpers.add("secret")
    summary = texts.safe(_sentence(requirement.title or requirement.req_id.replace("_", " ")))
    code = "\n".join(chain(begin, *(block.statements for block in blocks)))
    return GeneratedFunction(
        name=name,
        summary=summary,
        about=texts.safe(_origin(requirement.req_id, requirement.place)),
        opening=(*(f"{variable} = {source}" for variable, source in named.items()), *begin),
        blocks=tuple(blocks),
        imports=tuple(_imports(code, body)),
        fixtures=tuple(sorted(body.fixtures, reverse=True)),
        uses_files="FILES /" in code,
        helpers=frozenset(body.helpers),
    )


def _answers(step: PlanStep, obstacles: Mapping[str, DismissedOverlay]) -> bool:
    """Return whether a step itself closes an overlay: then the test must not close it before."""
    names = {each.name.casefold() for each in obstacles.values()}
    return to_source(step.expression) in obstacles or (step.name or step.intent.element).casefold() in names


def _of_page(step: PlanStep, shared: SharedElements) -> Mapping[str, SharedElement]:
    return shared.get(path_pattern(step.page_url), {})


def _value(text: str, texts: TextExpressions) -> str:
    """Return what a named text is made of: the text without its name."""
    alone = TextExpressions(hidden=texts.hidden)
    source = alone.literal(text)
    texts.uses_unique = texts.uses_unique or alone.uses_unique
    texts.uses_secret = texts.uses_secret or alone.uses_secret
    return source


def _imports(code: str, body: FunctionBody) -> list[str]:
    found = [f"from pages.{each.module} import {each.class_name}" for each in body.used.values()]
    if "re.compile(" in code:
        found.append("import re")
    if "fnmatch(" in code:
        found.append("from fnmatch import fnmatch")
    if "FILES /" in code:
        found.append("from pathlib import Path")
    found += [f"from support import {name}" for name in sorted(body.helpers)]
    names = "Page, expect" if "expect(" in code else "Page"
    return [*dict.fromkeys(found), f"from playwright.sync_api import {names}"]


def _comment(number: int, step: PlanStep) -> str:
    """Return `2. Password@LoginForm (cell A3; label, 0.92)`: the place of the step, and how its element was
    found.
    """
    what = step.intent.intent or step.intent.element or step.intent.action
    found = f"{step.strategy}, {step.confidence:.2f}" if step.strategy else ""
    told = "; ".join(each for each in (_short_place(step.intent.place), found) if each)
    return " ".join(f"{number}. {what}{f' ({told})' if told else ''}".split())


def _short_place(place: SourceLocation) -> str:
    return f"cell {place.cell}" if place.cell else f"line {place.line}" if place.line is not None else ""


def _origin(req_id: str, place: SourceLocation) -> str:
    file = PurePath(place.file).name  # without folders of this machine
    where = str(place.model_copy(update={"file": file, "cell": None, "line": None}))
    return (
        f"Requirement {req_id}{f' ({where})' if where else ''}, as it was found on the page.\n\nGenerated by Periplus. "
        "A comment before each step says where it is written, and how its element was found and how surely."
    )


def _sentence(text: str) -> str:
    plain = " ".join(text.split())
    plain = plain[:1].upper() + plain[1:]
    return plain if plain.endswith((".", "!", "?")) else f"{plain}."
