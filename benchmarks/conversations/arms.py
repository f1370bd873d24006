"""The arms: what a capable model does with each server. It reads what it must to know the next element, and nothing more."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from benchmarks.conversations.applications import website_of
from benchmarks.conversations.conversation import CallRefused, Conversation
from benchmarks.conversations.conversation_jobs import ConversationJob, Field, Fill, Press, Step

_SUMMARY = "A page that Periplus knows"
_TARGETS = re.compile(r"^targets: (.+)$", re.MULTILINE)


class NotShown(Exception):
    """The page does not show what the job needs: the policy is wrong, or the product."""


# -- with Playwright's tools -------------------------------------------------------------------------


class Reader(Protocol):
    """Finds what Playwright's tools take for a control."""

    async def find(self, role: str, name: str) -> str:
        """Return the target; read the page if it was not read yet. Raises `NotShown`."""

    async def has_moved(self) -> None:
        """Note that the page changed."""

    async def see_end(self) -> None:
        """Read what came of the last step."""


class SnapshotReader:
    """Reads whole snapshots, alone or behind `--wrap`, where a known page comes as a summary."""

    def __init__(self, talk: Conversation, *, wrapped: bool) -> None:
        self._talk, self._wrapped = talk, wrapped
        self._text = ""

    async def find(self, role: str, name: str) -> str:
        """Return the reference; of a summary, else of a whole snapshot."""
        found = self._look(role, name)
        if found is None:
            known = _SUMMARY in self._text
            self._text = await self._talk.call("browser_snapshot_whole" if known else "browser_snapshot")
            found = self._look(role, name)
        if found is None and _SUMMARY in self._text:
            self._text = await self._talk.call("browser_snapshot_whole")
            found = self._look(role, name)
        if found is None:
            raise NotShown(f"no {role} {name} in\n{self._text}")
        return found

    def _look(self, role: str, name: str) -> str | None:
        return find_ref(self._text, role, name) or find_target(self._text, role, name, "=")

    async def has_moved(self) -> None:
        """Note that the page changed."""
        self._text = self._talk.last if self._wrapped else ""

    async def see_end(self) -> None:
        """Read what came of the last step, unless the last answer says it."""
        if _SUMMARY not in self._talk.last:
            await self._talk.call("browser_snapshot")


class BesideReader:
    """Reads with `look` what Playwright's tools act on, in the same browser."""

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self._text = _last_page(talk)

    async def find(self, role: str, name: str) -> str:
        """Return the target; by the job's own words where the summary does not list it, a field from a snapshot."""
        found = self._look(role, name)
        if found is None and not self._text:
            self._text = await self._talk.call("look")
            found = self._look(role, name)
        if found is None and role in ("button", "link"):
            whole = "" if name.endswith("$") else "*"
            return f"role={role}[name{whole}={json.dumps(re.split(r'[|$+]', name)[0])} i]"
        if found is None:
            found = find_ref(await self._talk.call("browser_snapshot"), role, name)
        if found is None:
            raise NotShown(f"no {role} {name} in\n{self._talk.last}")
        return found

    def _look(self, role: str, name: str) -> str | None:
        outlined = find_in_outline(self._text, role, name)
        if outlined is not None and outlined[2]:
            return f"[name={json.dumps(outlined[1])}]"
        if outlined is not None:
            return f"role={role}[name={json.dumps(outlined[1])}s]"
        return find_target(self._text, role, name, " ")

    async def has_moved(self) -> None:
        """Note that the page changed."""
        self._text = ""

    async def see_end(self) -> None:
        """Read what came of the last step."""
        await self._talk.call("look")


async def follow_with_playwright(
    talk: Conversation, reader: Reader, steps: Sequence[Step], *, ends: bool = True
) -> None:
    """Do the steps with Playwright's tools. `ends`: nothing comes after them."""
    for step in steps:
        if isinstance(step, Press):
            await talk.call("browser_click", target=await reader.find(step.role, step.name))
            await reader.has_moved()
        else:
            await _fill_form(talk, reader, step.fields)
    if ends:
        await reader.see_end()


async def _fill_form(talk: Conversation, reader: Reader, fields: Sequence[Field]) -> None:
    entered = [
        {"name": each.name, "target": await reader.find(each.role, each.name), "type": each.role, "value": each.value}
        for each in fields
    ]  # fmt: skip
    if len(entered) == 1 and fields[0].role == "textbox":
        await talk.call("browser_type", target=entered[0]["target"], text=fields[0].value)
    else:
        await talk.call("browser_fill_form", fields=entered)


