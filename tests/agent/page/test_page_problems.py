"""What a page says of fields it does not take, and of itself."""

from __future__ import annotations

from agent.page.page_problems import read_page_problems
from kb_schema.selectors import css
from tests.support.pages import show

PAGE = """
<p role=alert>Please correct the form</p><p role=alert hidden>not now</p>
<form>
  <label for=name>Name</label>
  <input id=name value="Ada" maxlength=100 aria-invalid=true aria-describedby="name-error name-help">
  <p id=name-error role=alert>It is taken</p><p id=name-help>A good name</p>
  <label>Day <input id=day type=date required></label>
  <label>Code <input id=code type=password value=secret aria-invalid=true aria-describedby=code-help></label>
  <p id=code-help>Six digits</p>
  <label>Fine <input id=fine value=x></label>
  <label>Kind <select id=kind aria-invalid=true><option value=a>Apple</option></select></label>
  <input aria-invalid=true style="display:none">
</form>
<form novalidate><label>Other <input required></label></form>
"""


async def test_each_refused_field_is_told_with_its_own_message_and_never_a_password(equipped_page):
    await show(equipped_page, PAGE)
    found = await read_page_problems(
        equipped_page, {"name_field": css("#name"), "gone": css("#gone"), "bad": css("tr[[")}
    )
    name, day, code, kind = found.fields
    assert (name.element, name.label, name.message, name.marked, name.value, name.max_length) == (
        "name_field", "Name", "It is taken", True, "Ada", 100
    )  # fmt: skip
    assert (day.element, day.kind, day.marked, day.required) == (None, "date", False, True)
    assert day.message  # the browser's own
    assert (code.value, code.message) == (None, "Six digits")
    assert [(option.value, option.label) for option in kind.options] == [("a", "Apple")]
    assert found.status == 200
    assert found.alerts == ("Please correct the form", "It is taken")
