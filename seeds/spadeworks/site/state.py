"""What the site remembers about each visitor: entities, counts and session. Pure Python, in memory.

Nothing here knows about HTTP. The example entities themselves are in ``sample.py``.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

from seeds.spadeworks.site import sample

MAX_AGENTS = 300
MAX_CONTACTS = 5_000
MAX_CAMPAIGNS = 100
MAX_EMAILS = 500
MAX_TOASTS = 5
STATUSES = ("Live", "Paused", "Draft")

Theme = Literal["light", "dark", "system"]


class WorkspaceFullError(Exception):
    """A visitor tried to keep more entities of one kind than the site stores for them."""

    def __init__(self, kind: str, limit: int) -> None:
        super().__init__(f"This workspace cannot hold more than {limit} {kind}")
        self.kind = kind
        self.limit = limit


@dataclass
class AgentDetails:
    """What a person types about a voice agent."""

    name: str
    language: str
    voice: str = "Calm"
    greeting: str = ""
    expiry_date: str = ""  # MM/DD/YYYY, or empty
    record_calls: bool = False


@dataclass
class Agent(AgentDetails):
    """A voice agent of the workspace."""

    id: str = ""
    status: str = "Live"
    calls_today: int = 0


@dataclass
class Contact:
    """A person the call centre may ring."""

    id: str
    name: str
    email: str
    phone: str
    list_name: str
    do_not_call: bool = False


@dataclass
class CampaignDraft:
    """A campaign on its way through the three steps. Filters are ``field: value`` pairs."""

    name: str = ""
    agent_id: str = ""
    start_date: str = ""
    contact_list: str = ""
    daily_limit: int = 0
    filters: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Campaign(CampaignDraft):
    """A launched campaign."""

    id: str = ""
    status: str = "Scheduled"
    reached: int = 0
    audience: int = 0


@dataclass
class Email:
    """One message of the inbox."""

    id: str
    sender: str
    subject: str
    preview: str
    received: str


@dataclass
class Toast:
    """A message shown once, on the next page."""

    title: str
    detail: str = ""
    kind: Literal["success", "error"] = "success"


@dataclass
class Counts:
    """What really happened, as opposed to what a page said."""

    logins: int = 0
    login_failures: int = 0
    logouts: int = 0
    codes_accepted: int = 0
    codes_rejected: int = 0
    sessions_expired: int = 0
    agents_created: int = 0
    agents_updated: int = 0
    agents_deleted: int = 0
    agents_switched: int = 0
    contacts_imported: int = 0
    contacts_skipped: int = 0
    contacts_blocked: int = 0
    contacts_allowed: int = 0
    campaigns_created: int = 0
    emails_deleted: int = 0
    emails_received: int = 0
    settings_saved: int = 0


@dataclass
class Preferences:
    """What the visitor chose on the Settings page."""

    display_name: str = "Dana Whitfield"
    company: str = "Northwind Support"
    otp_required: bool = False
    theme: Theme = "light"
    notify_daily_summary: bool = True
    notify_missed_calls: bool = True
    notify_product_news: bool = False


@dataclass
class Visitor:
    """One visitor's session and workspace."""

    id: str
    csrf_token: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    last_seen: float = 0.0
    signed_in: bool = False
    password_accepted: bool = False  # the one-time code is still to come
    used_code_windows: list[int] = field(default_factory=list)
    preferences: Preferences = field(default_factory=Preferences)
    counts: Counts = field(default_factory=Counts)
    toasts: list[Toast] = field(default_factory=list)
    agents: list[Agent] = field(default_factory=list)
    contacts: list[Contact] = field(default_factory=list)
    campaigns: list[Campaign] = field(default_factory=list)
    campaign_draft: CampaignDraft | None = None
    emails: list[Email] = field(default_factory=list)
    unseen_email_ids: list[str] = field(default_factory=list)  # arrived after the page was drawn
    _serial: int = 0

    def next_id(self, prefix: str) -> str:
        """Return an id nothing else in this workspace has, such as ``agt-1024``."""
        self._serial += 1
        return f"{prefix}-{1000 + self._serial}"

    def toast(self, title: str, detail: str = "", kind: Literal["success", "error"] = "success") -> None:
        """Show a message on the next page."""
        self.toasts = [*self.toasts, Toast(title, detail, kind)][-MAX_TOASTS:]

    def take_toasts(self) -> list[Toast]:
        """Return the messages to show now, and forget them."""
        toasts, self.toasts = self.toasts, []
        return toasts

    def sign_in(self) -> None:
        """Begin a session."""
        self.signed_in, self.password_accepted = True, False
        self.counts.logins += 1

    def sign_out(self) -> None:
        """End the session; the workspace stays."""
        self.signed_in = self.password_accepted = False
        self.toasts.clear()

    def agent(self, agent_id: str) -> Agent | None:
        """Return the agent with this id, if there is one."""
        return next((a for a in self.agents if a.id == agent_id), None)

    def agents_matching(self, query: str) -> list[Agent]:
        """Return the agents whose name contains ``query``, in any case, oldest first."""
        wanted = query.strip().casefold()
        return [a for a in self.agents if wanted in a.name.casefold()]

    def name_is_taken(self, name: str, *, except_id: str = "") -> bool:
        """Say whether another agent has this name, in any case."""
        wanted = name.strip().casefold()
        return any(a.name.casefold() == wanted and a.id != except_id for a in self.agents)

    def create_agent(self, details: AgentDetails) -> Agent:
        """Add an agent. Raises ``WorkspaceFullError``."""
        _check_room("agents", len(self.agents), 1, MAX_AGENTS)
        agent = Agent(**asdict(details), id=self.next_id("agt"))
        self.agents.append(agent)
        self.counts.agents_created += 1
        return agent

    def update_agent(self, agent: Agent, details: AgentDetails) -> None:
        """Give ``agent`` new details."""
        for name, value in asdict(details).items():
            setattr(agent, name, value)
        self.counts.agents_updated += 1

    def delete_agent(self, agent: Agent) -> None:
        """Remove ``agent`` from the workspace."""
        self.agents.remove(agent)
        self.counts.agents_deleted += 1

    def switch_agent(self, agent: Agent) -> None:
        """Pause an agent that takes calls; let any other one take calls."""
        agent.status = "Paused" if agent.status == "Live" else "Live"
        self.counts.agents_switched += 1

    def staff(self, statuses: Sequence[str]) -> None:
        """Replace the agents with one for each status."""
        self.agents = [
            Agent(*details, id=self.next_id("agt"), status=status)
            for details, status in zip(sample.agents_named(len(statuses)), statuses, strict=True)
        ]

    def contact(self, contact_id: str) -> Contact | None:
        """Return the contact with this id, if there is one."""
        return next((c for c in self.contacts if c.id == contact_id), None)

    def switch_calls(self, contact: Contact) -> None:
        """Forbid calls to somebody who may be called; allow them to anybody else."""
        contact.do_not_call = not contact.do_not_call
        if contact.do_not_call:
            self.counts.contacts_blocked += 1
        else:
            self.counts.contacts_allowed += 1

    def fill_contacts(self, count: int, blocked: Collection[int] = ()) -> None:
        """Replace the contacts with ``count`` of them; those at the places ``blocked`` are not to be called."""
        self.contacts = [
            Contact(self.next_id("con"), *row, do_not_call=place in blocked)
            for place, row in enumerate(sample.contacts(min(count, MAX_CONTACTS)))
        ]

    def import_contacts(self, rows: Iterable[tuple[str, str, str]]) -> int:
        """Add ``(name, email, phone)`` rows; return how many. Raises ``WorkspaceFullError``."""
        new = list(rows)
        _check_room("contacts", len(self.contacts), len(new), MAX_CONTACTS)
        self.contacts += [
            Contact(self.next_id("con"), name, email, phone, "Imported") for name, email, phone in new
        ]
        self.counts.contacts_imported += len(new)
        return len(new)

    def launch_campaign(self, draft: CampaignDraft, audience: int) -> Campaign:
        """Turn the draft into a running campaign. Raises ``WorkspaceFullError``."""
        _check_room("campaigns", len(self.campaigns), 1, MAX_CAMPAIGNS)
        campaign = Campaign(**vars(draft), id=self.next_id("cmp"), audience=audience)
        self.campaigns.insert(0, campaign)
        self.campaign_draft = None
        self.counts.campaigns_created += 1
        return campaign

    def email(self, email_id: str) -> Email | None:
        """Return the message with this id, if it is still there."""
        return next((e for e in self.emails if e.id == email_id), None)

    def delete_email(self, email: Email) -> None:
        """Remove one message."""
        self.emails.remove(email)
        self.counts.emails_deleted += 1

    def receive_email(self) -> None:
        """Let one more message arrive, as mail does while one is reading."""
        if len(self.emails) < MAX_EMAILS:
            email = self._email(self.counts.emails_received + len(sample.EMAILS), "just now")
            self.emails.append(email)
            self.unseen_email_ids.append(email.id)
            self.counts.emails_received += 1

    def take_unseen_emails(self) -> list[Email]:
        """Return the messages no page has shown yet, and mark them as shown."""
        unseen, self.unseen_email_ids = set(self.unseen_email_ids), []
        return [e for e in self.emails if e.id in unseen]

    def fill_inbox(self, count: int) -> None:
        """Replace the inbox with ``count`` messages."""
        self.unseen_email_ids.clear()
        self.emails = [self._email(i) for i in range(min(count, MAX_EMAILS))]

    def _email(self, index: int, received: str = "") -> Email:
        sender, subject, preview, when = sample.email(index)
        return Email(self.next_id("msg"), sender, subject, preview, received or when)