async def use_playwright_alone(talk: Conversation, job: ConversationJob, url: str) -> None:
    """Playwright's MCP server alone."""
    await talk.call("browser_navigate", url=f"{url}{job.start}")
    await follow_with_playwright(talk, SnapshotReader(talk, wrapped=False), job.steps)


async def use_wrapped(talk: Conversation, job: ConversationJob, url: str) -> None:
    """The same behind `periplus mcp --wrap`."""
    await talk.call("browser_navigate", url=f"{url}{job.start}")
    reader = SnapshotReader(talk, wrapped=True)
    await reader.has_moved()
    await follow_with_playwright(talk, reader, job.sign_in, ends=False)
    way = job.way
    if (leading := find_leading(talk.last, job.screen)) is not None:  # the summary names a shorter way
        await talk.call("browser_click", target=leading)
        await reader.has_moved()
        way = job.known_way
    await follow_with_playwright(talk, reader, [*way, *job.form])


async def use_beside(talk: Conversation, job: ConversationJob, url: str) -> None:
    """Periplus goes to the form's screen, Playwright's tools act there."""
    way = await reach_form(talk, job, url)
    await follow_with_playwright(talk, BesideReader(talk), [*way, *job.form])


# -- with Periplus' own browser ----------------------------------------------------------------------


async def reach_form(talk: Conversation, job: ConversationJob, url: str) -> Sequence[Step]:
    """Go to the known screen with the form; signing in is part of the way. Returns what is to be done before the form."""
    await talk.call("go_to", url=f"{url}{job.start}")
    screen = _screen_in(talk.answers, job)
    if screen is None:
        website = website_of(job.application)
        await talk.call("search_knowledge", website_id=website, query=job.query, kinds=["screen"])
        screen = _screen_in(talk.answers, job)
    if screen is not None and await _go_to_screen(talk, job, screen, url):
        return job.known_way
    if "logout" not in _last_page(talk):
        await _act(talk, job.sign_in)
    return job.way


async def _go_to_screen(talk: Conversation, job: ConversationJob, screen: str, url: str) -> bool:
    """Go to a screen, signed in; return whether the page shows what the job needs."""
    told = await _try_to_go(talk, screen=screen)
    asked = re.search(r"needs the input '(\w+)'", told)
    if asked is not None:
        told = await _try_to_go(talk, screen=screen, inputs={asked[1]: job.account})
    if told.startswith("not at"):
        return False
    if _shows_sign_in(_last_page(talk), job):
        await _act(talk, job.sign_in)
    elif not job.known_way and not _shows_form(talk, job):  # signed out: the page has no form
        await talk.call("go_to", url=f"{url}{job.start}")
        await _act(talk, job.sign_in)
        await talk.call("go_to", screen=screen)
    return True


async def _try_to_go(talk: Conversation, **arguments: object) -> str:
    """Call `go_to`; return what it says, also where it did not arrive. Raises `CallRefused` for other errors."""
    try:
        return await talk.call("go_to", **arguments)
    except CallRefused as exc:
        if not exc.text.startswith("not at"):
            raise
        return exc.text  # says what is missing, and the page that is shown instead


def _last_page(talk: Conversation) -> str:
    """Return the last answer that says all of a page."""
    return next(each for each in reversed(talk.answers) if ": as before" not in each and " http" in each)


def _shows_sign_in(page: str, job: ConversationJob) -> bool:
    fields = [each.name for step in job.sign_in if isinstance(step, Fill) for each in step.fields]
    return any(find_id(page, name) or find_in_outline(page, "textbox", name) for name in fields)


def _shows_form(talk: Conversation, job: ConversationJob) -> bool:
    fields = [each for step in job.form if isinstance(step, Fill) for each in step.fields]
    page = _last_page(talk)
    return any(
        find_id(page, each.name, each.role) or find_in_outline(page, each.role, each.name) for each in fields
    )


def _screen_in(answers: Sequence[str], job: ConversationJob) -> str | None:
    found = re.search(rf"(?:-> |screen )({job.screen})\b", "\n".join(answers))
    return None if found is None else found[1]


