"""A control that undoes when it is pressed again: the second run with the same values sees that it is so already, and presses nothing."""

from __future__ import annotations

import json

import pytest

from kb_schema.conditions import ElementVisible, FieldHasValue, WriteAccepted
from kb_schema.run_records import RunStatus
from tests.support.small_sites import Answered, induced, ran, running_site, visiting

pytestmark = [pytest.mark.sampled(0.4), pytest.mark.timeout(300)]

MATES = {"Ada": "Sails", "Bo": "Cooks", "Cy": "Steers", "Dee": "Sings", "Eli": "Rows"}
SHOWN = [{"mate": mate} for mate in ("Ada", "Bo", "Cy")]
SVG = "<svg width=19 height=19><path d='M1 1h19v9z'></path></svg>"
FOLLOW = """<script>
for (const each of document.querySelectorAll('[data-press]')) each.onclick = async () => {
  const body = new URLSearchParams({mate: each.dataset.press});
  await fetch('/follow', {method: 'POST', body});
  location.reload();
};
</script>"""
LATE = """<body><h1>Crew</h1><main></main><script>
setTimeout(() => { document.querySelector('main').innerHTML = CARDS; }, 700);
document.addEventListener('click', async (event) => {
  const name = event.target.closest('[data-press]')?.dataset.press;
  if (!name) return;
  await fetch('/follow', {method: 'POST', body: new URLSearchParams({mate: name})});
  location.reload();
});
</script></body>"""
"""The cards are drawn a while after the page is loaded."""
CONTROLS = {
    "name": ("<button class=btn data-press={}>Follow</button>", "<button class=btn data-press={}>Following</button>"),
    "class": (f"<button class=star-btn data-press={{}}>{SVG}</button>", f"<button class='star-btn starred' data-press={{}}>{SVG}</button>"),
    "state": (
        f"<button aria-pressed=false aria-label=Favourite data-press={{}}>{SVG}</button>",
        f"<button aria-pressed=true aria-label=Favourite data-press={{}}>{SVG}</button>",
    ),
    "switch": (
        "<p>Alerts</p><div class=toggle-switch data-press={} style='width:30px;height:15px;background:#ccc'></div>",
        "<p>Alerts</p><div class='toggle-switch on' data-press={} style='width:30px;height:15px;background:#ccc'></div>",
    ),
}  # fmt: skip


class Crew:
    """Mates, each with a control that follows and unfollows."""

    def __init__(self, off: str, on: str) -> None:
        self.controls = (off, on)
        self.followed = {"Dee"}
        self.keeps = True
        self.is_late = False

    def answer(self, asked):
        if asked.method == "POST":
            self.followed ^= {asked.form["mate"]} if self.keeps else set()
            return Answered("")
        if asked.path == "/crew":
            cards = "".join(self._card(*each) for each in MATES.items())
            shown = f"<body><h1>Crew</h1>{cards}{FOLLOW}</body>"
            return Answered(LATE.replace("CARDS", json.dumps(cards)) if self.is_late else shown)
        if asked.path.startswith("/mate/"):
            name = asked.path.removeprefix("/mate/")
            return Answered(
                f"<body><h1>{name}</h1>{self._control(name)}<button>Write</button>{FOLLOW}</body>"
            )
        links = "".join(f"<li><a href=/mate/{name}>{name}</a></li>" for name in MATES)
        return Answered(f"<body><h1>Home</h1><a href=/crew>Crew</a><ul>{links}</ul></body>")

    def _card(self, name: str, does: str) -> str:
        return f"<div class=card><h3>{name}</h3><p>{does}</p>{self._control(name)}</div>"

    def _control(self, name: str) -> str:
        return self.controls[name in self.followed].format(name)


BOXES = """<script>
const drawsAnew = DRAWS;
document.addEventListener(drawsAnew ? 'click' : 'change', (event) => {
  const name = event.target.dataset.box;
  if (!name) return;
  fetch('/follow', {method: 'POST', body: new URLSearchParams({mate: name})});
  if (!drawsAnew) return;
  const {checked} = event.target, box = document.createElement('input');
  Object.assign(box, {type: 'checkbox', id: event.target.id});
  box.dataset.box = name;
  box.toggleAttribute('checked', checked);
  event.target.replaceWith(box);
});
</script>"""


