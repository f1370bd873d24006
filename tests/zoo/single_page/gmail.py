"""Jobs of the mail program (gmail).

UNVERIFIABLE task_30: no page offers to move an email to another category, so its template has no job.
"""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.single_page.benchmark import benchmark_job, single_page_application
from tests.zoo.zoo_jobs import Given, Person

NAME = "gmail"
_LOOK_MS = 250
"""A person looks at what has opened; a new message moves the cursor to its first field, a moment after it opens."""
_GONE = "Teach the parrot to whistle"
"""The subject of nothing."""


def _normalize(state: Any) -> Any:
    """Remove the times at which something was sent, made or blocked."""
    if isinstance(state, dict):
        return {
            name: _normalize(each)
            for name, each in state.items()
            if name not in ("date", "createdAt", "blockedAt")
        }
    return [_normalize(each) for each in state] if isinstance(state, list) else state


def _exactly(text: str) -> re.Pattern[str]:
    return re.compile(rf"^\s*{re.escape(text)}\s*$")


async def _search(page: Page, text: str, noise: Noise) -> None:
    await noise.type("#searchInput", text)
    await page.keyboard.press("Enter")
    await page.locator("#contentWrapper").get_by_text("Search results for").wait_for()
    await noise.wander()


def _row(page: Page, given: Given) -> Locator:
    """Return the row of an email by its subject, and by its sender if one is given."""
    subject = page.locator(".email-subject-text").filter(has_text=_exactly(given["subject"]))
    rows = page.locator(".email-item").filter(has=subject)
    if "sender" in given:
        rows = rows.filter(has=page.locator(".email-sender").filter(has_text=_exactly(given["sender"])))
    return rows


async def _select(page: Page, given: Given, noise: Noise) -> None:
    """Find an email and tick its box."""
    await _search(page, given["subject"], noise)
    await _row(page, given).locator(".email-checkbox").click()


async def _tool(page: Page, title: str) -> None:
    await page.locator("#toolbar").get_by_title(title, exact=True).click()


async def _take(page: Page, entry: str | re.Pattern[str]) -> None:
    """Click an entry of a list in the dialog."""
    await page.locator("#modalBody .dropdown-item").filter(has_text=entry).click()


async def _confirm(page: Page, button: str) -> None:
    await page.locator("#modalFooter").get_by_role("button", name=button, exact=True).click()


async def _close_dialog(page: Page) -> None:
    await page.locator(".modal-close").click()


async def _open_settings(page: Page, tab: str = "") -> None:
    await page.get_by_role("button", name="Settings", exact=True).click()
    if tab:
        await page.locator(".settings-tab").filter(has_text=_exactly(tab)).click()


# Emails


def _uses_tool(title: str) -> Person:
    """Return a person who selects an email and presses a button above the list."""

    async def person(page: Page, given: Given, noise: Noise) -> None:
        await _select(page, given, noise)
        await _tool(page, title)

    return person


def _clicks_mark(mark: str) -> Person:
    """Return a person who clicks the star or the importance marker of an email."""

    async def person(page: Page, given: Given, noise: Noise) -> None:
        await _search(page, given["subject"], noise)
        await _row(page, given).locator(mark).click()

    return person


async def snooze_email(page: Page, given: Given, noise: Noise) -> None:
    await _select(page, given, noise)
    await _tool(page, "More")
    await _take(page, _exactly("Snooze"))
    await _take(page, _exactly("Pick date & time"))
    await page.locator("#snoozeDateInput").fill(given["day"])
    await _confirm(page, "Snooze")


async def mute_conversation(page: Page, given: Given, noise: Noise) -> None:
    await _select(page, given, noise)
    await _tool(page, "More")
    await _take(page, _exactly("Mute"))
    await _close_dialog(page)


async def toggle_label(page: Page, given: Given, noise: Noise) -> None:
    """Apply a label to an email, or remove it."""
    await _select(page, given, noise)
    await _tool(page, "Labels")
    await page.locator(".label-picker-item").filter(has_text=_exactly(given["label"])).click()
    await _confirm(page, "Apply")


async def restore_from_trash(page: Page, given: Given, noise: Noise) -> None:
    await page.locator("#sidebarNav").get_by_text("Trash", exact=True).click()
    await _row(page, given).wait_for()
    await noise.wander()
    await _row(page, given).locator(".email-checkbox").click()
    await _tool(page, "Move to")
    await page.wait_for_timeout(_LOOK_MS)
    await _take(page, _exactly("Inbox"))