async def use_known_pages(talk: Conversation, job: ConversationJob, url: str) -> None:
    """`mcp --browser`, step by step on known pages."""
    way = await reach_form(talk, job, url)
    await _act(talk, [*way, *job.form])


async def use_unknown_pages(talk: Conversation, job: ConversationJob, url: str) -> None:
    """`mcp --browser` without any knowledge of the website."""
    await talk.call("go_to", url=f"{url}{job.start}")
    await _act(talk, job.steps)


async def _act(talk: Conversation, steps: Sequence[Step]) -> None:
    for step in steps:
        if isinstance(step, Fill) and len(step.fields) > 1:
            fields = {_element(talk, each.role, each.name): each.value for each in step.fields}
            await talk.call("act", fields=fields)
        elif isinstance(step, Fill):
            (each,) = step.fields
            await talk.call("act", element=_element(talk, each.role, each.name), value=each.value)
        else:
            await talk.call("act", element=_element(talk, step.role, step.name))


def _element(talk: Conversation, role: str, name: str) -> str:
    """Return what `act` is given: a reference of an outline, an element id, or the words of the job."""
    for text in reversed(talk.answers):
        outlined = find_in_outline(text, role, name)
        if outlined is not None:
            return outlined[0]
    for text in reversed(talk.answers):
        known = find_id(text, name, role)
        if known is not None:
            return known
    words = re.split(r"[|$+]", name)[0]
    return f"{words} button" if role == "button" else words


async def use_task(talk: Conversation, job: ConversationJob, url: str) -> None:
    """`mcp --browser`, with one known task."""
    del url  # the server knows it
    website = website_of(job.application)
    listed = await talk.call("list_tasks", website_id=website)
    if not re.search(rf"\b{job.task}\(", listed):
        raise NotShown(f"no task {job.task} in\n{listed}")
    inputs = name_inputs(listed, job.task, job.inputs)
    done = await talk.call("run_task", website_id=website, task_id=job.task, inputs=inputs, wait_seconds=25)
    while re.search(r"\b(running|queued)\b", done):
        run_id = re.search(r"run_id (\w+)", done)
        assert run_id is not None, done
        done = await talk.call("run_status", run_id=run_id[1], wait_seconds=25)
    if "success" not in done:
        raise CallRefused(talk.calls[-1], done)


def name_inputs(listed: str, task: str, values: Mapping[str, object]) -> dict[str, object]:
    """Return the values under the names that the list of tasks has for a task's inputs: the same, or one that begins so.

    >>> name_inputs("- do_it(description_of_it, title_2): does it", "do_it", {"description": "a", "title": "b"})
    {'description_of_it': 'a', 'title_2': 'b'}
    """
    found = re.search(rf"\b{task}\(([^)]*)\)", listed)
    names = [] if found is None else [each.strip().rstrip("?") for each in found[1].split(",")]
    told: dict[str, object] = {}
    for name, value in values.items():
        plain = name.replace(" ", "_")
        told[plain if plain in names else next((each for each in names if each.startswith(plain)), plain)] = (
            value
        )
    return told


# -- reading -----------------------------------------------------------------------------------------


def find_ref(snapshot: str, role: str, name: str) -> str | None:
    r"""Return the reference of a control in a snapshot of Playwright's server, by its name or by the words before it.

    `NAME+1` is the second one after the words.

    >>> find_ref('- button "Save" [ref=e5]', "button", "Save")
    'e5'
    >>> find_ref('- rowheader "Title" [ref=e1]\n- cell [ref=e2]:\n  - textbox [ref=e3]', "textbox", "Title")
    'e3'
    >>> find_ref('- text: Login\n- textbox [ref=e3]\n- textbox [ref=e4]', "textbox", "Login+1")
    'e4'
    """
    found = re.search(rf'\b{role} "(?:{_begins(name)})[^"\n]*"[^\n]*?\[ref=(\w+)\]', snapshot, re.IGNORECASE)
    if found is not None:
        return found[1]
    for each in name.split("|"):
        words, _, further = each.rstrip("$").partition("+")
        before = re.search(
            rf'(?:rowheader "{words}"|text: "?{words}"?$)', snapshot, re.IGNORECASE | re.MULTILINE
        )
        after = (
            [] if before is None else re.findall(rf"\b{role} \[ref=(\w+)\]", snapshot[before.end() :][:600])
        )
        if len(after) > int(further or 0):
            return str(after[int(further or 0)])
    return None


