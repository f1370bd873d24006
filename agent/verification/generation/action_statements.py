"""Writes a step's action in Playwright's Python: one registered function per action.

The code around it handles what the step triggers: another tab, a download, a browser dialog.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath

from agent.verification.generation.errors import CannotBeWritten
from agent.verification.generation.function_body import FunctionBody
from agent.verification.generation.generated_urls import relativize_url
from kb_schema.action_types import canonical
from kb_schema.locator_expressions import python_string
from kb_schema.registry import Registry
from kb_schema.verification import PlanStep

SCROLL_PIXELS = {"down": 600, "up": -600}


@dataclass(frozen=True, slots=True)
class ActionWriting:
    """The step being written."""

    body: FunctionBody
    step: PlanStep
    base_url: str

    @property
    def target(self) -> str:
        """The step's element. Raises `CannotBeWritten` if the plan has no locator for it."""
        if not self.step.expression:
            raise CannotBeWritten(self.step, "no locator of its element was proven on the page")
        return self.body.locator(
            self.step.expression, self.step.intent.element or self.step.name, self.step.role
        )

    @property
    def text(self) -> str:
        """The step's value as it is. Raises `CannotBeWritten` if there is none."""
        if self.step.intent.value is None:
            raise CannotBeWritten(self.step, f"`{self.step.intent.action}` needs a value")
        return self.step.intent.value

    @property
    def value(self) -> str:
        """The step's value as Python."""
        return self.body.texts.literal(self.text)

    @property
    def tag(self) -> str:
        """The element's HTML tag; empty if it is not known."""
        return (self.step.fingerprint and self.step.fingerprint.tag) or ""


ActionWriter = Callable[[ActionWriting], list[str]]
ACTION_WRITERS = Registry[ActionWriter]("action")
"""By canonical name."""


def write_action(doing: ActionWriting) -> list[str]:
    """Return the statements of the step's action, with what it triggers. Raises `CannotBeWritten`."""
    name = canonical(doing.step.intent.action) or doing.step.intent.action
    if not name:
        return []
    if name not in ACTION_WRITERS:
        raise CannotBeWritten(doing.step, f"the action `{name}` cannot be written as a test")
    return _with_what_it_sets_off(doing, ACTION_WRITERS[name](doing))


def _with_what_it_sets_off(doing: ActionWriting, statements: list[str]) -> list[str]:
    step, body = doing.step, doing.body
    before: list[str] = []
    around: list[str] = []
    after: list[str] = []
    answer = step.dialog or ("dismiss" if step.dialog_message else None)
    if answer is not None:
        before.append(f'{body.page}.once("dialog", lambda dialog: dialog.{answer}())')
    if step.dialog_message:
        name = body.variable("dialog_info")
        around.append(f'{body.page}.expect_event("dialog") as {name}')
        after.append(f"assert {name}.value.message == {body.texts.literal(step.dialog_message)}")
    for check in step.checks:
        if check.outcome.kind == "downloads":
            name = body.variable("download_info")
            around.append(f"{body.page}.expect_download() as {name}")
            after += _download(name, check.outcome.value, body)
    if step.new_tab:
        name = body.variable("popup_info")
        around.append(f"{body.page}.expect_popup() as {name}")
        after.append(f"{body.enter_tab()} = {name}.value")
    if around:
        inner = "\n".join(f"    {line}" for each in statements for line in each.splitlines())
        statements = [f"with {', '.join(around)}:\n{inner}"]
    return [*before, *statements, *after]


def _download(name: str, wanted: str | None, body: FunctionBody) -> list[str]:
    if wanted is None:
        return [f"assert {name}.value.suggested_filename"]
    if "*" not in wanted:
        return [f"assert {name}.value.suggested_filename == {body.texts.literal(wanted)}"]
    return [f"assert fnmatch({name}.value.suggested_filename, {body.texts.literal(wanted)})"]


# -- the entries ---------------------------------------------------------------------------------------


def _plain(method: str) -> ActionWriter:
    return lambda doing: [f"{doing.target}.{method}()"]


for _name, _method in (
    ("click", "click"),
    ("double_click", "dblclick"),
    ("hover", "hover"),
    ("focus", "focus"),
    ("clear", "clear"),
    ("scroll_to_element", "scroll_into_view_if_needed"),
):
    ACTION_WRITERS.register(_name)(_plain(_method))


def _tick(method: str) -> ActionWriter:
    def write(doing: ActionWriting) -> list[str]:
        """A checkbox that is not drawn is ticked by its label, as people do."""
        known = doing.step.fingerprint
        if known and known.label and known.box and 0 in known.box[2:]:
            label = doing.body.texts.literal(known.label)
            return [f"{doing.body.page}.get_by_text({label}, exact=True).click()"]
        return [f"{doing.target}.{method}()"]

    return write


