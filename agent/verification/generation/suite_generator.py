"""Generates a suite from plans: one test per requirement, with shared page objects and fixtures.

Everything is written in memory first; files are only touched if all of it could be written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from agent.browser.browser_profile import BrowserProfile
from agent.verification.generation.action_statements import file_name, file_values
from agent.verification.generation.errors import FileMissing, PlansIncomplete
from agent.verification.generation.function_body import SharedElement
from agent.verification.generation.generated_files import write_files
from agent.verification.generation.generated_functions import (
    GeneratedFunction,
    SuiteContext,
    login_function,
    test_function,
)
from agent.verification.generation.generated_page_objects import page_objects, shared_elements
from agent.verification.generation.known_elements import FILE, elements_file
from agent.verification.generation.pytest_names import build_pytest_mark, make_unique_name, module_name
from agent.verification.generation.ruff_format import docstring, format_source
from agent.verification.generation.text_expressions import hidden_values
from kb_schema.action_types import canonical
from kb_schema.locator_expressions import to_source
from kb_schema.placeholders import secret_names
from kb_schema.verification import PlanStep, VerificationPlan

FILES = "files"
"""Folder of the files that tests upload."""
LEAST_TIMEOUT_S = 10.0
STORAGE_STATE = "PLAYWRIGHT_STORAGE_STATE"
"""Names a file with a session, for suites that cannot sign in themselves."""


@dataclass(frozen=True, slots=True)
class GeneratedSuite:
    """A suite that was written."""

    files: tuple[Path, ...]
    tests: dict[str, Path]
    """By `req_id`."""
    hashes: dict[str, str]
    """`sha256:...` by path below the folder."""
    environment: tuple[str, ...] = ()
    """Environment variables that must be set to run it: its secrets."""
    hidden: dict[str, str] = field(default_factory=dict, repr=False)
    """Those whose value stood in a requirement, by variable: no file contains the value."""


def generate(
    plans: Sequence[VerificationPlan],
    folder: Path,
    *,
    login: VerificationPlan | None = None,
    base_url: str,
    title: str = "",
    overwrite: bool = False,
    profile: BrowserProfile | None = None,
) -> GeneratedSuite:
    """Write the suite of these plans into a folder; the same plans give the same bytes.

    `login`: how to sign in, once per worker, for plans that begin signed in. `profile`: the browser that the tests
    start, where it is not Chromium with 1280 x 720. Raises `PlansIncomplete`,
    `CannotBeWritten`, `FileMissing`, `ChangedByHand`; nothing is written then.
    """
    _complete([*plans, *([login] if login else [])])
    suite = _SuiteFiles(plans, login, base_url, title, profile or BrowserProfile())
    contents = suite.contents()
    hashes = write_files(folder, contents, overwrite=overwrite)
    return GeneratedSuite(
        files=tuple(folder / name for name in contents),
        tests={req_id: folder / name for req_id, name in suite.names.items()},
        hashes=hashes,
        environment=suite.environment(),
        hidden={variable: value for value, variable in suite.hidden.items()},
    )


def _complete(plans: Sequence[VerificationPlan]) -> None:
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


class _SuiteFiles:
    """The files of a suite, by path below its folder."""

    def __init__(
        self,
        plans: Sequence[VerificationPlan],
        login: VerificationPlan | None,
        base_url: str,
        title: str,
        profile: BrowserProfile,
    ) -> None:
        self.profile = profile
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
        """Says what the suite is, and how to run it."""
        of = f" of {self.title}" if self.title else ""
        return (
            f"Fixtures of the tests{of}.\n\nRun them with `pytest`. They need pytest-playwright, and a browser: "
            "`playwright install chromium`, or the path of one in PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH."
        )

    def contents(self) -> dict[str, bytes]:
        """Return the content of every file."""
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
            found["support.py"] = _render(
                "support.py.j2", helpers=helpers, obstacles=list(self.obstacles), framed=self._framed()
            )
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
            name: (format_source(text, name) if name.endswith(".py") else text).encode()
            for name, text in found.items()
        }
        everything = [*([self.login] if self.login else []), *self.plans]
        return {**written, **dict(_uploads(self.plans)), FILE: elements_file(everything)}

    def environment(self) -> tuple[str, ...]:
        """Return the variables the suite reads its secrets from."""
        everything = [*([self.login] if self.login else []), *self.plans]
        texts = [step.intent.value for plan in everything for step in plan.steps]
        texts += [c.outcome.value for plan in everything for step in plan.steps for c in step.checks]
        borrowed = [STORAGE_STATE] if self._borrowed() else []
        return tuple(sorted({*secret_names(*texts), *self.hidden.values(), *borrowed}))

    def _common(self) -> SuiteContext:
        return SuiteContext(self.shared, self.hidden, self.base_url, self.obstacles)

    def _test(self, plan: VerificationPlan) -> GeneratedFunction:
        function = test_function(plan, self._common())
        marks = list(dict.fromkeys(build_pytest_mark(tag) for tag in plan.requirement.tags))
        if self._signed_out(plan):
            marks.append("signed_out")
        return function.marked(marks)

    def _borrowed(self) -> str | None:
        """What signed in, if no test can do it: the session then comes from outside."""
        by = [plan.signed_in_by for plan in self.plans if plan.signed_in_by]
        return by[0] if by and self.login is None else None

    def _signed_out(self, plan: VerificationPlan) -> bool:
        """Return whether a test begins as a new visitor while others begin signed in."""
        return (self.login is not None or self._borrowed() is not None) and plan.signed_in_by is None

    @property
    def browser_options(self) -> str:
        """Return pytest-playwright's options for the engine and the device, each with a space before it."""
        engine, device = self.profile.engine, self.profile.device
        own = "" if engine == "chromium" else f" --browser {engine}"
        return f'{own} --device "{device}"' if device else own

    @property
    def viewport(self) -> str:
        """Return the viewport as a Python dictionary, if it is neither the device's nor the default."""
        if self.profile.viewport is None:
            return ""
        width, height = self.profile.viewport
        return f'{{"width": {width}, "height": {height}}}'

    @property
    def login_options(self) -> str:
        """Return the arguments of the context that signs in, as the other contexts have them."""
        device = "**playwright.devices[device]"
        if self.profile.device and self.viewport:
            return f'base_url=base_url, **{{{device}, "viewport": VIEWPORT}}'
        own = device if self.profile.device else "viewport=VIEWPORT" if self.viewport else ""
        return f"base_url=base_url, {own}" if own else "base_url=base_url"

    @property
    def assertion_timeout(self) -> str:
        """How long an assertion waits, in milliseconds: as long as the slowest step may take, at least 10 s."""
        everything = [*([self.login] if self.login else []), *self.plans]
        own = (step.intent.timeout_s or 0.0 for plan in everything for step in plan.steps)
        return f"{int(max(LEAST_TIMEOUT_S, *own, 0.0) * 1_000):_}"

    def _framed(self) -> bool:
        """Return whether an assertion looks into a frame."""
        everything = [*([self.login] if self.login else []), *self.plans]
        return any(check.frames for plan in everything for step in plan.steps for check in step.checks)

    def _marks(self) -> dict[str, str]:
        found = {
            build_pytest_mark(tag): f"requirements tagged {' '.join(tag.split())}"
            for plan in self.plans
            for tag in plan.requirement.tags
        }
        if any(self._signed_out(plan) for plan in self.plans):
            found["signed_out"] = "begins as a new visitor, without the session of the login"
        return dict(sorted(found.items()))


def _file_names(plans: Sequence[VerificationPlan]) -> dict[str, str]:
    found: dict[str, str] = {}
    for plan in plans:
        taken = {name.removesuffix(".py").casefold() for name in found.values()}  # some disks know no case
        name = f"test_{module_name(plan.requirement.req_id)}"
        stem = name if name.casefold() not in taken else make_unique_name(name.casefold(), taken)
        found[plan.requirement.req_id] = f"{stem}.py"
    return found


def _uploads(plans: Sequence[VerificationPlan]) -> Iterator[tuple[str, bytes]]:
    for step in (step for plan in plans for step in plan.steps):
        if canonical(step.intent.action) == "upload_file":
            for value in file_values(step.intent.value or ""):
                yield f"{FILES}/{file_name(value)}", _file(step, value)


def _file(step: PlanStep, value: str) -> bytes:
    """Return a file to upload: beside the requirement, otherwise below the working folder, as during the
    verification.
    """
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
