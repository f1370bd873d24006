"""Jobs of the issue tracker (gitlab-plan-and-track)."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.single_page.benchmark import benchmark_job, single_page_application
from tests.zoo.zoo_jobs import Given, Person

NAME = "gitlab-plan-and-track"
_LOOK_MS = 350
"""A person looks at the search results, which are shown a moment after the last key."""
_GONE = "Teach the parrot to whistle"
"""The title of nothing."""


def _normalize(state: Any) -> Any:
    """Remove the times of changes."""
    if isinstance(state, dict):
        return {
            name: _normalize(each)
            for name, each in state.items()
            if name not in ("createdAt", "updatedAt", "closedAt")
        }
    return [_normalize(each) for each in state] if isinstance(state, list) else state


def _exactly(text: str) -> re.Pattern[str]:
    return re.compile(rf"^\s*{re.escape(text)}\s*$")


def _badge(label: str) -> str:
    """Return a label as its badge has it: the scope and the value without the colons."""
    return label.replace("::", "", 1)


async def _go(page: Page, entry: str) -> None:
    await page.locator("#sidebarNav .nav-item").filter(has=page.get_by_text(entry, exact=True)).click()
    await page.get_by_role("heading", name=entry, exact=True, level=1).wait_for()


async def _open_issue(page: Page, title: str, noise: Noise, status: str = "open") -> None:
    if status != "open":
        await page.get_by_test_id(f"filter-{status}").click()
    for write in (noise.type, noise.retype, noise.retype):
        await write("#issueSearchInput", title)
        await page.wait_for_timeout(_LOOK_MS)
        if await page.locator("#issueSearchInput").input_value() == title:
            break  # else the list was drawn again between two keys, and the field lost the cursor
    await page.locator(".issue-link").filter(has_text=_exactly(title)).click()
    await page.get_by_test_id("edit-issue-btn").wait_for()
    await noise.wander()


async def _open_listed(page: Page, kind: str, title: str, noise: Noise) -> None:
    """Open an epic or a milestone."""
    await _go(page, f"{kind.capitalize()}s")
    await noise.wander()
    await page.locator(f".{kind}-link").filter(has_text=_exactly(title)).click()
    await page.locator(".detail-title").filter(has_text=_exactly(title)).wait_for()


def _label_row(page: Page, label: str) -> Locator:
    badge = page.locator(".label-badge").filter(has_text=_exactly(_badge(label)))
    return page.locator(".label-row").filter(has=badge)


def _cadence(page: Page, title: str) -> Locator:
    return page.locator(".cadence-section").filter(has=page.get_by_role("heading", name=title, exact=True))


async def _todo(page: Page, given: Given, tab: str = "") -> Locator:
    """Return the row of a to-do item."""
    await _go(page, "To-Do List")
    if tab:
        await page.locator(".todo-tab", has_text=tab).click()
    title = re.compile(rf"^{re.escape(given['title'])} [#&]\d+$")
    rows = page.locator(".todo-row").filter(has=page.locator(".todo-target").filter(has_text=title))
    if "author" in given:
        rows = rows.filter(has=page.get_by_text(given["author"], exact=True))
    return rows


async def _tick(page: Page, text: str, on: bool = True, within: str = ".entity-form") -> None:
    """Tick a box, or take the tick off; initials may stand before its name."""
    item = page.locator(f"{within} .checkbox-item").filter(
        has_text=re.compile(rf"(^|\s){re.escape(text)}\s*$")
    )
    await item.get_by_role("checkbox").set_checked(on)


async def _choose(page: Page, dropdown: str, text: str) -> None:
    await page.locator(f"#{dropdown} .dropdown-trigger").click()
    await page.locator(f"#{dropdown} .dropdown-item").filter(has_text=_exactly(text)).click()


async def _press(page: Page, button: str) -> None:
    await page.get_by_role("button", name=button, exact=True).click()


async def _confirm(page: Page, button: str = "Save") -> None:
    """Press a button of the dialog."""
    await page.locator("#modalFooter").get_by_role("button", name=button, exact=True).click()


async def _edit_field(page: Page, field: str) -> None:
    """Open the dialog of a field beside the issue."""
    await page.get_by_test_id(f"sidebar-{field}").get_by_role("button", name="Edit").click()


# Issues


async def create_issue(page: Page, given: Given, noise: Noise) -> None:
    """Create an issue with whatever is given, from the form's top to its end."""
    await page.get_by_test_id("new-issue-btn").click()
    await noise.type("#issue-title", given["title"])
    if "description" in given:
        await noise.type("#issue-description", given["description"])
    for person in ("first", "second"):
        if person in given:
            await _tick(page, given[person])
    for label in ("label", "other"):
        if label in given:
            await _tick(page, _badge(given[label]))
    if "milestone" in given:
        await _choose(page, "issue-milestone", given["milestone"])
    if "start" in given:
        await noise.type("#issue-start-date", given["start"])
        await noise.type("#issue-due-date", given["due"])
    if "weight" in given:
        await noise.type("#issue-weight", given["weight"])
    await _save_issue(page, noise)


async def create_confidential_issue(page: Page, given: Given, noise: Noise) -> None:
    await page.get_by_test_id("new-issue-btn").click()
    await noise.type("#issue-title", given["title"])
    await _tick(page, _badge(given["label"]))
    await _tick(page, _badge(given["other"]))
    await _tick(page, "This issue is confidential")
    await _save_issue(page, noise)


async def _save_issue(page: Page, noise: Noise) -> None:
    await _press(page, "Create issue")
    await page.get_by_test_id("edit-issue-btn").wait_for()
    await noise.wander()


async def rename_issue(page: Page, given: Given, noise: Noise) -> None:
    await _open_issue(page, given["title"], noise)
    await page.get_by_test_id("edit-issue-btn").click()
    await noise.retype("#issue-title", given["new_title"])
    await _press(page, "Save changes")


