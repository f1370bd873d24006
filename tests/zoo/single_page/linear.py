"""Jobs of the account settings (linear-account-settings)."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.single_page.benchmark import benchmark_job, single_page_application
from tests.zoo.zoo_jobs import Given

NAME = "linear-account-settings"


def _normalize(state: Any) -> Any:
    """Remove the times of changes and the random beginnings of API keys."""
    if isinstance(state, dict):
        return {
            name: _normalize(each)
            for name, each in state.items()
            if name not in ("createdAt", "updatedAt", "lastUsedAt", "keyPrefix")
        }
    return [_normalize(each) for each in state] if isinstance(state, list) else state


async def _open(page: Page, section: str, noise: Noise) -> None:
    await noise.wander()
    await page.locator("#sidebarNav").get_by_text(section, exact=True).click()
    await page.get_by_role("heading", name=section, exact=True).wait_for()


def _row(page: Page, rows: str, name: str, within: Locator | None = None) -> Locator:
    """Return the row that has the name as a text of its own."""
    return (within or page).locator(rows, has=page.get_by_text(name, exact=True))


async def _press(page: Page, button: str) -> None:
    """Press a button of the open dialog."""
    await page.locator(".modal").get_by_role("button", name=button, exact=True).click()


async def change_full_name(page: Page, given: Given, noise: Noise) -> None:
    await noise.wander()
    await page.get_by_title("Edit Full name").click()
    await noise.retype("#modal-input-field", given["name"])
    await _press(page, "Save")


async def change_username(page: Page, given: Given, noise: Noise) -> None:
    await noise.wander()
    await page.get_by_title("Edit Username").click()
    await noise.retype("#modal-input-field", given["username"])
    await _press(page, "Save")


async def change_email(page: Page, given: Given, noise: Noise) -> None:
    await noise.wander()
    await page.get_by_title("Edit Email").click()
    await noise.type("#modal-input-email", given["email"])
    await _press(page, "Update email")


async def change_avatar_color(page: Page, given: Given, noise: Noise) -> None:
    await noise.wander()
    await page.get_by_title("Change profile picture").click()


async def disconnect_account(page: Page, given: Given, noise: Noise) -> None:
    await noise.wander()
    row = _row(page, ".connected-account-row", given["provider"])
    await row.get_by_role("button", name="Disconnect").click()
    await _press(page, "Disconnect")


async def leave_workspace(page: Page, given: Given, noise: Noise) -> None:
    await noise.wander()
    await _row(page, ".workspace-row", given["workspace"]).get_by_role("button").click()
    await _press(page, "Leave workspace")


async def choose_preference(page: Page, given: Given, noise: Noise) -> None:
    await _open(page, "Preferences", noise)
    label = page.get_by_text(re.compile(rf"^{re.escape(given['setting'])}$", re.IGNORECASE))
    row = page.locator(".setting-row", has=label)
    await row.locator(".dropdown-trigger").click()
    await row.locator(".dropdown-menu").get_by_text(given["option"], exact=True).click()


async def turn_on_setting(page: Page, given: Given, noise: Noise) -> None:
    await _open(page, given["section"], noise)
    await _row(page, ".setting-row", given["setting"]).locator(".toggle-switch:not(.active)").click()


async def turn_off_setting(page: Page, given: Given, noise: Noise) -> None:
    await _open(page, given["section"], noise)
    await _row(page, ".setting-row", given["setting"]).locator(".toggle-switch.active").click()


async def _expand_channel(page: Page, channel: str, noise: Noise) -> Locator:
    await _open(page, "Notifications", noise)
    await page.locator(".channel-name").get_by_text(channel, exact=True).click()
    return _row(page, ".notification-channel", channel)


async def switch_channel(page: Page, given: Given, noise: Noise) -> None:
    channel = await _expand_channel(page, given["channel"], noise)
    row = _row(page, ".setting-row", f"Enable {given['channel'].lower()} notifications", channel)
    await row.locator(".toggle-switch").click()


async def turn_on_in_channel(page: Page, given: Given, noise: Noise) -> None:
    channel = await _expand_channel(page, given["channel"], noise)
    row = _row(page, ".notif-type-row, .setting-row", given["setting"], channel)
    await row.locator(".toggle-switch:not(.active)").click()


async def turn_off_in_channel(page: Page, given: Given, noise: Noise) -> None:
    channel = await _expand_channel(page, given["channel"], noise)
    row = _row(page, ".notif-type-row, .setting-row", given["setting"], channel)
    await row.locator(".toggle-switch.active").click()


async def revoke_session(page: Page, given: Given, noise: Noise) -> None:
    await _open(page, "Security & Access", noise)
    await _row(page, ".session-row", given["device"]).get_by_role("button", name="Revoke access").click()
    await _press(page, "Revoke access")


async def revoke_all_sessions(page: Page, given: Given, noise: Noise) -> None:
    await _open(page, "Security & Access", noise)
    await page.get_by_role("button", name="Revoke all").click()
    await _press(page, "Revoke all sessions")


async def add_passkey(page: Page, given: Given, noise: Noise) -> None:
    await _open(page, "Security & Access", noise)
    await page.get_by_role("button", name="Add passkey").click()
    await noise.type("#modal-input-passkey-name", given["name"])
    await _press(page, "Register passkey")


async def remove_passkey(page: Page, given: Given, noise: Noise) -> None:
    await _open(page, "Security & Access", noise)
    await _row(page, ".passkey-row", given["name"]).get_by_role("button", name="Remove").click()
    await _press(page, "Remove passkey")


async def create_api_key(page: Page, given: Given, noise: Noise) -> None:
    await _open(page, "Security & Access", noise)
    await page.get_by_role("button", name="Create key").click()
    await noise.type("#modal-input-api-label", given["label"])
    await _press(page, "Create key")


async def revoke_api_key(page: Page, given: Given, noise: Noise) -> None:
    await _open(page, "Security & Access", noise)
    await _row(page, ".api-key-row", given["label"]).get_by_role("button", name="Revoke").click()
    await _press(page, "Revoke key")


async def revoke_application(page: Page, given: Given, noise: Noise) -> None:
    await _open(page, "Security & Access", noise)
    await _row(page, ".oauth-app-row", given["name"]).get_by_role("button", name="Revoke access").click()
    await _press(page, "Revoke access")


JOBS = [
    benchmark_job(
        NAME, "change_full_name", change_full_name, ["Change your full name to '{name}'."],
        own=[
            {"name": "Priya Raman"},
            {"name": "Samuel Adler-Whitfield"},
            {"name": "Siobhan O'Neill"},
            {"name": "Zoë Żółkiewska"},
            {"name": 'William "Bill" Hart'},
        ],
    ),
    benchmark_job(
        NAME, "change_username", change_username, ["Change your username to '{username}'."],
        own=[
            {"username": "priya.raman"},
            {"username": "sam_adler"},
            {"username": "dev-ops-7"},
            {"username": "d'angelo"},
            {"username": "jürgen.müller"},
        ],
    ),
    benchmark_job(
        NAME, "change_email", change_email, ["Change your email address to '{email}'."],
        own=[
            {"email": "priya@studio-north.com"},
            {"email": "s.adler+work@acmecorp.io"},
            {"email": "a.o'neill@example.org"},
            {"email": "jürgen@müller-söhne.de"},
        ],
    ),
    benchmark_job(
        NAME, "change_avatar_color", change_avatar_color, ["Click on your profile avatar to change its color."],
        own=[{}, {}, {}, {}],
    ),
    benchmark_job(
        NAME, "disconnect_account", disconnect_account, ["Disconnect the {provider} connected account."],
        missing=[{"provider": "Bitbucket"}, {"provider": "Jira"}], action="delete",
    ),
    # There are three workspaces: none is left for a run.
    benchmark_job(
        NAME, "leave_workspace", leave_workspace, ["Leave the '{workspace}' workspace."],
        own=[{"workspace": "Acme Corp"}],
        missing=[{"workspace": "Globex"}, {"workspace": "Weekend Robotics"}], action="delete",
    ),
    benchmark_job(
        NAME, "choose_preference", choose_preference,
        ["Navigate to Preferences and change the {setting} to '{option}'."],
        missing=[
            {"setting": "theme", "option": "Sepia"},
            {"setting": "date format", "option": "Day first"},
        ],
    ),
    benchmark_job(
        NAME, "turn_off_setting", turn_off_setting,
        [
            "Navigate to {section} and turn off the '{setting}' toggle.",
            "Navigate to {section} and turn off the '{setting}' communication preference.",
        ],
        missing=[
            {"section": "Preferences", "setting": "Compact sidebar"},
            {"section": "Notifications", "setting": "Survey invitations"},
        ],
    ),
    # Only these four are off.
    benchmark_job(
        NAME, "turn_on_setting", turn_on_setting,
        [
            "Navigate to {section} and turn on the '{setting}' toggle.",
            "Navigate to {section} and turn on the '{setting}' communication preference.",
        ],
        missing=[
            {"section": "Preferences", "setting": "Compact sidebar"},
            {"section": "Notifications", "setting": "Survey invitations"},
        ],
    ),
    # There are four channels; three are enabled, one is not.
    benchmark_job(
        NAME, "switch_channel", switch_channel,
        [
            "Navigate to Notifications and disable the {channel} notification channel.",
            "Navigate to Notifications and enable the {channel} notification channel.",
        ],
        missing=[{"channel": "Pager"}, {"channel": "Telegram"}],
    ),
    benchmark_job(
        NAME, "turn_on_in_channel", turn_on_in_channel,
        [
            "Navigate to Notifications, expand the {channel} channel, and turn on the '{setting}' notification type.",
        ],
        own=[
            {"channel": "Email", "setting": "Project updates"},
            {"channel": "Email", "setting": "Cycle updates"},
        ],
        missing=[
            {"channel": "Pager", "setting": "Cycle updates"},
            {"channel": "Mobile", "setting": "Release notes"},
        ],
    ),
    benchmark_job(
        NAME, "turn_off_in_channel", turn_off_in_channel,
        [
            "Navigate to Notifications, expand the {channel} channel, and turn off the '{setting}' notification type.",
            "Navigate to Notifications, expand the {channel} channel, and turn off the '{setting}' delivery preference.",
        ],
        own=[
            {"channel": "Mobile", "setting": "Status changes"},
            {"channel": "Desktop", "setting": "Project updates"},
            {"channel": "Mobile", "setting": "Comments on subscribed issues"},
        ],
        missing=[
            {"channel": "Pager", "setting": "Mentions"},
            {"channel": "Desktop", "setting": "Release notes"},
        ],
    ),
    benchmark_job(
        NAME, "revoke_session", revoke_session,
        ["Navigate to Security & Access and revoke the session for '{device}'."],
        own=[
            {"device": "Linear Desktop on macOS"},
            {"device": "Safari on iPad"},
            {"device": "Edge on Windows"},
        ],
        missing=[{"device": "Opera on Windows"}, {"device": "Chrome on ChromeOS"}], action="delete",
    ),
    benchmark_job(
        NAME, "revoke_all_sessions", revoke_all_sessions,
        ["Navigate to Security & Access and revoke all sessions except the current one."],
        own=[{}, {}, {}, {}], action="delete",
    ),
    benchmark_job(
        NAME, "add_passkey", add_passkey,
        ["Navigate to Security & Access and add a new passkey named '{name}'."],
        own=[
            {"name": "Office desktop"},
            {"name": "Pixel 9 fingerprint"},
            {"name": "Mum's iPad"},
            {"name": "Schlüssel für zu Hause"},
            {"name": 'The "spare" key'},
        ],
        action="create",
    ),
    # There are three passkeys: none is left for a run.
    benchmark_job(
        NAME, "remove_passkey", remove_passkey,
        ["Navigate to Security & Access and remove the passkey named '{name}'."],
        own=[{"name": "MacBook Pro Touch ID"}],
        missing=[{"name": "Titan Security Key"}, {"name": "Office desktop"}], action="delete",
    ),
    benchmark_job(
        NAME, "create_api_key", create_api_key,
        ["Navigate to Security & Access and create a new API key with the label '{label}'."],
        own=[
            {"label": "Nightly backup"},
            {"label": "Metrics / Grafana"},
            {"label": "Dana's laptop"},
            {"label": "Übersetzungsdienst Köln"},
            {"label": 'Import for "Project X"'},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "revoke_api_key", revoke_api_key,
        ["Navigate to Security & Access and revoke the API key labeled '{label}'."],
        own=[
            {"label": "CI/CD Pipeline"},
            {"label": "Slack Bot Integration"},
            {"label": "Monitoring Dashboard"},
        ],
        missing=[{"label": "Staging deploys"}, {"label": "Old laptop"}], action="delete",
    ),
    benchmark_job(
        NAME, "revoke_application", revoke_application,
        ["Navigate to Security & Access and revoke access for the authorized application '{name}'."],
        own=[{"name": "Notion Integration"}, {"name": "Screenful"}],
        missing=[{"name": "Trello Sync"}, {"name": "Miro"}], action="delete",
    ),
]  # fmt: skip

LINEAR = single_page_application(NAME, JOBS, normalize=_normalize)
