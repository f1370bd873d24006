"""One small test per kind of outcome, with a page on which it holds and one on which it does not.

What is asserted must be seen to fail: a test that cannot is worth nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from kb_schema.locator_expressions import Expression
from kb_schema.selectors import NameStrategy, Selector
from kb_schema.selectors import css as selector
from kb_schema.verification import DismissedOverlay, PlanCheck, PlanStep, VerificationPlan
from tests.agent.verification.generation.shop_plans import check, css, label, plan, role, step


@dataclass(frozen=True)
class Kind:
    """A step with its outcome, and the bodies of both pages."""

    name: str
    checks: tuple[PlanCheck, ...]
    good: str
    bad: str
    step: PlanStep | None = None
    obstacle: Expression = ()

    @property
    def page(self) -> str:
        return f"/kinds/{self.name}.html"

    @property
    def plan(self) -> VerificationPlan:
        asked = self.step or step("Thing", "", None, ())
        made = plan(
            f"kind_{self.name}",
            self.page,
            asked.model_copy(update={"checks": self.checks, "page_url": self.page}),
        )
        notice = DismissedOverlay(name="Decline", selector=selector("#decline"), expression=self.obstacle)
        return made.model_copy(update={"obstacles": (notice,) if self.obstacle else ()})

    def html(self, *, good: bool) -> str:
        body = self.good if good else self.bad
        title = "Right" if good else "Wrong"
        return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>{body}'


NAME = label("Name")
FIELD = '<label>Name <input id="name" value="{}"></label>'


GO = role("button", "Go")


def click(expression: Expression = GO, **more: object) -> PlanStep:
    return step("Go", "click", None, expression, tag="button", **more)  # type: ignore[arg-type]


def going(where: str) -> str:
    """A page that goes elsewhere without loading, and says so in its heading."""
    script = f"history.pushState(null, '', '{where}'); document.querySelector('h1').textContent = 'Arrived'"
    return f'<h1>Start</h1><button onclick="{script}">Go</button>'


NOTICE = """<div id=notice role=dialog style="position: fixed; inset: 0; background: #eee">
<button id=decline onclick="document.querySelector('#notice').remove()">Decline</button></div>"""

KINDS = (
    Kind("field_populated", (check("field_populated:Name", NAME, name="Name"),), FIELD.format("x"), FIELD.format("")),
    Kind("field_value", (check("field_value:Name=x", NAME, name="Name"),), FIELD.format("x"), FIELD.format("xy")),
    Kind("field_empty", (check("field_empty:Name", NAME, name="Name"),), FIELD.format(""), FIELD.format("x")),
    Kind("checked", (check("checked:Box", role("checkbox", "Box"), name="Box"),),
         "<label><input type=checkbox checked> Box</label>", "<label><input type=checkbox> Box</label>"),
    Kind("unchecked", (check("unchecked:Box", role("checkbox", "Box"), name="Box"),),
         "<label><input type=checkbox> Box</label>", "<label><input type=checkbox checked> Box</label>"),
    Kind("selected", (check("selected:Size=Large", label("Size"), name="Size", tag="select"),),
         "<label>Size <select><option>Small<option selected>Large</select></label>",
         "<label>Size <select><option selected>Small<option>Large</select></label>"),
    Kind("value_of_a_list", (check("field_value:Size=l", label("Size"), name="Size", tag="select", observed="l"),),
         "<label>Size <select><option value=s>Small<option value=l selected>Large</select></label>",
         "<label>Size <select><option value=s selected>Small<option value=l>Large</select></label>"),
    Kind("populated_box", (check("field_populated:Box", role("checkbox", "Box"), name="Box", kind="checkbox"),),
         "<label><input type=checkbox checked> Box</label>", "<label><input type=checkbox> Box</label>"),
    Kind("empty_box", (check("field_empty:Box", role("checkbox", "Box"), name="Box", kind="checkbox"),),
         "<label><input type=checkbox> Box</label>", "<label><input type=checkbox checked> Box</label>"),
    Kind("populated_text", (check("field_populated:Note", css("#note"), name="Note", tag="div"),),
         "<div id=note contenteditable>x</div>", "<div id=note contenteditable style='height: 1em'></div>"),
    Kind("empty_text", (check("field_empty:Note", css("#note"), name="Note", tag="div"),),
         "<div id=note contenteditable style='height: 1em'></div>", "<div id=note contenteditable>x</div>"),
    Kind("count_by_selector", (check("count:Row=2").model_copy(update={"selector": selector("li.row")}),),
         "<li class=row>1<li class=row>2<li class=row hidden>3", "<li class=row>1<li class=row>2<li class=row>3"),
    Kind("count_by_name", (check("count:Save=2").model_copy(update={"selector": Selector(strategies=(
        NameStrategy(type="role_name", role="button", name="Save", exact=True),))}),),
         "<button>Save</button><button>Save</button><button>Save all</button>", "<button>Save</button>"),
    Kind("selected_tab", (check("selected", role("tab", "One"), name="One", kind="tab"),),
         "<div role=tablist><button role=tab aria-selected=true>One</button></div>",
         "<div role=tablist><button role=tab aria-selected=false>One</button></div>"),
    Kind("selected_link", (check("selected", role("link", "One"), name="One", kind="link"),),
         "<nav><a href=/ aria-current=page>One</a></nav>", "<nav><a href=/ aria-current=false>One</a></nav>"),
    Kind("selected_option", (check("selected", role("option", "One"), name="One", kind="option", tag="option"),),
         "<select size=2><option selected>One<option>Two</select>",
         "<select size=2><option>One<option selected>Two</select>"),
    Kind("focused", (check("focused:Name", NAME, name="Name"),),
         "<label>Name <input autofocus></label>", FIELD.format("")),
    Kind("enabled", (check("enabled:Name", NAME, name="Name"),), FIELD.format(""), "<label>Name <input disabled></label>"),
    Kind("disabled", (check("disabled:Name", NAME, name="Name"),), "<label>Name <input disabled></label>", FIELD.format("")),
    Kind("visible", (check("visible:Name", NAME, name="Name"),), FIELD.format(""), "<label hidden>Name <input></label>"),
    Kind("hidden", (check("hidden:Name", NAME, name="Name"),), "<label hidden>Name <input></label>", FIELD.format("")),
    Kind("text", (check("text:Total=12", css("#total"), name="Total", tag="p", observed="Total: 12"),),
         "<p id=total>Total: <b>12</b></p>", "<p id=total>Total: <b>120</b></p>"),
    Kind("text_alone", (check("text:Total=12", css("#total"), name="Total", tag="p", observed="12"),),
         "<p id=total> 12\n</p>", "<p id=total>120</p>"),
    Kind("invalid", (check("invalid:Name", NAME, name="Name"),),
         "<label>Name <input aria-invalid=true></label>", "<label>Name <input aria-invalid=false></label>"),
    Kind("invalid_saying", (check("invalid:Name=Use letters", NAME, name="Name", observed="Use letters only"),),
         "<label>Name <input aria-invalid=true aria-errormessage=e></label><p id=e>Use letters only</p>",
         "<label>Name <input aria-invalid=true aria-errormessage=e></label><p id=e>Use digits</p>"),
    Kind("invalid_natively", (check("invalid:Name=Please fill out", NAME, name="Name",
                                    observed="Please fill out this field."),),
         "<form><label>Name <input required></label></form>",
         "<form><label>Name <input required type=email value=x></label></form>"),
    Kind("count", (check("count:Row=2", role("row"), name="Row"),),
         "<table><tr><td>1<tr><td>2</table>", "<table><tr><td>1<tr><td>2<tr><td>3</table>"),
    Kind("navigates_to", (check("navigates_to:Arrived", url="/kinds/arrived", heading="Arrived"),),
         going("/kinds/arrived?now=1"), going("/kinds/elsewhere"), click()),
    Kind("navigates_by_number", (check("navigates_to:Arrived", url="/kinds/17/edit"),),
         going("/kinds/23/edit"), going("/kinds/23/delete"), click()),
    Kind("navigates_by_heading", (check("navigates_to:Arrived", heading="Arrived"),),
         going("/kinds/arrived"), "<h1>Start</h1><button>Go</button>", click()),
    Kind("navigates_by_title", (check("navigates_to:Right", title="Right"),), "", "", None),
    Kind("stays_on_page", (check("stays_on_page", url="/kinds/stays_on_page.html"),),
         "<button>Go</button>", going("/kinds/away"), click()),
    Kind("url", (check("url:/kinds/arrived"),), going("/kinds/arrived"), going("/kinds/arrived/late"), click()),
    Kind("url_starred", (check("url:/kinds/*/end"),), going("/kinds/a/end"), going("/kinds/a/b"), click()),
    Kind("title", (check("title:Right"),), "", ""),
    Kind("heading", (check("heading:Agents"),), "<h2>Agents</h2>", "<h2>Agent</h2><p>Agents</p>"),
    Kind("shows", (check("shows:Well done"),), "<p>Well <b>done</b>!</p>", "<p hidden>Well done!</p>"),
    Kind("shows_there", (check("shows:Well done", css("#said")),), "<p id=said>Well done!</p>", "<p id=said>Well</p>"),
    Kind("not_shows", (check("not_shows:Well done"),), "<p hidden>Well done!</p>", "<p>Well done!</p>"),
    Kind("message", (check('message:"Saved"'),), "<p role=status>Saved it</p>", "<p>Saved it</p>"),
    Kind("message_any", (check("message", role("alert")),), "<p role=alert>Saved</p>", "<p role=alert></p>"),
    Kind("dialog_opens", (check("dialog_opens:Sure?"),),
         "<dialog open>Sure? <button>Yes</button></dialog>", "<dialog>Sure? <button>Yes</button></dialog>"),
    Kind("dialog_closes", (check("dialog_closes"),), "<dialog>Sure?</dialog>", "<dialog open>Sure?</dialog>"),
    Kind("dialog_of_the_browser", (check("dialog_opens:Sure?"),),
         "<button onclick=\"confirm('Sure?')\">Go</button>", "<button onclick=\"confirm('Really?')\">Go</button>",
         click(dialog="dismiss", dialog_message="Sure?")),
    Kind("downloads", (check("downloads:a-*.txt"),),
         '<a href="/report.csv" download="a-1.txt">Go</a>', '<a href="/report.csv" download="b-1.txt">Go</a>',
         click(role("link", "Go"))),
    Kind("no_console_errors", (check("no_console_errors"),),
         "<button>Go</button>", "<button onclick=\"throw new Error('broken')\">Go</button>", click()),
    Kind("new_tab", (check("heading:Help"),),
         "<a href=/help.html target=_blank>Go</a>", "<a href=/login.html target=_blank>Go</a>",
         click(role("link", "Go"), new_tab=True)),
    Kind("under_a_notice", (check("heading:Arrived"),), f"{going('/kinds/there')}{NOTICE}",
         f"{going('/kinds/there').replace('Arrived', 'Lost')}{NOTICE}", click(), role("button", "Decline")),
)  # fmt: skip