class Boxes(Crew):
    """Mates with a check box that saves at once. One that the page draws anew at its click has no `change`."""

    def __init__(self, *, drawn_anew: bool) -> None:
        super().__init__("", "")
        self.script = BOXES.replace("DRAWS", json.dumps(drawn_anew))
        self.refuses = False

    def answer(self, asked):
        if asked.method == "POST" and self.refuses:
            return Answered("no", status=409)
        return super().answer(asked)

    def _card(self, name: str, does: str) -> str:
        return f"<div class=card>{self._control(name)}<h3>{name}</h3><p>{does}</p></div>{self.script if name == 'Eli' else ''}"

    def _control(self, name: str) -> str:
        on = "checked" if name in self.followed else ""
        return f"<input type=checkbox id=box-{name} data-box={name} {on}>"


async def ticks_in_a_list(page, given, _dice):
    await page.get_by_text("Crew", exact=True).click()
    await page.wait_for_url("**/crew")
    async with page.expect_response("**/follow"):
        await page.locator(".card", has_text=given["mate"]).locator("input").click()


@pytest.mark.parametrize("drawn_anew", [True, False])
@pytest.mark.parametrize("on", [True, False])
async def test_a_box_that_saves_at_once_stands_as_it_was_asked_for_and_is_not_clicked_again(
    browser, tmp_path, drawn_anew, on
):
    crew, site_has = Boxes(drawn_anew=drawn_anew), {"Dee"} if on else set(MATES)
    with running_site(crew.answer) as site:
        found = await learn(browser, crew, site, tmp_path, ticks_in_a_list, before=site_has)
        criteria = found.lowered.workflow.success_criteria
        assert [type(each) for each in criteria] == [FieldHasValue]
        (name,) = (each.name for each in found.lowered.workflow.io_spec.inputs if each.required)
        crew.followed, site.writes[:] = set(site_has), []
        async with visiting(browser, site, tmp_path / "stores") as session:
            first = await ran(session, found, {name: "Eli"})
            assert (first.status, first.evidence) == (RunStatus.SUCCESS, "verified"), first.error
            assert ("Eli" in crew.followed) is on
            again = await ran(session, found, {name: "Eli"})
            assert (again.status, again.evidence) == (RunStatus.SUCCESS, "verified"), again.error
            assert "already so" in again.hint
            assert (len(site.writes), "Eli" in crew.followed) == (1, on)
            crew.refuses = True
            refused = await ran(session, found, {name: "Ada"})
    assert not refused.complete
    assert ("Ada" in crew.followed) is not on


TIMES = ("7-before", "7-after", "14-before", "14-after")


class Reminders(Boxes):
    """Boxes in cards that only two words together tell apart."""

    def answer(self, asked):
        if asked.method != "POST":
            cards = "".join(
                f"<div class=card>{self._control(each)}<b class=when>{each.replace('-', ' day(s) ')} the due date</b><p>Sent by mail</p></div>"
                for each in TIMES
            )
            return Answered(f"<body><h1>Reminders</h1>{cards}{self.script}</body>")
        return super().answer(asked)


async def unticks(page, given, _dice):
    when = f"{given['days']} day(s) {given['timing']} the due date"
    async with page.expect_response("**/follow"):
        await page.locator(".card").filter(has=page.get_by_text(when, exact=True)).locator("input").click()


async def test_the_box_of_a_card_that_two_values_tell_has_its_state_as_criterion(browser, tmp_path):
    crew = Reminders(drawn_anew=True)

    def prepare(_number):
        crew.followed = set(TIMES)

    shown = [
        dict(zip(("days", "timing"), each.split("-"), strict=True)) for each in TIMES if each != "14-before"
    ]
    sentences = [
        f"Disable the reminder that is configured for {each['days']} days {each['timing']} the due date"
        for each in shown
    ]
    with running_site(crew.answer) as site:
        found = await induced(
            browser, site, tmp_path / "traces", unticks, shown, sentences=sentences, prepare=prepare
        )
        assert found.lowered is not None
        criteria = found.lowered.workflow.success_criteria
        assert [type(each) for each in criteria] == [FieldHasValue]
        crew.followed, inputs = set(TIMES), found.lowered.workflow.io_spec.inputs
        values = {each.name: "14" if each is inputs[0] else "before" for each in inputs}
        async with visiting(browser, site, tmp_path / "stores") as session:
            done = await ran(session, found, values)
    assert (done.status, done.evidence) == (RunStatus.SUCCESS, "verified"), (values, done.error)
    assert crew.followed == set(TIMES) - {"14-before"}


class Likes(Crew):
    """Only the number of likes says that one was given."""

    def _control(self, name: str) -> str:
        likes = 10 * len(name) + list(MATES).index(name) + (name in self.followed)
        return f"<button class=like-btn data-press={name}>{SVG}<span>{likes}</span></button>"


