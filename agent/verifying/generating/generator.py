"""From plans to a suite: one test per requirement, what they share in page objects and fixtures.

Everything is written in memory first; files are touched only when all of it could be written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from agent.playwright_python.writing import to_source
from agent.verifying.generating.actions import file_name, file_values
from agent.verifying.generating.body import SharedElement
from agent.verifying.generating.elements import FILE, elements_file
from agent.verifying.generating.errors import FileMissing, PlansIncomplete
from agent.verifying.generating.files import put
from agent.verifying.generating.formatting import docstring, formatted
from agent.verifying.generating.naming import mark, module_name, untaken
from agent.verifying.generating.pages import page_objects, shared_elements
from agent.verifying.generating.testing import Common, Function, login_function, test_function
from agent.verifying.generating.texts import hidden_values
from kb_schema.placeholders import secret_names
from kb_schema.verification import Plan, PlanStep
from kb_schema.vocabulary import canonical

FILES = "files"
"""Folder of what tests upload."""
STORAGE_STATE = "PLAYWRIGHT_STORAGE_STATE"
"""Names a file with a session, where the suite cannot sign in itself."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A suite that was written."""

    files: tuple[Path, ...]
    tests: dict[str, Path]
    """By `req_id`."""
    hashes: dict[str, str]
    """`sha256:...` by path below the folder."""
    environment: tuple[str, ...] = ()
    """Variables that must be set to run it: its secrets."""
    hidden: dict[str, str] = field(default_factory=dict, repr=False)
    """Of those, the ones whose value stood in a requirement: it is in no file."""


def generate(
    plans: Sequence[Plan],
    folder: Path,
    *,
    login: Plan | None = None,
    base_url: str,
    title: str = "",
    overwrite: bool = False,
) -> Generated:
    """Write the suite of these plans into a folder; the same plans give the same bytes.

    `login`: how to sign in; done once per worker, for the plans that were signed in before their first
    step. Raises `PlansIncomplete`, `CannotBeWritten`, `FileMissing`, `ChangedByHand`; nothing is written then.
    """
    _complete([*plans, *([login] if login else [])])
    suite = _Suite(plans, login, base_url, title)
    contents = suite.contents()
    hashes = put(folder, contents, overwrite=overwrite)
    return Generated(
        files=tuple(folder / name for name in contents),
        tests={req_id: folder / name for req_id, name in suite.names.items()},
        hashes=hashes,
        environment=suite.environment(),
        hidden={variable: value for value, variable in suite.hidden.items()},
    )


def _complete(plans: Sequence[Plan]) -> None:
    problems = [
        f"{plan.requirement.req_id}: {each.intent or each.what}: {each.reason}"
        for plan in plans
        for each in plan.missing
    ]
    problems += [
        f"{plan.requirement.req_id}: {len(plan.steps)} of {len(plan.requirement.steps)} steps were found"
        for plan in plans
        if not plan.missing and len(plan.steps) < len(plan.requirement.steps)
    ]
    if problems:
        raise PlansIncomplete(problems)