# Labels


async def create_label(page: Page, given: Given, noise: Noise) -> None:
    await page.get_by_text("Create new label", exact=True).click()
    await noise.type("#labelNameInput", given["label"])
    if "parent" in given:
        await page.select_option("#labelParentSelect", label=given["parent"])
    await _confirm(page, "Create")


async def _label_settings(page: Page, label: str) -> Locator:
    await _open_settings(page, "Labels")
    return page.locator(".settings-group tr").filter(
        has=page.locator("td:first-child").filter(has_text=_exactly(label))
    )


async def rename_label(page: Page, given: Given, noise: Noise) -> None:
    row = await _label_settings(page, given["label"])
    await row.get_by_text("edit", exact=True).click()
    await noise.retype("#labelNameInput", given["new_label"])
    await _confirm(page, "Save")


async def delete_label(page: Page, given: Given, _noise: Noise) -> None:
    row = await _label_settings(page, given["label"])
    await row.get_by_text("remove", exact=True).click()
    await _confirm(page, "Delete")


# Writing


async def _write(page: Page, given: Given, noise: Noise) -> None:
    await page.get_by_test_id("compose-btn").click()
    await page.wait_for_timeout(_LOOK_MS)
    await noise.type("#composeTo", given["to"])
    await noise.type("#composeSubject", given["subject"])
    await noise.type("#composeBody", given["body"])


async def send_email(page: Page, given: Given, noise: Noise) -> None:
    await _write(page, given, noise)
    await page.get_by_role("button", name="Send", exact=True).click()


async def save_draft(page: Page, given: Given, noise: Noise) -> None:
    await _write(page, given, noise)
    await page.locator(".compose-close").click()


# Filters and blocked addresses


async def create_filter(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "Filters and Blocked Addresses")
    await noise.wander()
    await page.get_by_role("button", name="Create a new filter").click()
    await noise.type("#filterFrom", given["sender"])
    await page.select_option("#filterLabel", label=given["label"])
    await page.get_by_label("Skip the Inbox (Archive it)").check()
    await _confirm(page, "Create Filter")


async def delete_filter(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "Filters and Blocked Addresses")
    await noise.wander()
    criteria = page.locator(".filter-criteria").filter(
        has_text=re.compile(rf"From: {re.escape(given['sender'])}(,|$)")
    )
    filters = page.locator(".filter-list-item").filter(has=criteria)
    await filters.get_by_text("delete", exact=True).click()
    await _confirm(page, "Delete")


async def block_address(page: Page, given: Given, noise: Noise) -> None:
    await _search(page, f"from:{given['address']}", noise)
    await page.locator(".email-checkbox").first.click()
    await _tool(page, "More")
    await _take(page, re.compile(r"^Block "))
    await _close_dialog(page)


async def unblock_address(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "Filters and Blocked Addresses")
    await noise.wander()
    address = page.locator(".blocked-sender-email").filter(has_text=_exactly(given["address"]))
    await page.locator(".blocked-sender-item").filter(has=address).get_by_role("button").click()


# Settings


def _setting(page: Page, name: str) -> Locator:
    label = page.locator(".settings-row-label").filter(has_text=_exactly(name))
    return page.locator(".settings-row").filter(has=label)


async def choose_in_list(page: Page, given: Given, _noise: Noise) -> None:
    """Choose the value of a setting that opens a list."""
    await _open_settings(page)
    row = _setting(page, given["setting"])
    await row.locator(".dropdown-trigger").click()
    value = re.compile(rf"^\W*{re.escape(given['value'])}$")
    await row.locator(".dropdown-item").filter(has_text=value).click()


async def choose_option(page: Page, given: Given, _noise: Noise) -> None:
    """Choose the value of a setting that shows all of its values."""
    await _open_settings(page)
    row = _setting(page, given["setting"])
    await row.locator(".radio-option").filter(has_text=_exactly(given["value"])).click()


async def disable_category(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "Inbox")
    await noise.wander()
    label = page.locator(".settings-item-label").filter(has_text=_exactly(given["category"]))
    await page.locator(".settings-item").filter(has=label).locator(".toggle-slider").click()


