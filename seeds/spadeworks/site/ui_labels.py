"""What the redesign changes: ids, classes, data attributes, labels and the order of fields.

Version 1 is the site as first learned; version 2 is the same product after a release.
Headings, addresses, form field names and behaviour stay.
"""

from dataclasses import dataclass

from markupsafe import Markup

from seeds.spadeworks.site.settings import UiVersion

_NEW_WORDING = {
    "Agent Name": "Name of the agent",
    "Language": "Spoken language",
    "Voice": "Voice style",
    "Greeting": "Opening line",
    "Expiry date": "Valid until",
    "Record calls": "Keep call recordings",
    "Save Changes": "Save agent",
    "Create Agent": "Add agent",
    "Create agent": "Add agent",
    "Edit": "Change",
    "Delete": "Remove",
    "Delete agent": "Yes, remove",
    "Keep agent": "No, keep it",
    "Delete message": "Remove message",
    "Search": "Find",
    "Email": "Email address",
    "Password": "Your password",
    "Sign In": "Log in",
    "Forgot Password?": "Forgot your password?",
    "6-digit code": "Verification code",
    "Verify": "Confirm code",
    "Import contacts": "Add contacts",
    "Choose CSV file": "Select a CSV file",
    "Skip duplicates": "Ignore duplicates",
    "Import": "Start import",
    "New campaign": "Plan a campaign",
    "Campaign name": "Name of the campaign",
    "Agent": "Agent who calls",
    "Start date": "First day",
    "Daily limit": "Calls a day",
    "Add filter": "New filter",
    "Apply filter": "Use filter",
    "Continue": "Next",
    "Launch Campaign": "Start campaign",
    "Launch now": "Yes, start",
    "Not yet": "Later",
    "Display name": "Your name",
    "Save profile": "Update profile",
    "Require one-time code": "Ask for a one-time code",
    "Accept": "Allow",
    "Decline": "Refuse",
}

_NEW_CLASSES = {
    "agent-card": "roster-item",
    "agent-name": "roster-title",
    "agent-row": "roster-line",
    "email-row": "message-item",
    "email-subject": "message-title",
    "toast": "notice",
    "metric": "kpi",
    "field-error": "hint-error",
    "filter-chip": "token",
    "contact-row": "person-line",
    "campaign-row": "plan-line",
    "sidebar": "side-panel",
    "nav-item": "side-link",
    "btn": "button",
    "btn-primary": "button-strong",
}

_NEW_DATA = {"agent-id": "key", "email-id": "message-key", "contact-id": "key", "campaign-id": "key"}

_AGENT_FIELDS = ("name", "language", "voice", "greeting", "expiry", "record")
_NEW_AGENT_FIELDS = ("language", "greeting", "name", "record", "expiry", "voice")


@dataclass(frozen=True)
class Ui:
    """The markup choices of one UI version, for the templates."""

    version: UiVersion

    def t(self, label: str) -> str:
        """Return the wording of a label or button."""
        return label if self.version == 1 else _NEW_WORDING.get(label, label)

    def id(self, name: str) -> str:
        """Return an element id: ``agent-name``, or ``agentNameCtl`` after the redesign."""
        if self.version == 1:
            return name
        first, *rest = name.split("-")
        return first + "".join(part.capitalize() for part in rest) + "Ctl"

    def cls(self, names: str) -> str:
        """Return class names, each renamed if the redesign did so."""
        if self.version == 1:
            return names
        return " ".join(_NEW_CLASSES.get(name, name) for name in names.split())

    def data(self, name: str, value: str) -> Markup:
        """Return a data attribute with a leading space, under its name in this version."""
        renamed = name if self.version == 1 else _NEW_DATA.get(name, name)
        return Markup(' data-{}="{}"').format(renamed, value)

    def testid(self, value: str) -> Markup:
        """Return a test id attribute with a leading space; the redesign lost them."""
        return Markup(' data-testid="{}"').format(value) if self.version == 1 else Markup("")

    def agent_fields(self) -> tuple[str, ...]:
        """Return the fields of the agent form in the order in which they are shown."""
        return _AGENT_FIELDS if self.version == 1 else _NEW_AGENT_FIELDS