async def close_issue(page: Page, given: Given, noise: Noise) -> None:
    await _open_issue(page, given["title"], noise)
    await _press(page, "Close issue")


async def reopen_issue(page: Page, given: Given, noise: Noise) -> None:
    await _open_issue(page, given["title"], noise, "closed")
    await _press(page, "Reopen issue")


async def delete_issue(page: Page, given: Given, noise: Noise) -> None:
    await _open_issue(page, given["title"], noise)
    await page.get_by_test_id("delete-issue-btn").click()
    await _confirm(page, "Delete")


def _ticks_in_dialog(field: str, *, value: str, on: bool) -> Person:
    """Return a person who adds or removes one entry of a field with many."""

    async def person(page: Page, given: Given, noise: Noise) -> None:
        await _open_issue(page, given["title"], noise)
        await _edit_field(page, field)
        await _tick(page, _badge(given[value]), on, ".modal")
        await _confirm(page)

    return person


async def change_priority(page: Page, given: Given, noise: Noise) -> None:
    await _open_issue(page, given["title"], noise)
    await _edit_field(page, "labels")
    await _tick(page, _badge(given["old"]), on=False, within=".modal")
    await _tick(page, _badge(given["new"]), within=".modal")
    await _confirm(page)


async def _pick(page: Page, field: str, choice: str) -> None:
    await _edit_field(page, field)
    await page.locator(".modal .radio-item").filter(has_text=_exactly(choice)).get_by_role("radio").check()
    await _confirm(page)


def _picks(field: str, value: str) -> Person:
    """Return a person who chooses a field's given value."""

    async def person(page: Page, given: Given, noise: Noise) -> None:
        await _open_issue(page, given["title"], noise)
        await _pick(page, field, given[value])

    return person


def _picks_none(field: str) -> Person:
    """Return a person who empties a field with choices."""

    async def person(page: Page, given: Given, noise: Noise) -> None:
        await _open_issue(page, given["title"], noise)
        await _pick(page, field, "None")

    return person


def _fills(field: str, element: str, value: str) -> Person:
    """Return a person who types a field's given value."""

    async def person(page: Page, given: Given, noise: Noise) -> None:
        await _open_issue(page, given["title"], noise)
        await _edit_field(page, field)
        await noise.retype(element, given[value])
        await _confirm(page)

    return person


def _clears(field: str, button: str = "Clear") -> Person:
    """Return a person who empties a typed field."""

    async def person(page: Page, given: Given, noise: Noise) -> None:
        await _open_issue(page, given["title"], noise)
        await _edit_field(page, field)
        await _confirm(page, button)

    return person


async def choose_milestone(page: Page, given: Given, noise: Noise) -> None:
    """Choose a milestone, or none, in the form; the button beside the issue leads to a broken page."""
    await _open_issue(page, given["title"], noise)
    await page.get_by_test_id("edit-issue-btn").click()
    await _choose(page, "issue-milestone", given.get("milestone", "Select milestone..."))
    await _press(page, "Save changes")


async def set_iteration_and_label(page: Page, given: Given, noise: Noise) -> None:
    await _open_issue(page, given["title"], noise)
    await _pick(page, "iteration", given["iteration"])
    await _edit_field(page, "labels")
    await _tick(page, _badge(given["label"]), within=".modal")
    await _confirm(page)


async def add_time_entry(page: Page, given: Given, noise: Noise) -> None:
    await _open_issue(page, given["title"], noise)
    await _press(page, "Add time entry")
    await noise.type("#modal-timespent", given["time"])
    await noise.type("#modal-timesummary", given["summary"])
    await _confirm(page, "Add")


async def delete_time_entry(page: Page, given: Given, noise: Noise) -> None:
    await _open_issue(page, given["title"], noise)
    summary = page.locator(".timelog-summary").filter(has_text=_exactly(given["summary"]))
    await page.locator(".timelog-entry").filter(has=summary).get_by_title("Delete").click()


# Labels