async def follows_in_a_list(page, given, _dice):
    await page.get_by_text("Crew", exact=True).click()
    await page.wait_for_url("**/crew")
    async with page.expect_navigation():
        await page.locator(".card", has_text=given["mate"]).locator("[data-press]").click()


async def follows_on_a_page(page, given, _dice):
    await page.get_by_text(given["mate"], exact=True).click()
    await page.wait_for_url("**/mate/*")
    async with page.expect_navigation():
        await page.locator("[data-press]").click()


async def learn(browser, crew, site, folder, person, *, before):
    def prepare(_number: int) -> None:
        crew.followed = set(before)

    sentences = [f"Follow the mate {each['mate']}" for each in SHOWN]
    found = await induced(
        browser, site, folder / "traces", person, SHOWN, sentences=sentences, prepare=prepare
    )
    assert found.lowered is not None
    return found


@pytest.mark.parametrize(
    ("kind", "person"),
    [
        ("name", follows_in_a_list),
        ("class", follows_on_a_page),
        ("state", follows_in_a_list),
        ("switch", follows_on_a_page),
    ],
)
async def test_what_is_so_already_is_seen_and_not_undone(browser, tmp_path, kind, person):
    crew = Crew(*CONTROLS[kind])
    with running_site(crew.answer) as site:
        found = await learn(browser, crew, site, tmp_path, person, before={"Dee"})
        crew.followed, site.writes[:] = {"Dee"}, []
        (name,) = (each.name for each in found.lowered.workflow.io_spec.inputs if each.required)
        async with visiting(browser, site, tmp_path / "stores") as session:
            first = await ran(session, found, {name: "Eli"})
            assert (first.status, first.evidence) == (RunStatus.SUCCESS, "verified"), first.error
            assert (crew.followed, first.hint) == ({"Dee", "Eli"}, None)
            for mate in ("Eli", "Dee"):
                crew.is_late = mate == "Dee"
                again = await ran(session, found, {name: mate})
                assert (again.status, again.evidence) == (RunStatus.SUCCESS, "verified"), again.error
                assert "already so" in again.hint
            assert len(site.writes) == 1
            assert crew.followed == {"Dee", "Eli"}


async def test_the_way_back_is_a_job_of_its_own_and_what_is_not_kept_is_no_success(
    browser, tmp_path, impatient
):
    """Three are unfollowed: who is not followed is left as they are."""
    crew = Crew(*CONTROLS["class"])
    with running_site(crew.answer) as site:
        found = await learn(browser, crew, site, tmp_path, follows_in_a_list, before=set(MATES))
        (name,) = (each.name for each in found.lowered.workflow.io_spec.inputs if each.required)
        crew.followed, site.writes[:] = {"Dee"}, []
        async with visiting(browser, site, tmp_path / "stores") as session:
            again = await ran(session, found, {name: "Eli"})
            done = await ran(session, found, {name: "Dee"})
            crew.followed, crew.keeps = {"Bo"}, False
            lost = await ran(session, found, {name: "Bo"})
    assert not lost.complete
    assert "success criterion element_visible" in lost.error
    assert (again.status, again.evidence) == (RunStatus.SUCCESS, "verified")
    assert "already so" in again.hint
    assert (done.status, done.hint, len(site.writes)) == (RunStatus.SUCCESS, None, 2)


async def test_the_state_and_the_answer_of_the_application_are_the_criteria(browser, tmp_path):
    crew = Crew(*CONTROLS["class"])
    with running_site(crew.answer) as site:
        found = await learn(browser, crew, site, tmp_path, follows_in_a_list, before={"Dee"})
    criteria = found.lowered.workflow.success_criteria
    assert [type(each) for each in criteria] == [WriteAccepted, ElementVisible]
    (step,) = (step for task in found.lowered.tasks for step in task.steps if step.already_done_when)
    assert "not(contains(concat(' ', normalize-space(@class), ' '), ' starred '))" in json.dumps(
        step.action.target.to_json()
    )


async def test_a_press_that_only_a_number_shows_is_never_said_to_be_done(browser, tmp_path):
    crew = Likes("", "")
    with running_site(crew.answer) as site:
        found = await learn(browser, crew, site, tmp_path, follows_in_a_list, before={"Dee"})
        assert not found.lowered.workflow.success_criteria
        (name,) = (each.name for each in found.lowered.workflow.io_spec.inputs if each.required)
        async with visiting(browser, site, tmp_path / "stores") as session:
            done = await ran(session, found, {name: "Eli"})
    assert done.status is RunStatus.UNVERIFIED, done.error