class _Suite:
    """The files of a suite, by path below its folder."""

    def __init__(self, plans: Sequence[Plan], login: Plan | None, base_url: str, title: str) -> None:
        self.plans, self.login, self.title = plans, login, title
        self.base_url = base_url.rstrip("/") + ("/" if urlsplit(base_url).path.strip("/") else "")
        everything = [*([login] if login else []), *plans]
        self.hidden = hidden_values(everything)
        self.pages = page_objects(plans, login)
        self.shared: Mapping[str, Mapping[str, SharedElement]] = shared_elements(self.pages)
        self.names = _file_names(plans)
        self.obstacles = {
            to_source(each.expression): each
            for plan in everything
            for each in plan.obstacles
            if each.expression
        }

    @property
    def about(self) -> str:
        """What the suite is, and how it is run."""
        of = f" of {self.title}" if self.title else ""
        return (
            f"Fixtures of the tests{of}.\n\nRun them with `pytest`. They need pytest-playwright, and a browser: "
            "`playwright install chromium`, or the path of one in PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH."
        )

    def contents(self) -> dict[str, bytes]:
        """What every file holds."""
        functions = {plan.requirement.req_id: self._test(plan) for plan in self.plans}
        signing_in = None
        if self.login is not None:
            signing_in = login_function(self.login, self._common())
        used = [*functions.values(), *([signing_in] if signing_in else [])]
        found: dict[str, str] = {
            "pytest.ini": _render("pytest.ini.j2", suite=self, marks=self._marks()),
            "conftest.py": _render(
                "conftest.py.j2",
                suite=self,
                login=signing_in,
                borrowed=self._borrowed(),
                signed_out=any(self._signed_out(plan) for plan in self.plans),
                unique=any("unique" in each.fixtures for each in functions.values()),
                uuid=any("unique" in each.fixtures for each in used),
                console=any("console_errors" in each.fixtures for each in functions.values()),
            ),
        }
        helpers = frozenset[str]().union(*(each.helpers for each in used))
        if helpers:
            found["support.py"] = _render("support.py.j2", helpers=helpers, obstacles=list(self.obstacles))
        if self.pages:
            found["pages/__init__.py"] = _render("pages.py.j2")
        for page in self.pages:
            found[f"pages/{page.module}.py"] = _render("page.py.j2", page=page)
        for plan in self.plans:
            name = self.names[plan.requirement.req_id]
            found[name] = _render(
                "test.py.j2",
                function=functions[plan.requirement.req_id],
                requirement=plan.requirement,
            )
        written = {
            name: (formatted(text, name) if name.endswith(".py") else text).encode()
            for name, text in found.items()
        }
        everything = [*([self.login] if self.login else []), *self.plans]
        return {**written, **dict(_uploads(self.plans)), FILE: elements_file(everything)}

    def environment(self) -> tuple[str, ...]:
        """The variables the suite reads its secrets from."""
        everything = [*([self.login] if self.login else []), *self.plans]
        texts = [step.intent.value for plan in everything for step in plan.steps]
        texts += [c.outcome.value for plan in everything for step in plan.steps for c in step.checks]
        borrowed = [STORAGE_STATE] if self._borrowed() else []
        return tuple(sorted({*secret_names(*texts), *self.hidden.values(), *borrowed}))

    def _common(self) -> Common:
        return Common(self.shared, self.hidden, self.base_url, self.obstacles)

    def _test(self, plan: Plan) -> Function:
        function = test_function(plan, self._common())
        marks = list(dict.fromkeys(mark(tag) for tag in plan.requirement.tags))
        if self._signed_out(plan):
            marks.append("signed_out")
        return function.marked(marks)

    def _borrowed(self) -> str | None:
        """What signed in, where nobody knows how a test would do it: the session comes from outside."""
        by = [plan.signed_in_by for plan in self.plans if plan.signed_in_by]
        return by[0] if by and self.login is None else None

    def _signed_out(self, plan: Plan) -> bool:
        """Whether a test begins as a new visitor while others begin signed in."""
        return (self.login is not None or self._borrowed() is not None) and plan.signed_in_by is None

    def _marks(self) -> dict[str, str]:
        found = {
            mark(tag): f"requirements tagged {' '.join(tag.split())}"
            for plan in self.plans
            for tag in plan.requirement.tags
        }
        if any(self._signed_out(plan) for plan in self.plans):
            found["signed_out"] = "begins as a new visitor, without the session of the login"
        return dict(sorted(found.items()))


def _file_names(plans: Sequence[Plan]) -> dict[str, str]:
    found: dict[str, str] = {}
    for plan in plans:
        taken = {name.removesuffix(".py").casefold() for name in found.values()}  # some disks know no case
        name = f"test_{module_name(plan.requirement.req_id)}"
        stem = name if name.casefold() not in taken else untaken(name.casefold(), taken)
        found[plan.requirement.req_id] = f"{stem}.py"
    return found


def _uploads(plans: Sequence[Plan]) -> Iterator[tuple[str, bytes]]:
    for step in (step for plan in plans for step in plan.steps):
        if canonical(step.intent.action) == "upload_file":
            for value in file_values(step.intent.value or ""):
                yield f"{FILES}/{file_name(value)}", _file(step, value)


def _file(step: PlanStep, value: str) -> bytes:
    """A file that is uploaded: beside the requirement, else below the working folder (as when it was tried)."""
    beside = Path(step.intent.place.file).parent if step.intent.place.file else Path()
    tried = [beside / value, Path(value)]
    for path in tried:
        if path.is_file():
            return path.read_bytes()
    raise FileMissing(step, tried)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Python and INI, not HTML; every text in it is written as a literal
    )
    environment.filters["docstring"] = docstring
    return environment


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(**values)
