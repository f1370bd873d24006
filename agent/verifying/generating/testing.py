"""One plan as one function: where it begins, its steps as commented blocks, the names it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import PurePath

from agent.playwright_python.writing import to_source
from agent.verifying.generating.actions import Doing, written_action
from agent.verifying.generating.addresses import on_site
from agent.verifying.generating.assertions import written_checks
from agent.verifying.generating.body import Block, Body, SharedElement
from agent.verifying.generating.naming import identifier, module_name, path_pattern
from agent.verifying.generating.texts import Texts, worth_naming
from kb_schema.verification import Obstacle, Place, Plan, PlanStep

Shared = Mapping[str, Mapping[str, SharedElement]]
_TYPES = {"unique": "str", "console_errors": "list[str]"}


@dataclass(frozen=True, slots=True)
class Common:
    """What the functions of a suite have in common."""

    shared: Shared
    """Elements of page objects: by path, then by source."""
    hidden: Mapping[str, str]
    """Values that no file may hold -> the environment variable that is read instead."""
    base_url: str
    obstacles: Mapping[str, Obstacle]
    """What the site lays over its pages, by the source of the control that puts it away."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the suite, ready for its template."""

    name: str
    summary: str
    about: str
    """The same, and where the requirement stands."""
    opening: tuple[str, ...]
    """Statements before the first step."""
    blocks: tuple[Block, ...]
    imports: tuple[str, ...]
    fixtures: tuple[str, ...]
    uses_files: bool
    helpers: frozenset[str]
    marks: tuple[str, ...] = ()

    def marked(self, marks: Sequence[str]) -> Function:
        """With these marks."""
        return replace(self, marks=tuple(marks))

    @property
    def arguments(self) -> str:
        """What it asks pytest for."""
        return ", ".join(["page: Page", *(f"{name}: {_TYPES[name]}" for name in self.fixtures)])


def test_function(plan: Plan, common: Common) -> Function:
    """The test of a plan. Raises `CannotBeWritten`."""
    texts = Texts(hidden=common.hidden, named=worth_naming(plan))
    name = identifier(module_name(plan.requirement.req_id)).strip("_")
    return _function(f"test_{name}", plan, texts, common)


test_function.__test__ = False  # type: ignore[attr-defined]  # not pytest's


def login_function(plan: Plan, common: Common) -> Function:
    """How a plan signs in, once per worker: nobody listens to its console. Raises `CannotBeWritten`."""
    quiet = tuple(
        step.model_copy(
            update={"checks": tuple(c for c in step.checks if c.outcome.kind != "no_console_errors")}
        )
        for step in plan.steps
    )
    plan = plan.model_copy(update={"steps": quiet})
    function = _function("signed_in", plan, Texts(hidden=common.hidden), common)
    if "unique" in function.fixtures:  # a fixture of single tests
        return replace(function, opening=("unique = uuid4().hex[:8]", *function.opening))
    return function


def _function(name: str, plan: Plan, texts: Texts, common: Common) -> Function:
    requirement = plan.requirement
    body = Body(texts, {})
    begin = [f"page.goto({texts.literal(on_site(requirement.url, common.base_url))})"]
    if common.obstacles and not any(_answers(step, common.obstacles) for step in plan.steps):
        body.helpers.add("put_away_notices")
        begin.insert(0, "put_away_notices(page)")
    for number, step in enumerate(plan.steps, 1):
        body.shared = _of_page(step, common.shared)
        statements = [*written_action(Doing(body, step, common.base_url)), *written_checks(body, step)]
        body.add(texts.safe(_comment(number, step)), list(dict.fromkeys(statements)))
    named = {variable: _value(text, texts) for text, variable in texts.named.items()}
    blocks = body.finished(opening=named)
    if texts.uses_unique:
        body.fixtures.add("unique")
    if texts.uses_secret:
        body.helpers.add("secret")
    summary = texts.safe(_sentence(requirement.title or requirement.req_id.replace("_", " ")))
    code = "\n".join(chain(begin, *(block.statements for block in blocks)))
    return Function(
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


def _answers(step: PlanStep, obstacles: Mapping[str, Obstacle]) -> bool:
    """Whether a step puts a notice away itself: nothing may do it before."""
    names = {each.name.casefold() for each in obstacles.values()}
    return to_source(step.expression) in obstacles or (step.name or step.intent.element).casefold() in names


def _of_page(step: PlanStep, shared: Shared) -> Mapping[str, SharedElement]:
    return shared.get(path_pattern(step.page_url), {})


def _value(text: str, texts: Texts) -> str:
    """What a named text is made of: itself without its name."""
    alone = Texts(hidden=texts.hidden)
    source = alone.literal(text)
    texts.uses_unique = texts.uses_unique or alone.uses_unique
    texts.uses_secret = texts.uses_secret or alone.uses_secret
    return source


def _imports(code: str, body: Body) -> list[str]:
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
    """`2. Password@LoginForm (cell A3; label, 0.92)`: which line it is, how its element was found."""
    what = step.intent.intent or step.intent.element or step.intent.action
    found = f"{step.strategy}, {step.confidence:.2f}" if step.strategy else ""
    told = "; ".join(each for each in (_short_place(step.intent.place), found) if each)
    return " ".join(f"{number}. {what}{f' ({told})' if told else ''}".split())


def _short_place(place: Place) -> str:
    return f"cell {place.cell}" if place.cell else f"line {place.line}" if place.line is not None else ""


def _origin(req_id: str, place: Place) -> str:
    file = PurePath(place.file).name  # where it lies on this machine is nobody's business
    where = str(place.model_copy(update={"file": file, "cell": None, "line": None}))
    return (
        f"Requirement {req_id}{f' ({where})' if where else ''}, as it was found on the page.\n\nGenerated by Periplus. "
        "A comment before each step says where it is written, and how its element was found and how surely."
    )


def _sentence(text: str) -> str:
    plain = " ".join(text.split())
    plain = plain[:1].upper() + plain[1:]
    return plain if plain.endswith((".", "!", "?")) else f"{plain}."
