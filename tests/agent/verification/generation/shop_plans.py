"""Plans of a made-up shop, as the builder gives them: every action, every outcome, a login, shared pages.

The pages are in `shop/`; what the generator makes of the plans is kept in `golden/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kb_schema.expected_outcomes import parse_outcomes
from kb_schema.fingerprints import Fingerprint
from kb_schema.locator_expressions import Expression, LocatorLink
from kb_schema.verification import (
    PlanCheck,
    PlanStep,
    Requirement,
    RequirementStep,
    SourceLocation,
    VerificationPlan,
)

BASE = "http://shop.example"
SHEET = Path(__file__).parent / "shop" / "requirements.csv"


def call(method: str, *arguments: Any, **keywords: Any) -> LocatorLink:
    return LocatorLink(method=method, arguments=arguments, keywords=keywords)


def role(kind: str, name: str | None = None, **more: Any) -> Expression:
    return (call("get_by_role", kind, **({"name": name} if name else {}), **more),)


def label(name: str) -> Expression:
    return (call("get_by_label", name),)


def css(value: str) -> Expression:
    return (call("locator", value),)


def check(
    said: str,
    expression: Expression = (),
    *,
    tag: str | None = None,
    kind: str | None = None,
    **more: Any,
) -> PlanCheck:
    (outcome,) = parse_outcomes(said)
    known = Fingerprint(tag=tag) if tag else None
    return PlanCheck(outcome=outcome, expression=expression, fingerprint=known, role=kind, **more)


def step(
    intent: str,
    action: str = "",
    value: str | None = None,
    expression: Expression = (),
    *checks: PlanCheck,
    tag: str = "input",
    page: str = "/",
    heading: str = "",
    typed: bool = False,
    kind: str | None = None,
    line: int | None = None,
    **more: Any,
) -> PlanStep:
    element, _, region = intent.partition("@")
    kind = kind or (
        str(expression[-1].arguments[0]) if expression and expression[-1].method == "get_by_role" else None
    )
    return PlanStep(
        step_idx=0,
        intent=RequirementStep(
            intent=intent, element=element, region=region or None, action=action, value=value, typed=typed,
            expected=tuple(each.outcome for each in checks), place=SourceLocation(file="shop.csv", line=line),
        ),
        expression=expression,
        fingerprint=Fingerprint(tag=tag),
        role=kind,
        strategy="role_name" if expression and expression[-1].method == "get_by_role" else "label" if expression else "",
        confidence=0.95,
        page_url=page,
        page_title="Shop",
        page_heading=heading,
        checks=checks,
        **more,
    )  # fmt: skip


def plan(
    req_id: str,
    url: str,
    *steps: PlanStep,
    title: str = "",
    signed_in_by: str | None = None,
    tags: tuple[str, ...] = (),
) -> VerificationPlan:
    numbered = [each.model_copy(update={"step_idx": at}) for at, each in enumerate(steps)]
    placed = [
        each.model_copy(
            update={
                "intent": each.intent.model_copy(
                    update={"place": SourceLocation(file=str(SHEET), line=at + 2)}
                )
            }
        )
        for at, each in enumerate(numbered)
    ]
    requirement = Requirement(
        req_id=req_id, title=title, url=url, tags=tags, steps=tuple(each.intent for each in placed),
        place=SourceLocation(file="shop.csv"),
    )  # fmt: skip
    return VerificationPlan(
        requirement=requirement, base_url=BASE, steps=tuple(placed), signed_in_by=signed_in_by
    )


def _sign_in(password: str) -> tuple[PlanStep, ...]:
    at = {"page": "/login.html", "heading": "Sign in"}
    return (
        step("Email@Sign in", "fill", "ada@example.org", label("Email"), check("field_populated"), **at),
        step("Password@Sign in", "fill", password, label("Password"), check("field_populated"), password=True, **at),
        step(
            "Sign in", "click", None, role("button", "Sign in"),
            check("navigates_to:Orders", url="/orders.html", heading="Orders"), tag="button", **at,
        ),
    )  # fmt: skip


SIGN_IN = plan(
    "sign_in", f"{BASE}/login.html", *_sign_in("{secret:SHOP_PASSWORD}"), title="Sign in to the shop"
)
LOGIN = plan("login", f"{BASE}/login.html", *_sign_in("correct-horse-7"), title="Sign in")
"""Its password stands in the requirement: it may stand in no file."""

_ORDERS = {"page": "/orders.html", "heading": "Orders"}
_ROW: Expression = (call("get_by_role", "row"), call("filter", has_text="Order {unique}"))
CREATE_ORDER = plan(
    "create-order",
    "/orders.html",
    step("New order", "click", None, role("button", "New order"),
         check('dialog_opens:"New order"', role("dialog", "New order"), name="New order", kind="dialog"),
         tag="button", **_ORDERS),
    step("Name@New order", "type", "Order {unique}", label("Name"), check("field_populated"), typed=True, **_ORDERS),
    step("Size@New order", "select", "Large", label("Size"),
         check("field_populated", observed="l"), check("selected:Large"), tag="select", **_ORDERS),
    step("Gift@New order", "check", None, role("checkbox", "Gift"), check("checked"), **_ORDERS),
    step("Gift@New order", "uncheck", None, role("checkbox", "Gift"), check("unchecked"), **_ORDERS),
    step("Save@New order", "click", None, role("button", "Save", exact=True),
         check("dialog_closes"), check('message:"Order {unique} was saved"', role("status")),
         check("shows:Order {unique}"), check("count:Order=3", role("row"), name="Order"),
         check("no_console_errors"), tag="button", **_ORDERS),
    step("Delete@Order {unique}", "click", None, (*_ROW, *role("button", "Delete")),
         check("hidden:Order {unique}", _ROW, name="Order {unique}"), check("not_shows:Order {unique}"),
         tag="button", dialog="accept", dialog_message='Delete "Order {unique}"?', **_ORDERS),
    title="Create an order, and delete it again", signed_in_by="login", tags=("smoke",),
)  # fmt: skip

_HELP = {"page": "/help.html", "heading": "Help"}
_EVERYTHING = {"page": "/everything.html", "heading": "Everything"}
EVERYTHING = plan(
    "everything",
    "/everything.html",
    step("Save", "", None, (), check("disabled:Save", role("button", "Save"), name="Save", kind="button"),
         check("heading:Everything"), check("title:Shop - everything"), check("url:/everything.html"), **_EVERYTHING),
    step("Nickname", "fill", 'Ada "the first" O\'Hara {x}', label("Nickname"),
         check("field_populated"), check('field_value:"Ada ""the first"" O\'Hara {x}"'), **_EVERYTHING),
    step("Nickname", "clear", None, label("Nickname"), check("field_empty"), **_EVERYTHING),
    step("Nickname", "append_text", "more", label("Nickname"), check("field_value:more"), **_EVERYTHING),
    step("Nickname", "press", "Control+A", label("Nickname"), check("focused"), **_EVERYTHING),
    step("", "press", "Escape", (), check("visible:Nickname", label("Nickname"), name="Nickname"), **_EVERYTHING),
    step("Hint", "hover", None, role("button", "Hint"),
         check("visible:Tip", role("tooltip"), name="Tip", kind="tooltip"), tag="button", **_EVERYTHING),
    step("Email", "focus", None, label("Email"), check("focused"), **_EVERYTHING),
    step("Email", "fill", "nobody", label("Email"),
         check("invalid:Email=Please include an '@'", label("Email"), name="Email",
               observed="Please include an '@' in the email address. 'nobody' is missing an '@'."), **_EVERYTHING),
    step("Phone", "input_and_submit", "12", label("Phone"),
         check("invalid:Phone=Use ten digits", label("Phone"), name="Phone", observed="Use ten digits"),
         check("stays_on_page", url="/everything.html"), check("visible:Alarm", role("alert"), name="Alarm"),
         check("message"), **_EVERYTHING),
    step("Details", "click", None, role("tab", "Details"), check("selected"), check("enabled:Save", role("button", "Save"),
         name="Save", kind="button"), check("text:Total=12", (call("get_by_test_id", "total"),), name="Total",
         observed="Total: 12", tag="p"), tag="button", **_EVERYTHING),
    step("Colour", "select", "Green", role("combobox", "Colour"), check("field_populated", observed="Green"),
         tag="div", **_EVERYTHING),
    step("Picture", "upload", "picture.txt", label("Picture"), check("field_populated"), check("shows:picture.txt"),
         **_EVERYTHING),
    step("Box", "double_click", None, role("button", "Box"), check('shows:"Box twice"', role("status")), tag="button",
         **_EVERYTHING),
    step("Report", "click", None, role("link", "Report"), check("downloads:report-*.csv"), tag="a", **_EVERYTHING),
    step("Help", "click", None, role("link", "Help"), check("navigates_to:Help", heading="Help"), tag="a", new_tab=True,
         **_EVERYTHING),
    step("Search", "fill", "locators", label("Search"), check("field_populated"), **_HELP),
    step("", "close_tab", None, (), check("title:Shop - everything"), **_HELP),
    step("", "scroll", "bottom", (), **_EVERYTHING),
    step("Foot", "scroll_to_element", None, css("#foot"), tag="p", **_EVERYTHING),
    step("/help.html", "navigate", f"{BASE}/help.html", (), check("url:*/help*"), **_EVERYTHING),
    step("", "navigate_back", None, (), check("navigates_to:Everything", title="everything"), **_HELP),
    step("", "refresh", None, (), check("not_shows:Box twice"), **_EVERYTHING),
    title="Everything that a test can say",
)  # fmt: skip
SEARCH_HELP = plan(
    "search.help",
    "/help.html",
    step("Search", "fill", "fixtures", label("Search"), check("field_populated"), **_HELP),
    step("Go", "click", None, role("button", "Go"), check("navigates_to:Help", url="/help.html?q=fixtures"),
         tag="button", **_HELP),
    title="Search the help",
)  # fmt: skip
PLANS = (SIGN_IN, CREATE_ORDER, EVERYTHING, SEARCH_HELP)