JOBS = [
    benchmark_job(
        NAME, "mark_read", _uses_tool("Mark as read"), ["Mark the email '{subject}' from {sender} as read."],
        own=[
            {"subject": "Design System Update v4.2", "sender": "Marcus Williams"},
            {"subject": "Re: Collaboration Proposal", "sender": "Jennifer Wu"},
            {"subject": "Your recommendations: Tech deals of the week", "sender": "Amazon"},
            {"subject": 'Trending: "Building a real-time collaboration engine"', "sender": "Dev.to"},
        ],
        missing=[
            {"subject": _GONE, "sender": "Sarah Chen"},
            {"subject": "Design System Update v4.2", "sender": "Petra Nowak"},
        ],
    ),
    benchmark_job(
        NAME, "mark_unread", _uses_tool("Mark as unread"), ["Mark the email '{subject}' from {sender} as unread."],
        own=[
            {"subject": "Team Standup Notes - Feb 22", "sender": "Maya Patel"},
            {"subject": "Weekly Activity Summary", "sender": "Slack"},
            {"subject": "Contract Review: Vendor Agreement", "sender": "James O'Brien"},
            {
                "subject": 'Your answer was accepted: "How to optimize React re-renders"',
                "sender": "Stack Overflow",
            },
        ],
        missing=[
            {"subject": _GONE, "sender": "David Kim"},
            {"subject": "Weekly Activity Summary", "sender": "Petra Nowak"},
        ],
    ),
    benchmark_job(
        NAME, "star_email", _clicks_mark(".email-star"), ["Star the email '{subject}' from {sender}."],
        own=[
            {"subject": "Office Renovation Plans", "sender": "Daniel Thompson"},
            {"subject": "Introducing iPhone 17 Pro", "sender": "Apple"},
            {"subject": "Annual Retainer Renewal", "sender": "James O'Brien"},
            {"subject": 'Sarah Chen shared "Q1 Planning Docs" with you', "sender": "Dropbox"},
        ],
        missing=[
            {"subject": _GONE, "sender": "Ryan Cooper"},
            {"subject": "Introducing iPhone 17 Pro", "sender": "Petra Nowak"},
        ],
    ),
    benchmark_job(
        NAME, "unstar_email", _clicks_mark(".email-star"), ["Remove the star from the email '{subject}' from {sender}."],
        own=[
            {"subject": "Brand Refresh Concepts", "sender": "Lisa Nakamura"},
            {"subject": "Flash Sale: SFO to Paris from $489", "sender": "United Airlines"},
            {"subject": "Contract Review: Vendor Agreement", "sender": "James O'Brien"},
            {"subject": "Interesting paper on LLM optimization", "sender": "Kevin Zhao"},
        ],
        missing=[
            {"subject": _GONE, "sender": "Priya Sharma"},
            {"subject": "Brand Refresh Concepts", "sender": "Petra Nowak"},
        ],
    ),
    benchmark_job(
        NAME, "mark_important", _clicks_mark(".email-important"),
        ["Mark the email '{subject}' from {sender} as important."],
        own=[
            {"subject": "Sunday Game Tickets Available", "sender": "Chris Evans"},
            {"subject": "Payment received: $4,500.00", "sender": "Stripe"},
            {"subject": "Annual Retainer Renewal", "sender": "James O'Brien"},
            {"subject": 'Sarah Chen shared "Q1 Planning Docs" with you', "sender": "Dropbox"},
        ],
        missing=[
            {"subject": _GONE, "sender": "Daniel Thompson"},
            {"subject": "Payment received: $4,500.00", "sender": "Petra Nowak"},
        ],
    ),
    benchmark_job(
        NAME, "mark_unimportant", _clicks_mark(".email-important"),
        ["Remove the important marker from the email '{subject}' from {sender}."],
        own=[
            {"subject": "Tax Season Reminder: Documents Needed", "sender": "David Kim"},
            {"subject": "AWS Monthly Bill: $847.23", "sender": "AWS"},
            {"subject": "Contract Review: Vendor Agreement", "sender": "James O'Brien"},
            {"subject": "Bonjour! Conference Speaker Invitation", "sender": "Sophie Laurent"},
        ],
        missing=[
            {"subject": _GONE, "sender": "Sarah Chen"},
            {"subject": "AWS Monthly Bill: $847.23", "sender": "Petra Nowak"},
        ],
    ),
    benchmark_job(
        NAME, "archive_email", _uses_tool("Archive"), ["Archive the email '{subject}' from {sender}."],
        own=[
            {"subject": "Lab Tour Invitation", "sender": "Kevin Zhao"},
            {"subject": "Your package has been delivered", "sender": "FedEx"},
            {"subject": "Annual Retainer Renewal", "sender": "James O'Brien"},
            {"subject": 'Trending: "Building a real-time collaboration engine"', "sender": "Dev.to"},
        ],
        missing=[
            {"subject": _GONE, "sender": "Ana Gutierrez"},
            {"subject": "Lab Tour Invitation", "sender": "Petra Nowak"},
        ],
    ),
    benchmark_job(
        NAME, "delete_email", _uses_tool("Delete"),
        ["Delete the email '{subject}' from {sender} by moving it to Trash."],
        own=[
            {"subject": "You have new followers", "sender": "Instagram"},
            {"subject": "Permit Application Status", "sender": "Daniel Thompson"},
            {"subject": "Members Week: 25% off everything", "sender": "Nike"},
            {"subject": 'Sarah Chen shared "Q1 Planning Docs" with you', "sender": "Dropbox"},
        ],
        missing=[
            {"subject": _GONE, "sender": "Marcus Williams"},
            {"subject": "You have new followers", "sender": "Petra Nowak"},
        ],
        action="delete",
    ),
    benchmark_job(
        NAME, "report_spam", _uses_tool("Report spam"), ["Report the email '{subject}' from {sender} as spam."],
        own=[
            {"subject": "Garage Sale: Up to 50% off", "sender": "REI"},
            {"subject": "Trending in r/programming", "sender": "Reddit"},
            {"subject": "Annual Retainer Renewal", "sender": "James O'Brien"},
            {"subject": "[techcorp/api-gateway] PR #847 merged", "sender": "GitHub"},
        ],
        missing=[
            {"subject": _GONE, "sender": "Amazon"},
            {"subject": "Trending in r/programming", "sender": "Petra Nowak"},
        ],
    ),
    benchmark_job(
        NAME, "snooze_email", snooze_email,
        ["Snooze the email '{subject}' from {sender} until {date} at 8:00 AM."],
        given={
            "task_10": {
                "subject": "CI/CD Pipeline Migration Plan", "sender": "Nate Patel",
                "date": "March 1, 2026", "day": "2026-03-01",
            },
        },
        own=[
            {
                "subject": "Lab Tour Invitation", "sender": "Kevin Zhao",
                "date": "March 9, 2026", "day": "2026-03-09",
            },
            {
                "subject": "Your January statement is ready", "sender": "Chase Bank",
                "date": "April 15, 2026", "day": "2026-04-15",
            },
            {
                "subject": "Contract Review: Vendor Agreement", "sender": "James O'Brien",
                "date": "June 30, 2026", "day": "2026-06-30",
            },
            {
                "subject": "Config 2026: Early bird tickets now available", "sender": "Figma",
                "date": "December 24, 2026", "day": "2026-12-24",
            },
        ],
        missing=[
            {"subject": _GONE, "sender": "Nate Patel", "date": "March 1, 2026", "day": "2026-03-01"},
            {
                "subject": "Lab Tour Invitation", "sender": "Petra Nowak",
                "date": "March 2, 2026", "day": "2026-03-02",
            },
        ],
    ),
    benchmark_job(
        NAME, "mute_conversation", mute_conversation, ["Mute the conversation '{subject}' from {sender}."],
        own=[
            {"subject": "Sprint Retro Action Items", "sender": "Priya Sharma"},
            {"subject": "New messages in Tech Community", "sender": "Discord"},
            {"subject": "Annual Retainer Renewal", "sender": "James O'Brien"},
            {"subject": 'Trending: "Building a real-time collaboration engine"', "sender": "Dev.to"},
        ],
        missing=[
            {"subject": _GONE, "sender": "Sarah Chen"},
            {"subject": "Sprint Retro Action Items", "sender": "Petra Nowak"},
        ],
    ),
    benchmark_job(
        NAME, "apply_label", toggle_label, ["Apply the '{label}' label to the email '{subject}' from {sender}."],
        own=[
            {"label": "Travel", "subject": "Lab Tour Invitation", "sender": "Kevin Zhao"},
            {"label": "Reference", "subject": "Weekly digest: 8 pages updated", "sender": "Notion"},
            {"label": "Waiting For Reply", "subject": "Annual Retainer Renewal", "sender": "James O'Brien"},
            {"label": "HR", "subject": 'Sarah Chen shared "Q1 Planning Docs" with you', "sender": "Dropbox"},
        ],
        missing=[
            {"label": "Finance", "subject": _GONE, "sender": "Ryan Cooper"},
            {"label": "Poetry", "subject": "Lab Tour Invitation", "sender": "Kevin Zhao"},
        ],
    ),
    benchmark_job(
        NAME, "remove_label", toggle_label, ["Remove the '{label}' label from the email '{subject}' from {sender}."],
        own=[
            {"label": "Health", "subject": "Your Workout Plan for March", "sender": "Hannah Brooks"},
            {"label": "Receipts", "subject": "Your package has been delivered", "sender": "FedEx"},
            {"label": "Finance", "subject": "Annual Retainer Renewal", "sender": "James O'Brien"},
            {
                "label": "Newsletters", "subject": 'Trending: "Building a real-time collaboration engine"',
                "sender": "Dev.to",
            },
        ],
        missing=[
            {"label": "Work", "subject": _GONE, "sender": "Daniel Thompson"},
            {"label": "Poetry", "subject": "Lab Tour Invitation", "sender": "Kevin Zhao"},
        ],
    ),
    benchmark_job(
        NAME, "create_label", create_label, ["Create a new label called '{label}'."],
        own=[
            {"label": "Recipes"},
            {"label": "House hunting"},
            {"label": "Mum's letters"},
            {"label": "Bücher"},
            {"label": 'The "maybe" pile'},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "create_nested_label", create_label,
        ["Create a new label called '{label}' nested under the '{parent}' label."],
        own=[
            {"label": "Flights", "parent": "Travel"},
            {"label": "Warranties", "parent": "Receipts"},
            {"label": "Dentist's notes", "parent": "Health"},
            {"label": "Français", "parent": "Education"},
        ],
        missing=[{"label": "Haiku", "parent": "Poetry"}, {"label": "Sonnets", "parent": "Poems"}],
        action="create",
    ),
    benchmark_job(
        NAME, "rename_label", rename_label, ["Rename the '{label}' label to '{new_label}'."],
        own=[
            {"label": "Travel", "new_label": "Trips"},
            {"label": "Meetings", "new_label": "Team meetings"},
            {"label": "Friends", "new_label": "Old friends' letters"},
            {"label": "Health", "new_label": "Gesundheit & Ärzte"},
        ],
        missing=[{"label": "Poetry", "new_label": "Prose"}, {"label": "Trav", "new_label": "Trips"}],
    ),
    benchmark_job(
        NAME, "delete_label", delete_label, ["Delete the '{label}' label."],
        own=[
            {"label": "Newsletters"},
            {"label": "Banking"},
            {"label": "Waiting For Reply"},
            {"label": "Action Required"},
        ],
        missing=[{"label": "Poetry"}, {"label": "Trav"}], action="delete",
    ),
    benchmark_job(
        NAME, "send_email", send_email,
        ["Compose and send a new email to {to} with the subject '{subject}' and body '{body}'"],
        own=[
            {
                "to": "maya.patel@techcorp.io", "subject": "Standup tomorrow",
                "body": "Can we start at nine instead of ten?",
            },
            {
                "to": "tom.bradley@realtyhome.com", "subject": "Viewing on Saturday",
                "body": "Two in the afternoon suits us.",
            },
            {
                "to": "sophie.l@eurodesign.fr", "subject": "Re: conférence à Genève",
                "body": "Merci beaucoup ! À bientôt, Zoë",
            },
            {
                "to": "james.obrien@lawfirm.legal", "subject": "The vendor's changes",
                "body": 'They\'ve struck "exclusive" from the second page. Shall we sign?',
            },
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "save_draft", save_draft,
        [
            (
                "Start composing an email to {to} with the subject '{subject}' and body '{body}' Save it as a draft "
                "without sending."
            ),
        ],
        own=[
            {
                "to": "lisa.n@creativeagency.co", "subject": "Logo colours",
                "body": "The second green is closer to what we want.",
            },
            {
                "to": "carlos.m@logisticspro.net", "subject": "Delivery window",
                "body": "Between eight and ten works for the warehouse.",
            },
            {
                "to": "robert.singh@university.edu", "subject": "Lecture on Gödel",
                "body": "Unvollständigkeit, in forty minutes and with jokes.",
            },
            {
                "to": "rachel.foster@nonprofitaid.org", "subject": "The volunteers' dinner",
                "body": 'We\'d bring a cake that says "thank you".',
            },
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "create_filter", create_filter,
        [
            (
                "Create a new email filter with the From field set to '{sender}'. Set the filter action to apply the "
                "'{label}' label and to skip the inbox (archive it)."
            ),
        ],
        own=[
            {"sender": "receipts@uniqlo.com", "label": "Receipts"},
            {"sender": "tickets@united.com", "label": "Travel"},
            {"sender": "grüße@bücherei.example", "label": "Education"},
            {"sender": "o'neill@clinic.example", "label": "Health"},
        ],
        missing=[
            {"sender": "muse@poems.example", "label": "Poetry"},
            {"sender": "lost@found.example", "label": "Trav"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "delete_filter", delete_filter, ["Delete the filter that matches emails from '{sender}'."],
        own=[
            {"sender": "crew@morningbrew.com"},
            {"sender": "hr@techcorp.io"},
            {"sender": "notifications@github.com"},
            {"sender": "alerts@datadog.com"},
        ],
        missing=[{"sender": "muse@poems.example"}, {"sender": "techcorp.io"}], action="delete",
    ),
    benchmark_job(
        NAME, "choose_in_list", choose_in_list, ["Change '{setting}' to '{value}'."],
        given={
            "task_22": {"setting": "Theme", "value": "Dark"},
            "task_25": {"setting": "Send cancellation period", "value": "30 seconds"},
        },
        own=[
            {"setting": "Gmail display language", "value": "Italian"},
            {"setting": "Show this many conversations per page", "value": "25"},
            {"setting": "Theme", "value": "Soft"},
            {"setting": "Gmail display language", "value": "Portuguese (Brazil)"},
        ],
        missing=[
            {"setting": "Gmail display language", "value": "Klingon"},
            {"setting": "Ringtone", "value": "Default"},
        ],
    ),
    benchmark_job(
        NAME, "choose_option", choose_option, ["Change '{setting}' to '{value}'."],
        given={
            "task_23": {"setting": "Display density", "value": "Compact"},
            "task_24": {"setting": "Group emails into conversations", "value": "Conversation view off"},
        },
        own=[
            {"setting": "When replying to a message", "value": "Reply all"},
            {"setting": "Email notifications", "value": "Important mail notifications on"},
            {"setting": "Display button labels or icons", "value": "Text"},
            {
                "setting": 'Show "Send & Archive" button in reply',
                "value": 'Hide "Send & Archive" button in reply',
            },
        ],
        missing=[
            {"setting": "Display density", "value": "Airy"},
            {"setting": "Ringtone", "value": "Default"},
        ],
    ),
    benchmark_job(  # there are only four that can be disabled
        NAME, "disable_category", disable_category, ["Disable the {category} category tab in the inbox."],
        own=[{"category": "Promotions"}, {"category": "Forums"}, {"category": "Updates"}],
        missing=[{"category": "Poetry"}, {"category": "Travel"}],
    ),
    benchmark_job(
        NAME, "block_address", block_address, ["Block the email address '{address}'."],
        own=[
            {"address": "chris.evans@sportsnews.com"},
            {"address": "hannah.b@fitnessfirst.com"},
            {"address": "sophie.l@eurodesign.fr"},
            {"address": "james.obrien@lawfirm.legal"},
        ],
        missing=[{"address": "muse@poems.example"}, {"address": "nobody@techcorp.io"}],
    ),
    benchmark_job(
        NAME, "unblock_address", unblock_address, ["Unblock the email address '{address}'."],
        own=[
            {"address": "annoying@daily-deals.biz"},
            {"address": "offers@shadydeals.xyz"},
            {"address": "noreply@fake-bank-alert.com"},
            {"address": "winner@prize-notification.scam"},
        ],
        missing=[{"address": "muse@poems.example"}, {"address": "deals.biz"}],
    ),
    benchmark_job(  # only four are in the trash
        NAME, "restore_from_trash", restore_from_trash,
        ["Go to the Trash folder and move the email '{subject}' back to the Inbox."],
        own=[
            {"subject": "You have inherited $5,000,000"},
            {"subject": "AMAZING DEAL: iPhone for $1!!!"},
            {"subject": "You won't believe what happened next"},
        ],
        missing=[{"subject": _GONE}, {"subject": "Lab Tour Invitation"}],
    ),
]  # fmt: skip

GMAIL = single_page_application(NAME, JOBS, normalize=_normalize)