@ACTION_WRITERS.register("right_click")
def _right_click(doing: ActionWriting) -> list[str]:
    return [f'{doing.target}.click(button="right")']


ACTION_WRITERS.register("check")(_tick("check"))
ACTION_WRITERS.register("uncheck")(_tick("uncheck"))


@ACTION_WRITERS.register("fill")
def _fill(doing: ActionWriting) -> list[str]:
    """PACTS's `type` goes key by key."""
    method = "press_sequentially" if doing.step.intent.typed else "fill"
    return [f"{doing.target}.{method}({doing.value})"]


@ACTION_WRITERS.register("append_text")
def _append_text(doing: ActionWriting) -> list[str]:
    return [f'{doing.target}.press("End")', f"{doing.target}.press_sequentially({doing.value})"]


@ACTION_WRITERS.register("input_and_submit")
def _input_and_submit(doing: ActionWriting) -> list[str]:
    return [f"{doing.target}.fill({doing.value})", f'{doing.target}.press("Enter")']


@ACTION_WRITERS.register("press")
def _press(doing: ActionWriting) -> list[str]:
    if not doing.step.expression:
        return [f"{doing.body.page}.keyboard.press({doing.value})"]
    return [f"{doing.target}.press({doing.value})"]


@ACTION_WRITERS.register("select_option")
def _select_option(doing: ActionWriting) -> list[str]:
    """A list that is not a native select is opened, then its option is clicked."""
    if doing.tag in ("", "select"):
        return [f"{doing.target}.select_option({doing.value})"]
    option = f'{doing.body.page}.get_by_role("option", name={doing.value}, exact=True)'
    return [f"{doing.target}.click()", f"{option}.click()"]


@ACTION_WRITERS.register("upload_file")
def _upload_file(doing: ActionWriting) -> list[str]:
    """A file input takes the file at once; a button opens a file chooser."""
    names = [f"FILES / {python_string(file_name(each))}" for each in file_values(doing.text)]
    given = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
    if doing.tag in ("", "input"):
        # A file needs no visible field, so nothing else waits for the script that hears of it.
        return [f"{doing.body.page}.wait_for_load_state()", f"{doing.target}.set_input_files({given})"]
    name = doing.body.variable("chooser_info")
    return [
        f"with {doing.body.page}.expect_file_chooser() as {name}:\n    {doing.target}.click()",
        f"{name}.value.set_files({given})",
    ]


def file_values(value: str) -> list[str]:
    """Return the files of a step, one per line, with paths as the requirement has them."""
    return [each.strip() for each in value.splitlines() if each.strip()]


def file_name(value: str) -> str:
    """Return the last part of a path, with either kind of slash."""
    return PureWindowsPath(value).name if "\\" in value else PurePosixPath(value).name


@ACTION_WRITERS.register("navigate")
def _navigate(doing: ActionWriting) -> list[str]:
    place = doing.step.intent.value or doing.step.intent.element
    return [f"{doing.body.page}.goto({doing.body.texts.literal(relativize_url(place, doing.base_url))})"]


@ACTION_WRITERS.register("navigate_back")
def _navigate_back(doing: ActionWriting) -> list[str]:
    return [f"{doing.body.page}.go_back()"]


@ACTION_WRITERS.register("refresh")
def _refresh(doing: ActionWriting) -> list[str]:
    return [f"{doing.body.page}.reload()"]


@ACTION_WRITERS.register("close_tab")
def _close_tab(doing: ActionWriting) -> list[str]:
    return [f"{doing.body.leave_tab()}.close()"]


@ACTION_WRITERS.register("scroll")
def _scroll(doing: ActionWriting) -> list[str]:
    """Scroll with the wheel, as a person does; to the end with the key for it."""
    how = (doing.step.intent.value or "down").strip().lower()
    if how in ("top", "bottom"):
        return [f'{doing.body.page}.keyboard.press("{"Home" if how == "top" else "End"}")']
    pixels = SCROLL_PIXELS.get(how, how)
    over = [f"{doing.target}.hover()"] if doing.step.expression else []
    return [*over, f"{doing.body.page}.mouse.wheel(0, {pixels})"]


@ACTION_WRITERS.register("no_op")
def _no_op(_doing: ActionWriting) -> list[str]:
    return []


@ACTION_WRITERS.register("get_screen_content")
def _get_screen_content(_doing: ActionWriting) -> list[str]:
    """Reading needs no statement: the step's expected outcomes assert what was read."""
    return []