def _check_room(kind: str, present: int, more: int, limit: int) -> None:
    if present + more > limit:
        raise WorkspaceFullError(kind, limit)


@dataclass
class NewVisitorDefaults:
    """What a workspace starts with; the control endpoint may change it."""

    otp_required: bool = False
    emails: int = len(sample.EMAILS)
    statuses: Sequence[str] | None = None  # of the agents; None: the usual ones
    contacts: int | None = None  # None: the usual ones
    blocked: Collection[int] = ()  # places of contacts who are not to be called


class VisitorStore:
    """All visitors, the one seen last at the end; the one not seen for longest is evicted first."""

    def __init__(self, max_visitors: int, clock: Callable[[], float]) -> None:
        self._visitors: OrderedDict[str, Visitor] = OrderedDict()
        self._max = max_visitors
        self._clock = clock
        self.defaults = NewVisitorDefaults()

    def all(self) -> list[Visitor]:
        """Return every visitor, the one seen last at the end."""
        return list(self._visitors.values())

    def get(self, visitor_id: str) -> Visitor | None:
        """Return a known visitor, without counting that as a visit."""
        return self._visitors.get(visitor_id)

    def visit(self, visitor_id: str | None) -> Visitor:
        """Return the visitor with this id, or a new one with an id of our own choosing."""
        visitor = self._visitors.get(visitor_id or "") or self._welcome(secrets.token_urlsafe(18))
        visitor.last_seen = self._clock()
        self._visitors.move_to_end(visitor.id)
        while len(self._visitors) > self._max:
            self._visitors.popitem(last=False)
        return visitor

    def reset(self, visitor: Visitor) -> None:
        """Give this visitor a fresh workspace; they are signed out and keep their id."""
        self._welcome(visitor.id)

    def clear(self) -> None:
        """Forget every visitor and every changed default."""
        self._visitors.clear()
        self.defaults = NewVisitorDefaults()

    def _welcome(self, visitor_id: str) -> Visitor:
        visitor = Visitor(visitor_id, last_seen=self._clock())
        visitor.preferences.otp_required = self.defaults.otp_required
        visitor.agents = [
            Agent(*details, id=visitor.next_id("agt"), status=status, calls_today=calls)
            for details, status, calls in sample.agents()
        ]
        visitor.contacts = [Contact(visitor.next_id("con"), *row) for row in sample.contacts()]
        for name, agent, list_name, limit, status, reached in sample.CAMPAIGNS:
            visitor.campaigns.append(
                Campaign(
                    name=name,
                    agent_id=visitor.agents[agent].id,
                    start_date="03/03/2025",
                    contact_list=list_name,
                    daily_limit=limit,
                    id=visitor.next_id("cmp"),
                    status=status,
                    reached=reached,
                    audience=sample.CONTACT_LISTS[list_name],
                )
            )
        if self.defaults.statuses is not None:
            visitor.staff(self.defaults.statuses)
        if self.defaults.contacts is not None:
            visitor.fill_contacts(self.defaults.contacts, self.defaults.blocked)
        visitor.fill_inbox(self.defaults.emails)
        self._visitors[visitor_id] = visitor
        return visitor