async def create_label(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Labels")
    await noise.wander()
    await _press(page, "New label")
    await noise.type("#label-title", given["title"])
    await _choose(page, "label-type", given["type"])
    await noise.type("#custom-color-input", given["color"])
    await _press(page, "Apply")
    await _press(page, "Create label")


async def _edit_label(page: Page, title: str, noise: Noise) -> None:
    await _go(page, "Labels")
    await noise.wander()
    await _label_row(page, title).get_by_role("button", name="Edit").click()


async def rename_label(page: Page, given: Given, noise: Noise) -> None:
    await _edit_label(page, given["title"], noise)
    await noise.retype("#label-title", given["new_title"])
    await _press(page, "Save changes")


async def recolor_label(page: Page, given: Given, noise: Noise) -> None:
    await _edit_label(page, given["title"], noise)
    await noise.retype("#custom-color-input", given["color"])
    await _press(page, "Apply")
    await _press(page, "Save changes")


async def delete_label(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Labels")
    await noise.wander()
    await _label_row(page, given["title"]).get_by_role("button", name="Delete").click()
    await _confirm(page, "Delete")


# Milestones


async def create_milestone(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Milestones")
    await noise.wander()
    await _press(page, "New milestone")
    await noise.type("#ms-title", given["title"])
    await noise.type("#ms-start-date", given["start"])
    await noise.type("#ms-due-date", given["due"])
    await _press(page, "Create milestone")


async def describe_milestone(page: Page, given: Given, noise: Noise) -> None:
    await _open_listed(page, "milestone", given["title"], noise)
    await _press(page, "Edit")
    await noise.retype("#ms-description", given["description"])
    await _press(page, "Save changes")


async def close_milestone(page: Page, given: Given, noise: Noise) -> None:
    await _open_listed(page, "milestone", given["title"], noise)
    await _press(page, "Close")


async def reopen_milestone(page: Page, _given: Given, noise: Noise) -> None:
    await _open_listed(page, "milestone", "v3.9 - Maintenance", noise)
    await _press(page, "Reopen")


# Epics


async def create_epic(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Epics")
    await noise.wander()
    await _press(page, "New epic")
    await noise.type("#epic-title", given["title"])
    if "description" in given:
        await noise.type("#epic-description", given["description"])
    if "label" in given:
        await _tick(page, _badge(given["label"]))
    if "parent" in given:
        await _choose(page, "epic-parent", given["parent"])
    await _press(page, "Create epic")


async def rename_epic(page: Page, given: Given, noise: Noise) -> None:
    await _open_listed(page, "epic", given["title"], noise)
    await page.get_by_test_id("edit-epic-btn").click()
    await noise.retype("#epic-title", given["new_title"])
    await _press(page, "Save changes")


async def close_epic(page: Page, given: Given, noise: Noise) -> None:
    await _open_listed(page, "epic", given["title"], noise)
    await _press(page, "Close epic")


async def reopen_epic(page: Page, _given: Given, noise: Noise) -> None:
    await _open_listed(page, "epic", "Analytics Dashboard", noise)
    await _press(page, "Reopen epic")


def _ticks_epic_label(*, on: bool) -> Person:
    """Return a person who adds or removes an epic's label."""

    async def person(page: Page, given: Given, noise: Noise) -> None:
        await _open_listed(page, "epic", given["title"], noise)
        await page.get_by_test_id("epic-sidebar-labels").get_by_role("button", name="Edit").click()
        await _tick(page, _badge(given["label"]), on, ".modal")
        await _confirm(page)

    return person


# Iterations


async def create_cadence(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Iterations")
    await noise.wander()
    await _press(page, "New cadence")
    await noise.type("#cad-title", given["title"])
    await _tick(page, "Enable automatic scheduling")
    await noise.type("#cad-duration", given["weeks"])
    await noise.type("#cad-upcoming", given["upcoming"])
    await _press(page, "Create cadence")


async def describe_cadence(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Iterations")
    await noise.wander()
    await _cadence(page, given["title"]).get_by_role("button", name="Edit").click()
    await noise.retype("#cad-description", given["description"])
    await _press(page, "Save changes")


async def create_iteration(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Iterations")
    await noise.wander()
    await _cadence(page, "Release Cycle").get_by_role("button", name="Add iteration").click()
    await noise.type("#iter-title", given["title"])
    await noise.type("#iter-start-date", given["start"])
    await noise.type("#iter-due-date", given["due"])
    await _press(page, "Create iteration")


# To-do items; a click on nothing would hit their links, except where there are few of them


async def mark_todo_done(page: Page, given: Given, _noise: Noise) -> None:
    await (await _todo(page, given)).get_by_role("button", name="Done").click()


async def snooze_todo(page: Page, given: Given, _noise: Noise) -> None:
    await (await _todo(page, given)).get_by_role("button", name="Snooze").click()
    await page.locator(".modal").get_by_role("button", name="Tomorrow (8:00 AM)").click()


async def unsnooze_todo(page: Page, given: Given, noise: Noise) -> None:
    row = await _todo(page, given, "Snoozed")
    await noise.wander()
    await row.get_by_role("button", name="Remove snooze").click()


async def restore_todo(page: Page, given: Given, noise: Noise) -> None:
    row = await _todo(page, given, "Done")
    await noise.wander()
    await row.get_by_role("button", name="Restore").click()


async def mark_all_todos_done(page: Page, _given: Given, noise: Noise) -> None:
    await _go(page, "To-Do List")
    await _press(page, "Mark all as done")
    await noise.wander()


JOBS = [
    benchmark_job(
        NAME, "create_weighted_issue", create_issue,
        ["Create a new issue with the title '{title}' and set the weight to {weight}."],
        own=[
            {"title": "Rotate the staging certificates", "weight": "3"},
            {"title": "Show the build number in the footer", "weight": "1"},
            {"title": "Don't lose drafts when the session ends", "weight": "8"},
            {"title": "Größe von Anhängen in der Vorschau anzeigen", "weight": "13"},
            {"title": 'Rename "Owner" to "Maintainer" in the invitation mail', "weight": "2"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "create_assigned_issue", create_issue,
        [
            (
                "Create a new issue titled '{title}' with the description '{description}'. Assign it to {first} and "
                "{second}, add the label '{label}', and set the milestone to '{milestone}'."
            ),
        ],
        own=[
            {
                "title": "Archive old build logs", "description": "Move logs older than 90 days to cold storage",
                "first": "Luca Rossi", "second": "David Kim", "label": "component::infrastructure",
                "milestone": "v4.1 - Performance",
            },
            {
                "title": "Sign release tags", "description": "Every tag of a release needs a signature",
                "first": "James O'Brien", "second": "Oliver Schmidt", "label": "security",
                "milestone": "v4.2 - Security Hardening",
            },
            {
                "title": "Let people hide the welcome banner",
                "description": "It's shown on every visit; a small \"don't show again\" is enough",
                "first": "Alex Thompson", "second": "Yuki Tanaka", "label": "UX", "milestone": "Backlog",
            },
            {
                "title": "Prüfung der Übersetzungen", "description": "Žluťoučký kůň: accents are cut off in menus",
                "first": "Nina Kowalski", "second": "Aisha Mohammed", "label": "type::bug",
                "milestone": "v5.0 - Enterprise Edition",
            },
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "create_confidential_issue", create_confidential_issue,
        ["Create a new confidential issue titled '{title}' and add the labels '{label}' and '{other}'."],
        own=[
            {"title": "Tokens are written to the debug log", "label": "type::bug", "other": "security"},
            {"title": "Salary data in the demo export", "label": "blocked", "other": "needs-discussion"},
            {"title": "Customer's key is visible in the URL", "label": "component::api", "other": "priority::high"},
            {"title": "Fuga de datos en la exportación", "label": "regression", "other": "component::database"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "create_dated_issue", create_issue,
        ["Create a new issue titled '{title}' with start date '{start}' and due date '{due}'."],
        own=[
            {"title": "Prepare the spring webinar", "start": "2026-04-01", "due": "2026-04-20"},
            {"title": "Replace the office router", "start": "2026-05-04", "due": "2026-05-08"},
            {"title": "Collect the teams' wishes for v5", "start": "2026-06-01", "due": "2026-06-30"},
            {"title": "Übergabe an das Münchner Büro", "start": "2026-07-13", "due": "2026-08-14"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "rename_issue", rename_issue, ["Edit the issue '{title}' and change its title to '{new_title}'."],
        own=[
            {"title": "Add rate limiting to v3 endpoints", "new_title": "Limit requests to v3 endpoints"},
            {"title": "Implement Redis session store", "new_title": "Keep sessions in Redis"},
            {"title": "Improve error boundary fallback UI", "new_title": 'Replace the "something broke" page'},
            {"title": "Create activity feed component", "new_title": "Composant « fil d'activité »"},
        ],
        missing=[
            {"title": _GONE, "new_title": "Teach the parrot to sing"},
            {"title": "Migrate user settings", "new_title": "Migrate settings"},
        ],
    ),
    benchmark_job(
        NAME, "close_issue", close_issue, ["Close the issue '{title}'."],
        own=[
            {"title": "Implement CSRF token rotation"},
            {"title": "File upload fails silently for files > 50MB"},
            {"title": "Migrate user settings page to React"},
            {"title": "Add webhook support for issue state changes"},
        ],
        missing=[{"title": _GONE}, {"title": "Zero gravity mode"}],
    ),
    benchmark_job(
        NAME, "reopen_issue", reopen_issue, ["Reopen the closed issue '{title}'."],
        own=[
            {"title": "Create reusable modal dialog system"},
            {"title": "Migrate from Webpack 4 to Webpack 5"},
            {"title": "Add CSV export for issue lists"},
            {"title": "Implement user invitation flow"},
        ],
        missing=[{"title": _GONE}, {"title": "Implement CSRF token rotation"}],
    ),
    benchmark_job(
        NAME, "delete_issue", delete_issue, ["Delete the issue '{title}'."],
        own=[
            {"title": "Fix typo in 404 error page message"},
            {"title": "Set up end-to-end testing with Playwright"},
            {"title": "Reduce JavaScript bundle size by 40%"},
            {"title": "Internationalization (i18n) framework setup"},
        ],
        missing=[{"title": _GONE}, {"title": "Zero gravity mode"}], action="delete",
    ),
    benchmark_job(
        NAME, "add_assignee", _ticks_in_dialog("assignees", value="person", on=True),
        [
            "Add {person} as an assignee to the issue '{title}'.",
            "Assign {person} to the issue '{title}', which currently has no assignees.",
        ],
        own=[
            {"person": "Maria Garcia", "title": "Add project archival functionality"},
            {"person": "James O'Brien", "title": "Add tooltip to truncated sidebar labels"},
            {"person": "Fatima Al-Rashid", "title": "Migrate projects API to v3"},
            {"person": "Yuki Tanaka", "title": "File upload fails silently for files > 50MB"},
        ],
        missing=[
            {"person": "David Kim", "title": _GONE},
            {"person": "Petra Nowak", "title": "Implement CSRF token rotation"},
        ],
    ),
    benchmark_job(
        NAME, "remove_assignee", _ticks_in_dialog("assignees", value="person", on=False),
        ["Remove {person} from the assignees of the issue '{title}'."],
        own=[
            {"person": "Marcus Johnson", "title": "Implement GraphQL gateway for v3 API"},
            {"person": "David Kim", "title": "Database connection pool exhaustion under load"},
            {"person": "James O'Brien", "title": "Implement two-factor authentication with TOTP"},
            {"person": "Fatima Al-Rashid", "title": "Write getting started guide for new developers"},
        ],
        missing=[
            {"person": "Alex Thompson", "title": _GONE},
            {"person": "Petra Nowak", "title": "Create activity feed component"},
        ],
    ),
    benchmark_job(
        NAME, "add_label", _ticks_in_dialog("labels", value="label", on=True),
        ["Add the '{label}' label to the issue '{title}'."],
        own=[
            {"label": "blocked", "title": "Configure CDN for static asset delivery"},
            {"label": "good-first-issue", "title": "Add loading skeletons to replace spinners"},
            {"label": "design-needed", "title": "Add branch protection rules UI"},
            {"label": "priority::medium", "title": "Implement retry mechanism for failed API calls"},
        ],
        missing=[
            {"label": "security", "title": _GONE},
            {"label": "fragile", "title": "Implement Redis session store"},
        ],
    ),
    benchmark_job(
        NAME, "remove_label", _ticks_in_dialog("labels", value="label", on=False),
        ["Remove the '{label}' label from the issue '{title}'."],
        own=[
            {"label": "security", "title": "Implement CSRF token rotation"},
            {"label": "good-first-issue", "title": "Fix typo in 404 error page message"},
            {"label": "technical-debt", "title": "Replace deprecated analytics library"},
            {"label": "workflow::in-progress", "title": "Login page shows blank screen on Safari 17.2"},
        ],
        missing=[
            {"label": "UX", "title": _GONE},
            {"label": "fragile", "title": "Implement Redis session store"},
        ],
    ),
    benchmark_job(
        NAME, "change_priority", change_priority,
        ["On the issue '{title}', change the priority label from '{old}' to '{new}'."],
        own=[
            {
                "title": "Dashboard widget layout breaks at 1440px viewport",
                "old": "priority::medium", "new": "priority::low",
            },
            {
                "title": "Fix typo in 404 error page message", "old": "priority::low", "new": "priority::medium",
            },
            {
                "title": "Login page shows blank screen on Safari 17.2",
                "old": "priority::critical", "new": "priority::high",
            },
            {
                "title": "File upload fails silently for files > 50MB",
                "old": "priority::high", "new": "priority::critical",
            },
        ],
        missing=[
            {"title": _GONE, "old": "priority::high", "new": "priority::low"},
            {"title": "Implement CSRF token rotation", "old": "priority::medium", "new": "priority::urgent"},
        ],
    ),
    benchmark_job(
        NAME, "set_milestone", choose_milestone,
        ["Set the milestone to '{milestone}' on the issue '{title}'."],
        own=[
            {"milestone": "v4.1 - Performance", "title": "Add tooltip to truncated sidebar labels"},
            {"milestone": "Backlog", "title": "Implement audit logging for admin actions"},
            {"milestone": "v5.0 - Enterprise Edition", "title": "Reduce JavaScript bundle size by 40%"},
            {"milestone": "Q1 2026 Planning", "title": "Create activity feed component"},
        ],
        missing=[
            {"milestone": "Backlog", "title": _GONE},
            {"milestone": "v9.9 - Moon Landing", "title": "Implement Redis session store"},
        ],
    ),
    benchmark_job(
        NAME, "remove_milestone", choose_milestone, ["Remove the milestone from the issue '{title}'."],
        own=[
            {"title": "Add rate limiting to v3 endpoints"},
            {"title": "Implement audit logging for admin actions"},
            {"title": "Add branch protection rules UI"},
            {"title": "Internationalization (i18n) framework setup"},
        ],
        missing=[{"title": _GONE}, {"title": "Zero gravity mode"}],
    ),
    benchmark_job(
        NAME, "set_iteration", _picks("iteration", "iteration"),
        ["Set the iteration to '{iteration}' on the issue '{title}'."],
        own=[
            {"iteration": "Sprint 28", "title": "Implement CSRF token rotation"},
            {"iteration": "February 2026", "title": "Add bulk operations for issue management"},
            {"iteration": "Release 4.0 RC", "title": "Replace deprecated analytics library"},
            {"iteration": "Sprint 26", "title": "Set up end-to-end testing with Playwright"},
        ],
        missing=[
            {"iteration": "Sprint 27", "title": _GONE},
            {"iteration": "Sprint 99", "title": "Implement Redis session store"},
        ],
    ),
    benchmark_job(
        NAME, "remove_iteration", _picks_none("iteration"), ["Remove the iteration from the issue '{title}'."],
        own=[
            {"title": "Migrate user settings page to React"},
            {"title": "Implement Content Security Policy headers"},
            {"title": "Add accessibility labels to all form inputs"},
            {"title": "Login page shows blank screen on Safari 17.2"},
        ],
        missing=[{"title": _GONE}, {"title": "Zero gravity mode"}],
    ),
    benchmark_job(
        NAME, "set_epic", _picks("epic", "epic"), ["Set the epic to '{epic}' on the issue '{title}'."],
        own=[
            {"epic": "Mobile App v2", "title": "Add project archival functionality"},
            {"epic": "Enterprise SSO Integration", "title": "Implement two-factor authentication with TOTP"},
            {"epic": "Security Hardening", "title": "Add branch protection rules UI"},
            {"epic": "API v3 Migration", "title": "File upload fails silently for files > 50MB"},
        ],
        missing=[
            {"epic": "Mobile App v2", "title": _GONE},
            {"epic": "World Peace", "title": "Create activity feed component"},
        ],
    ),
    benchmark_job(
        NAME, "remove_epic", _picks_none("epic"), ["Remove the epic from the issue '{title}'."],
        own=[
            {"title": "Migrate projects API to v3"},
            {"title": "Implement Redis session store"},
            {"title": "Implement CSRF token rotation"},
            {"title": "Reduce JavaScript bundle size by 40%"},
        ],
        missing=[{"title": _GONE}, {"title": "Zero gravity mode"}],
    ),
    benchmark_job(
        NAME, "set_health", _picks("health", "health"),
        ["Change the health status to '{health}' on the issue '{title}'."],
        own=[
            {"health": "On track", "title": "Implement CSRF token rotation"},
            {"health": "Needs attention", "title": "Add webhook support for issue state changes"},
            {"health": "At risk", "title": "Reduce JavaScript bundle size by 40%"},
            {"health": "On track", "title": "File upload fails silently for files > 50MB"},
        ],
        missing=[
            {"health": "At risk", "title": _GONE},
            {"health": "Superb", "title": "Implement Redis session store"},
        ],
    ),
    benchmark_job(
        NAME, "clear_health", _picks_none("health"), ["Clear the health status from the issue '{title}'."],
        own=[
            {"title": "Login page shows blank screen on Safari 17.2"},
            {"title": "Implement Content Security Policy headers"},
            {"title": "Add dark mode support for the entire application"},
            {"title": "Reduce JavaScript bundle size by 40%"},
        ],
        missing=[{"title": _GONE}, {"title": "Zero gravity mode"}],
    ),
    benchmark_job(
        NAME, "set_due_date", _fills("due-date", "#modal-due-date", "due"),
        ["Set the due date to '{due}' on the issue '{title}'."],
        own=[
            {"due": "2026-04-17", "title": "Implement retry mechanism for failed API calls"},
            {"due": "2026-06-30", "title": "Implement CSRF token rotation"},
            {"due": "2026-03-20", "title": "Migrate user settings page to React"},
            {"due": "2027-01-11", "title": "Reduce JavaScript bundle size by 40%"},
        ],
        missing=[{"due": "2026-05-01", "title": _GONE}, {"due": "2026-06-01", "title": "Zero gravity mode"}],
    ),
    benchmark_job(
        NAME, "clear_due_date", _clears("due-date"), ["Clear the due date from the issue '{title}'."],
        own=[
            {"title": "Migrate projects API to v3"},
            {"title": "Create activity feed component"},
            {"title": "Add branch protection rules UI"},
            {"title": "Reduce JavaScript bundle size by 40%"},
        ],
        missing=[{"title": _GONE}, {"title": "Zero gravity mode"}],
    ),
    benchmark_job(
        NAME, "set_weight", _fills("weight", "#modal-weight", "weight"),
        ["Set the weight to {weight} on the issue '{title}'."],
        own=[
            {"weight": "2", "title": "Implement CSRF token rotation"},
            {"weight": "20", "title": "Implement GraphQL gateway for v3 API"},
            {"weight": "7", "title": "File upload fails silently for files > 50MB"},
            {"weight": "4", "title": "Fix typo in 404 error page message"},
        ],
        missing=[{"weight": "5", "title": _GONE}, {"weight": "3", "title": "Zero gravity mode"}],
    ),
    benchmark_job(
        NAME, "clear_weight", _clears("weight"), ["Clear the weight from the issue '{title}'."],
        own=[
            {"title": "Implement soft-delete for all major entities"},
            {"title": "Create activity feed component"},
            {"title": "Fix race condition in concurrent issue updates"},
            {"title": "Internationalization (i18n) framework setup"},
        ],
        missing=[{"title": _GONE}, {"title": "Zero gravity mode"}],
    ),
    benchmark_job(
        NAME, "set_estimate", _fills("time", "#modal-estimate", "estimate"),
        ["Set the time estimate to '{estimate}' on the issue '{title}'."],
        own=[
            {"estimate": "6h 30m", "title": "Implement CSRF token rotation"},
            {"estimate": "2d", "title": "Add project archival functionality"},
            {"estimate": "45m", "title": "Fix typo in 404 error page message"},
            {"estimate": "1w 2d", "title": "File upload fails silently for files > 50MB"},
        ],
        missing=[{"estimate": "4h", "title": _GONE}, {"estimate": "2h", "title": "Zero gravity mode"}],
    ),
    benchmark_job(
        NAME, "remove_estimate", _clears("time", "Remove"), ["Remove the time estimate from the issue '{title}'."],
        own=[
            {"title": "Add rate limiting to v3 endpoints"},
            {"title": "Migrate user settings page to React"},
            {"title": "Set up end-to-end testing with Playwright"},
            {"title": "Reduce JavaScript bundle size by 40%"},
        ],
        missing=[{"title": _GONE}, {"title": "Zero gravity mode"}],
    ),
    benchmark_job(
        NAME, "add_time_entry", add_time_entry,
        ["Add a time log entry of '{time}' with the summary '{summary}' to the issue '{title}'."],
        own=[
            {"time": "45m", "summary": "Code review", "title": "Implement CSRF token rotation"},
            {"time": "6h", "summary": "First draft of the schema", "title": "Migrate projects API to v3"},
            {
                "time": "1h 15m", "summary": 'Talked to Priya about the "quick fix" we don\'t want',
                "title": "File upload fails silently for files > 50MB",
            },
            {
                "time": "3h", "summary": "Überarbeitung der Menüführung",
                "title": "Fix dropdown menu position clipping at viewport edges",
            },
        ],
        missing=[
            {"time": "2h", "summary": "Whistling", "title": _GONE},
            {"time": "1h", "summary": "Floating", "title": "Zero gravity mode"},
        ],
    ),
    benchmark_job(
        NAME, "delete_time_entry", delete_time_entry,
        ["Delete the time log entry '{summary}' from the issue '{title}'."],
        own=[
            {
                "summary": "Schema review and optimization", "title": "Implement GraphQL gateway for v3 API",
            },
            {
                "summary": "Dependency audit and upgrade testing",
                "title": "Upgrade vulnerable dependencies identified in audit",
            },
            {
                "summary": "Component migration and form rebuilding",
                "title": "Migrate user settings page to React",
            },
            {
                "summary": "Component dark mode variants",
                "title": "Add dark mode support for the entire application",
            },
        ],
        missing=[
            {"summary": "Safari debugging and investigation", "title": _GONE},
            {"summary": "Long lunch", "title": "Reduce JavaScript bundle size by 40%"},
        ],
        action="delete",
    ),
    benchmark_job(
        NAME, "create_label", create_label,
        [
            "Create a new label called '{title}' with the color {color} and type '{type}'.",
            "Create a new scoped label called '{title}' with the color {color} and type '{type}'.",
        ],
        own=[
            {"title": "quick-win", "color": "#2e8b57", "type": "Project"},
            {"title": "customer's wish", "color": "#4b0082", "type": "Group"},
            {"title": "team::plattform-köln", "color": "#ffd700", "type": "Project"},
            {"title": "env::staging", "color": "#0a0a0a", "type": "Group"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "rename_label", rename_label, ["Edit the label '{title}' and change its title to '{new_title}'."],
        own=[
            {"title": "blocked", "new_title": "waiting"},
            {"title": "component::api", "new_title": "component::interface"},
            {"title": "UX", "new_title": 'user "delight"'},
            {"title": "accessibility", "new_title": "barrierefreie Oberfläche"},
        ],
        missing=[
            {"title": "fragile", "new_title": "handle-with-care"},
            {"title": "priority::urgent", "new_title": "priority::now"},
        ],
    ),
    benchmark_job(
        NAME, "recolor_label", recolor_label, ["Edit the label '{title}' and change its color to {color}."],
        own=[
            {"title": "regression", "color": "#8b4513"},
            {"title": "priority::low", "color": "#c0ffee"},
            {"title": "breaking-change", "color": "#123456"},
            {"title": "type::task", "color": "#fafad2"},
        ],
        missing=[{"title": "fragile", "color": "#0075ca"}, {"title": "priority::urgent", "color": "#ff0000"}],
    ),
    benchmark_job(
        NAME, "delete_label", delete_label, ["Delete the label '{title}'."],
        own=[
            {"title": "technical-debt"},
            {"title": "workflow::review"},
            {"title": "design-needed"},
            {"title": "component::database"},
        ],
        missing=[{"title": "fragile"}, {"title": "priority::urgent"}], action="delete",
    ),
    benchmark_job(
        NAME, "create_milestone", create_milestone,
        ["Create a new milestone titled '{title}' with start date '{start}' and due date '{due}'."],
        own=[
            {"title": "v4.5 - Offline Mode", "start": "2026-10-01", "due": "2026-12-15"},
            {"title": "Summer cleanup", "start": "2026-07-01", "due": "2026-08-31"},
            {"title": "The customers' wishes", "start": "2026-05-11", "due": "2026-06-05"},
            {"title": "Jubiläum: 10 Jahre", "start": "2027-02-01", "due": "2027-02-28"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "describe_milestone", describe_milestone,
        ["Edit the milestone '{title}' and change its description to '{description}'"],
        own=[
            {"title": "v4.1 - Performance", "description": "Pages open in less than a second."},
            {"title": "Q1 2026 Planning", "description": "Done in January, kept for the record."},
            {
                "title": "v5.0 - Enterprise Edition",
                "description": "Sign-in with the company's own accounts, and \"audit-ready\" logs.",
            },
            {"title": "v3.9 - Maintenance", "description": "Últimas correcciones de la versión 3."},
        ],
        missing=[
            {"title": "v9.9 - Moon Landing", "description": "One small step."},
            {"title": "v4.2", "description": "Half a name."},
        ],
    ),
    benchmark_job(
        NAME, "close_milestone", close_milestone, ["Close the milestone '{title}'."],
        own=[
            {"title": "v4.0 - Platform Redesign"},
            {"title": "Backlog"},
            {"title": "v4.3 - Mobile Optimization"},
            {"title": "v4.2 - Security Hardening"},
        ],
        missing=[{"title": "v9.9 - Moon Landing"}, {"title": "v4.2"}],
    ),
    benchmark_job(  # only one is closed
        NAME, "reopen_milestone", reopen_milestone, ["Reopen the closed milestone 'v3.9 - Maintenance'."],
        own=[{}, {}, {}, {}],
    ),
    benchmark_job(
        NAME, "create_epic", create_epic,
        [
            "Create a new epic titled '{title}' with the description '{description}' and add the label '{label}'."
        ],
        own=[
            {"title": "Fewer alerts", "description": "Only page people for what they can fix", "label": "blocked"},
            {"title": "Public roadmap", "description": "Show what comes next", "label": "type::documentation"},
            {
                "title": "Billing v2", "description": "Invoices that don't need a \"manual touch\"",
                "label": "component::backend",
            },
            {
                "title": "Übersetzung ins Französische", "description": "Où sont les chaînes à traduire ?",
                "label": "accessibility",
            },
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "create_child_epic", create_epic,
        ["Create a new epic titled '{title}' and set its parent epic to '{parent}'."],
        own=[
            {"title": "Video tutorials", "parent": "Documentation Overhaul"},
            {"title": "Push notifications", "parent": "Mobile App v2"},
            {"title": "Auditors' access", "parent": "Enterprise SSO Integration"},
            {"title": "Geräteverwaltung für Ärzte", "parent": "Security Hardening"},
        ],
        missing=[
            {"title": "Choir practice", "parent": "World Peace"},
            {"title": "Old charts", "parent": "Analytics Dashboard"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "rename_epic", rename_epic, ["Edit the epic '{title}' and change its title to '{new_title}'."],
        own=[
            {"title": "Database Optimization", "new_title": "Faster queries"},
            {"title": "Enterprise SSO Integration", "new_title": "Single sign-on for companies"},
            {"title": "Mobile App v2", "new_title": 'The "pocket" app'},
            {"title": "Platform Redesign", "new_title": "Neue Oberfläche 4.0"},
        ],
        missing=[
            {"title": "World Peace", "new_title": "World Peace v2"},
            {"title": "Platform", "new_title": "Platforms"},
        ],
    ),
    benchmark_job(
        NAME, "close_epic", close_epic, ["Close the epic '{title}'."],
        own=[
            {"title": "Frontend Modernization"},
            {"title": "Security Hardening"},
            {"title": "Documentation Overhaul"},
            {"title": "API v3 Migration"},
        ],
        missing=[{"title": "World Peace"}, {"title": "Platform"}],
    ),
    benchmark_job(  # only one is closed
        NAME, "reopen_epic", reopen_epic, ["Reopen the closed epic 'Analytics Dashboard'."], own=[{}, {}, {}, {}],
    ),
    benchmark_job(
        NAME, "add_epic_label", _ticks_epic_label(on=True), ["Add the '{label}' label to the epic '{title}'."],
        own=[
            {"label": "needs-discussion", "title": "Mobile App v2"},
            {"label": "breaking-change", "title": "Platform Redesign"},
            {"label": "good-first-issue", "title": "Documentation Overhaul"},
            {"label": "priority::high", "title": "Security Hardening"},
        ],
        missing=[
            {"label": "security", "title": "World Peace"},
            {"label": "fragile", "title": "Mobile App v2"},
        ],
    ),
    benchmark_job(
        NAME, "remove_epic_label", _ticks_epic_label(on=False),
        ["Remove the label '{label}' from the epic '{title}'."],
        own=[
            {"label": "technical-debt", "title": "Frontend Modernization"},
            {"label": "security", "title": "Enterprise SSO Integration"},
            {"label": "type::documentation", "title": "Documentation Overhaul"},
            {"label": "component::api", "title": "API v3 Migration"},
        ],
        missing=[
            {"label": "security", "title": "World Peace"},
            {"label": "fragile", "title": "Mobile App v2"},
        ],
    ),
    benchmark_job(
        NAME, "create_cadence", create_cadence,
        [
            (
                "Create a new iteration cadence titled '{title}' with automatic scheduling enabled, a duration of "
                "{weeks} weeks, and {upcoming} upcoming iterations."
            ),
            (
                "Create a new iteration cadence titled '{title}' with automatic scheduling enabled, a duration of "
                "{weeks} week, and {upcoming} upcoming iterations."
            ),
        ],
        own=[
            {"title": "Design Cadence", "weeks": "3", "upcoming": "2"},
            {"title": "Quarterly Review", "weeks": "12", "upcoming": "5"},
            {"title": "Ops' on-call rota", "weeks": "6", "upcoming": "10"},
            {"title": "Übersetzungsrunde", "weeks": "8", "upcoming": "3"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "describe_cadence", describe_cadence,
        ["Edit the iteration cadence '{title}' and change its description to '{description}'"],
        own=[
            {"title": "Monthly Planning", "description": "One planning meeting in a month."},
            {"title": "Release Cycle", "description": "Every release has its iteration."},
            {"title": "Sprint Cadence", "description": "Two weeks; we don't plan \"buffer\" days."},
            {"title": "Monthly Planning", "description": "Planungsrunde für das Münchner Büro."},
        ],
        missing=[
            {"title": "Lunar Cadence", "description": "Whenever the moon is full."},
            {"title": "Sprint", "description": "Half a name."},
        ],
    ),
    benchmark_job(
        NAME, "create_iteration", create_iteration,
        [
            (
                "Create a new iteration titled '{title}' in the 'Release Cycle' cadence with start date '{start}' and "
                "due date '{due}'."
            ),
        ],
        own=[
            {"title": "Release 4.1 Alpha", "start": "2026-03-16", "due": "2026-04-10"},
            {"title": "Release 4.1 Beta", "start": "2026-04-13", "due": "2026-05-08"},
            {"title": "The auditors' release", "start": "2026-06-01", "due": "2026-06-12"},
            {"title": "Frühjahrsputz", "start": "2026-05-18", "due": "2026-05-29"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "mark_todo_done", mark_todo_done,
        ["Mark the to-do item about issue '{title}' (assigned by {author}) as done."],
        own=[
            {"title": "Migrate user settings page to React", "author": "Priya Patel"},
            {"title": "Reduce JavaScript bundle size by 40%", "author": "Sarah Chen"},
            {"title": "Add dark mode support for the entire application", "author": "Sarah Chen"},
            {"title": "Upgrade vulnerable dependencies identified in audit", "author": "Sarah Chen"},
        ],
        missing=[
            {"title": _GONE, "author": "Sarah Chen"},
            {"title": "Migrate user settings page to React", "author": "Maria Garcia"},
        ],
    ),
    benchmark_job(
        NAME, "snooze_todo", snooze_todo,
        ["Snooze the to-do item about issue '{title}' ({reason} by {author})."],
        own=[
            {"title": "Migrate user settings page to React", "reason": "assigned", "author": "Priya Patel"},
            {"title": "Reduce JavaScript bundle size by 40%", "reason": "assigned", "author": "Sarah Chen"},
            {
                "title": "Implement lazy loading for images and avatars",
                "reason": "mentioned", "author": "Nina Kowalski",
            },
            {
                "title": "Optimize issue list query to use keyset pagination",
                "reason": "review requested", "author": "David Kim",
            },
        ],
        missing=[
            {"title": _GONE, "reason": "mentioned", "author": "Sarah Chen"},
            {"title": "Migrate projects API to v3", "reason": "assigned", "author": "Priya Patel"},
        ],
    ),
    benchmark_job(  # only two are snoozed
        NAME, "unsnooze_todo", unsnooze_todo,
        ["Remove the snooze from the snoozed to-do item about issue '{title}'."],
        own=[
            {"title": "Implement Content Security Policy headers"},
            {"title": "Implement GraphQL gateway for v3 API"},
            {"title": "Implement Content Security Policy headers"},
        ],
        missing=[{"title": _GONE}, {"title": "Migrate user settings page to React"}],
    ),
    benchmark_job(  # only four are done
        NAME, "restore_todo", restore_todo,
        ["Restore the completed to-do item about {kind} '{title}' back to pending."],
        own=[
            {"kind": "epic", "title": "Platform Redesign"},
            {"kind": "issue", "title": "Set up CI/CD pipeline for staging environment"},
            {"kind": "issue", "title": "Analyze and optimize slow queries from APM logs"},
        ],
        missing=[
            {"kind": "issue", "title": _GONE},
            {"kind": "issue", "title": "Migrate user settings page to React"},
        ],
    ),
    benchmark_job(
        NAME, "mark_all_todos_done", mark_all_todos_done, ["Mark all pending to-do items as done."],
        own=[{}, {}, {}, {}],
    ),
    benchmark_job(
        NAME, "set_iteration_and_label", set_iteration_and_label,
        ["On the issue '{title}', set the iteration to '{iteration}' and add the label '{label}'."],
        own=[
            {"title": "Implement CSRF token rotation", "iteration": "Sprint 27", "label": "blocked"},
            {"title": "Migrate projects API to v3", "iteration": "Sprint 28", "label": "technical-debt"},
            {
                "title": "File upload fails silently for files > 50MB",
                "iteration": "Release 4.0 RC", "label": "regression",
            },
            {
                "title": "Reduce JavaScript bundle size by 40%",
                "iteration": "February 2026", "label": "needs-discussion",
            },
        ],
        missing=[
            {"title": _GONE, "iteration": "Sprint 27", "label": "blocked"},
            {"title": "Create activity feed component", "iteration": "Sprint 99", "label": "UX"},
        ],
    ),
]  # fmt: skip

GITLAB = single_page_application(NAME, JOBS, normalize=_normalize)