def find_in_outline(text: str, role: str, name: str) -> tuple[str, str, bool] | None:
    """Return the reference of a control in an outline of `look`, its name, and whether that is only its attribute.

    >>> find_in_outline('e5 button "Save all"', "button", "Save")
    ('e5', 'Save all', False)
    >>> find_in_outline('e6 textbox (no name, __pass) password', "textbox", "Password|__pass")
    ('e6', '__pass', True)
    """
    begins = _begins(name)
    found = re.search(
        rf'^(?:\+ )?(e\d+) {role} (?:"((?:{begins})[^"\n]*)"|\(no name, ((?:{begins})[^)\n]*)\))',
        text,
        re.IGNORECASE | re.MULTILINE,
    )
    return None if found is None else (found[1], found[2] or found[3], found[2] is None)


def find_target(text: str, role: str, name: str, between: str) -> str | None:
    """Return what Playwright's tools take for a known element, of the line `targets:`.

    Its id begins like the name, or the target tells the name; else the only id that begins with the name's first word, if
    its kind fits the role.

    >>> find_target('targets: title_field=e3, save_button=e4', "textbox", "Title", "=")
    'e3'
    >>> find_target('targets: title_field=e3, save_button=e4', "button", "Save Changes", "=")
    'e4'
    >>> find_target('targets: title_field=e3, show_issue_button=e4', "link", "Show All", "=")
    """
    targets = _read_targets(text, between)
    for element, target in targets.items():
        if re.match(_as_id(name), element) or re.search(rf'name="(?:{_begins(name)})', target, re.IGNORECASE):
            return target
    words = [re.split(r"_", each)[0] for each in _as_id(name).split("|")]
    fitting = [
        target
        for element, target in targets.items()
        if element.split("_")[0] in words and _kind_of(element, role) == role
    ]
    return fitting[0] if len(fitting) == 1 else None


def find_leading(text: str, screen: str) -> str | None:
    r"""Return the target of a known element that leads to a screen.

    >>> find_leading('click a -> home, b -> new\ntargets: a=e1, b=e2', "new")
    'e2'
    """
    leading = re.search(rf"(\w+) -> {screen}\b", text)
    return None if leading is None else _read_targets(text, "=").get(leading[1])


def _read_targets(text: str, between: str) -> dict[str, str]:
    line = _TARGETS.search(text)
    parts = re.split(r", (?=\w+[ =])", line[1]) if line is not None else ()
    return {each.partition(between)[0]: each.partition(between)[2] for each in parts}


def find_id(text: str, name: str, role: str = "textbox") -> str | None:
    r"""Return the id of a known element whose words begin like the name, and whose kind fits the role.

    >>> find_id("on new:\nfill title_field*, note_field", "Change Note")
    >>> find_id("on new:\nfill title_field*, note_field", "Title")
    'title_field'
    >>> find_id("on new:\nclick login_link, login_button", "Login", "button")
    'login_button'
    """
    for found in re.finditer(rf"(?:^| )((?:{_as_id(name)})\w*)\*?(?=[,\s]|$)", text, re.MULTILINE):
        if "_" in re.sub(r"_\d+$", "", found[1]) and _kind_of(found[1], role) == role:
            return found[1]
    return None


def _kind_of(element: str, default: str) -> str:
    """Return the role that the end of an element's id tells, else the default."""
    last = re.sub(r"_\d+$", "", element).rpartition("_")[2]
    return next((role for role, ends in _ENDS.items() if last in ends), default)


_ENDS = {
    "button": ("button",),
    "link": ("link",),
    "combobox": ("dropdown", "select"),
    "textbox": ("field", "input"),
    "checkbox": ("checkbox",),
}


def _begins(name: str) -> str:
    parts = [each for each in name.split("|") if "+" not in each]
    return "|".join(f'{each[:-1]}(?=")' if each.endswith("$") else each for each in parts) or "(?!)"


def _as_id(name: str) -> str:
    return "|".join(re.sub(r"\W+", "_", each.rstrip("$").casefold()).strip("_") for each in name.split("|"))


ARMS: dict[str, Callable[[Conversation, ConversationJob, str], Awaitable[None]]] = {
    "alone": use_playwright_alone,
    "in front": use_wrapped,
    "beside": use_beside,
    "unknown pages": use_unknown_pages,
    "known pages": use_known_pages,
    "known task": use_task,
}
