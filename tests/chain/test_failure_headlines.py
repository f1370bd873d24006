"""What a failed run says first: the step that failed first, not what failed while it was tried again."""

from __future__ import annotations

import json

import pytest

from kb_schema.run_records import RunStatus
from tests.support.small_sites import Answered, Asked, induced, ran, running_site, visiting

GRADES = ("Mild", "Moderate", "Severe")
SHOWN = (
    {"name": "Pollen", "grade": "Mild"},
    {"name": "Wasps", "grade": "Severe"},
    {"name": "Latex", "grade": "Moderate"},
)
PAGE = """<body><h1>Allergies</h1><button id=add>Add allergy</button><ul id=list></ul><div id=dialog></div><script>
const entries = [];
const dialog = document.getElementById('dialog');
document.getElementById('add').onclick = () => {
  dialog.innerHTML = `<h2>New allergy</h2><label>Name <input id=newAllergen></label>%s<button id=save>Save allergy</button>`;
  dialog.querySelectorAll('.grade').forEach(b => b.onclick = () => {
    dialog.querySelectorAll('.grade').forEach(o => o.classList.remove('chosen')); b.classList.add('chosen');
  });
  document.getElementById('save').onclick = async () => {
    const grade = dialog.querySelector('select') ? dialog.querySelector('select').value : dialog.querySelector('.chosen').textContent;
    const entry = {name: document.getElementById('newAllergen').value, grade};
    await fetch('/entries', {method: 'POST', body: new URLSearchParams(entry)});
    document.getElementById('list').innerHTML += `<li>${entry.name}: ${entry.grade}</li>`;
    dialog.innerHTML = '';
  };
};
</script></body>"""
BUTTONS = "".join(f"<button class=grade>{grade}</button>" for grade in GRADES)
OPTIONS = "".join(f"<option>{grade}</option>" for grade in GRADES)
SELECT = f"<label>Grade <select id=grade><option>Choose one</option>{OPTIONS}</select></label>"


async def _adds(page, given, _dice):
    await page.click("#add")
    await page.fill("#newAllergen", given["name"])
    if await page.locator("#grade").count():
        await page.locator("#grade").press_sequentially(given["grade"])
    else:
        await page.get_by_role("button", name=given["grade"], exact=True).click()
    await page.click("#save")
    await page.locator("li", has_text=given["name"]).wait_for()


@pytest.mark.parametrize("choice", [BUTTONS, SELECT], ids=["buttons", "a select field"])
async def test_a_choice_that_is_not_there_is_the_headline_not_the_dialog_that_a_recovery_closed(
    browser, tmp_path, choice
):
    entries: list[Asked] = []

    def answer(asked: Asked) -> Answered:
        if asked.method == "POST":
            entries.append(asked)
            return Answered("ok")
        return Answered(PAGE % choice)

    with running_site(answer) as site:
        result = await induced(browser, site, tmp_path / "traces", _adds, SHOWN)
        assert result.lowered is not None
        names = [spec.name for spec in result.lowered.workflow.io_spec.inputs]
        assert len(names) == 2, names
        entries.clear()
        given = {name: "Fatal" if "grade" in name.lower() or "row" in name else "Bees" for name in names}
        if list(given.values()).count("Fatal") != 1:
            given = {names[0]: "Bees", names[1]: "Fatal"}
        async with visiting(browser, site, tmp_path / "stores") as session:
            await session.page.goto(f"{site.base}/")
            done = await ran(session, result, given)
    assert done.status is RunStatus.FAILURE
    assert entries == []
    said = done.error or ""
    assert "Fatal" in said.split(";")[0], said
    assert "newAllergen" not in said.split(";")[0], json.dumps(
        [step.model_dump(mode="json") for step in done.steps]
    )
    if choice == SELECT:
        assert all(grade in said for grade in GRADES), said
