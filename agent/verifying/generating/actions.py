"""What a step does, in Playwright's Python: one registered function per action of the vocabulary.

Around it stands what the step sets off: another tab, a download, the browser's own dialog.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath

from agent.playwright_python.writing import python_string
from agent.verifying.generating.addresses import on_site
from agent.verifying.generating.body import Body
from agent.verifying.generating.errors import CannotBeWritten
from kb_schema.verification import PlanStep
from kb_schema.vocabulary import canonical

SCROLL_PIXELS = {"down": 600, "up": -600}


@dataclass(frozen=True, slots=True)
class Doing:
    """One step while it is written."""

    body: Body
    step: PlanStep
    base_url: str

    @property
    def target(self) -> str:
        """The step's element. Raises `CannotBeWritten` where the plan has no locator for it."""
        if not self.step.expression:
            raise CannotBeWritten(self.step, "no locator of its element was proven on the page")
        return self.body.locator(
            self.step.expression, self.step.intent.element or self.step.name, self.step.role
        )

    @property
    def text(self) -> str:
        """The step's value as it is. Raises `CannotBeWritten` where there is none."""
        if self.step.intent.value is None:
            raise CannotBeWritten(self.step, f"`{self.step.intent.action}` needs a value")
        return self.step.intent.value

    @property
    def value(self) -> str:
        """The step's value as Python."""
        return self.body.texts.literal(self.text)

    @property
    def tag(self) -> str:
        """What the element is in HTML; empty where that is not known."""
        return (self.step.fingerprint and self.step.fingerprint.tag) or ""


Write = Callable[[Doing], list[str]]
ACTIONS: dict[str, Write] = {}
"""By canonical name."""


def action(name: str) -> Callable[[Write], Write]:
    """Register how an action is written."""

    def register(write: Write) -> Write:
        ACTIONS[name] = write
        return write

    return register


def written_action(doing: Doing) -> list[str]:
    """The statements of the step's action, with what it sets off. Raises `CannotBeWritten`."""
    name = canonical(doing.step.intent.action) or doing.step.intent.action
    if not name:
        return []
    if name not in ACTIONS:
        raise CannotBeWritten(doing.step, f"the action `{name}` cannot be written as a test")
    return _with_what_it_sets_off(doing, ACTIONS[name](doing))


def _with_what_it_sets_off(doing: Doing, statements: list[str]) -> list[str]:
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


def _download(name: str, wanted: str | None, body: Body) -> list[str]:
    if wanted is None:
        return [f"assert {name}.value.suggested_filename"]
    if "*" not in wanted:
        return [f"assert {name}.value.suggested_filename == {body.texts.literal(wanted)}"]
    return [f"assert fnmatch({name}.value.suggested_filename, {body.texts.literal(wanted)})"]


# -- the entries ---------------------------------------------------------------------------------------


def _plain(method: str) -> Write:
    return lambda doing: [f"{doing.target}.{method}()"]


for _name, _method in (
    ("click", "click"), ("double_click", "dblclick"), ("hover", "hover"), ("focus", "focus"), ("clear", "clear"),
    ("scroll_to_element", "scroll_into_view_if_needed"),
):  # fmt: skip
    ACTIONS[_name] = _plain(_method)


def _tick(method: str) -> Write:
    def write(doing: Doing) -> list[str]:
        """A box that is not drawn is ticked by its label, as people do."""
        known = doing.step.fingerprint
        if known and known.label and known.box and 0 in known.box[2:]:
            label = doing.body.texts.literal(known.label)
            return [f"{doing.body.page}.get_by_text({label}, exact=True).click()"]
        return [f"{doing.target}.{method}()"]

    return write


ACTIONS["check"], ACTIONS["uncheck"] = _tick("check"), _tick("uncheck")


@action("fill")
def _fill(doing: Doing) -> list[str]:
    """PACTS's `type` goes key by key."""
    method = "press_sequentially" if doing.step.intent.typed else "fill"
    return [f"{doing.target}.{method}({doing.value})"]


@action("append_text")
def _append_text(doing: Doing) -> list[str]:
    return [f'{doing.target}.press("End")', f"{doing.target}.press_sequentially({doing.value})"]


@action("input_and_submit")
def _input_and_submit(doing: Doing) -> list[str]:
    return [f"{doing.target}.fill({doing.value})", f'{doing.target}.press("Enter")']


@action("press")
def _press(doing: Doing) -> list[str]:
    if not doing.step.expression:
        return [f"{doing.body.page}.keyboard.press({doing.value})"]
    return [f"{doing.target}.press({doing.value})"]


@action("select_option")
def _select_option(doing: Doing) -> list[str]:
    """A list that is none of the browser's own is opened, and its option clicked."""
    if doing.tag in ("", "select"):
        return [f"{doing.target}.select_option({doing.value})"]
    option = f'{doing.body.page}.get_by_role("option", name={doing.value}, exact=True)'
    return [f"{doing.target}.click()", f"{option}.click()"]


@action("upload_file")
def _upload_file(doing: Doing) -> list[str]:
    """A field takes the file at once; a button asks for it."""
    names = [f"FILES / {python_string(file_name(each))}" for each in file_values(doing.text)]
    given = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
    if doing.tag in ("", "input"):
        return [f"{doing.target}.set_input_files({given})"]
    name = doing.body.variable("chooser_info")
    return [
        f"with {doing.body.page}.expect_file_chooser() as {name}:\n    {doing.target}.click()",
        f"{name}.value.set_files({given})",
    ]


def file_values(value: str) -> list[str]:
    """The files of a step, one a line. Their paths are as the requirement has them."""
    return [each.strip() for each in value.splitlines() if each.strip()]


def file_name(value: str) -> str:
    """The last part of a path, however it was written."""
    return PureWindowsPath(value).name if "\\" in value else PurePosixPath(value).name


@action("navigate")
def _navigate(doing: Doing) -> list[str]:
    place = doing.step.intent.value or doing.step.intent.element
    return [f"{doing.body.page}.goto({doing.body.texts.literal(on_site(place, doing.base_url))})"]


@action("navigate_back")
def _navigate_back(doing: Doing) -> list[str]:
    return [f"{doing.body.page}.go_back()"]


@action("refresh")
def _refresh(doing: Doing) -> list[str]:
    return [f"{doing.body.page}.reload()"]


@action("close_tab")
def _close_tab(doing: Doing) -> list[str]:
    return [f"{doing.body.leave_tab()}.close()"]


@action("scroll")
def _scroll(doing: Doing) -> list[str]:
    """By the wheel, as a person does; to the end by the key for it."""
    how = (doing.step.intent.value or "down").strip().lower()
    if how in ("top", "bottom"):
        return [f'{doing.body.page}.keyboard.press("{"Home" if how == "top" else "End"}")']
    pixels = SCROLL_PIXELS.get(how, how)
    over = [f"{doing.target}.hover()"] if doing.step.expression else []
    return [*over, f"{doing.body.page}.mouse.wheel(0, {pixels})"]


@action("no_op")
def _no_op(_doing: Doing) -> list[str]:
    return []


@action("get_screen_content")
def _get_screen_content(_doing: Doing) -> list[str]:
    """What is read is asserted by what the step expects."""
    return []
