"""The example data a new workspace starts with. Fixed, so that every run shows the same."""

from collections.abc import Iterator
from typing import NamedTuple

LANGUAGES = {"en-US": "English (US)", "hi-IN": "Hindi", "es-ES": "Spanish"}
VOICES = {
    "Calm": "Even and reassuring",
    "Bright": "Upbeat and friendly",
    "Formal": "Precise and measured",
}
CONTACT_LISTS = {
    "All contacts": 48,
    "Spring webinar leads": 16,
    "Renewals": 16,
    "Dormant accounts": 16,
}
FILTER_FIELDS = {"Country": "e.g. Spain", "Plan": "e.g. Business", "Last call": "e.g. over 30 days ago"}


class AgentSeed(NamedTuple):
    """The first fields of ``state.AgentDetails``, in their order."""

    name: str
    language: str
    voice: str
    greeting: str
    expiry_date: str
    record_calls: bool


_AGENT_NAMES = (
    "Amelia Hart",
    "Ravi Menon",
    "Lucía Ortega",
    "Grace Osei",
    "Daniel Brooks",
    "Priya Nair",
    "Mateo Vargas",
    "Hannah Cole",
    "Arjun Kapoor",
    "Sofía Delgado",
    "Oliver Grant",
    "Meera Iyer",
    "Carmen Ruiz",
    "Ethan Walsh",
    "Kavya Reddy",
    "Javier Molina",
    "Nora Sinclair",
    "Vikram Shah",
    "Elena Campos",
    "Marcus Reed",
    "Ananya Rao",
    "Diego Santos",
    "Ruby Lawson",
)
_LANGUAGE_CYCLE = ("en-US", "hi-IN", "es-ES")
_STATUS_CYCLE = ("Live", "Live", "Live", "Paused", "Live", "Live", "Draft")
_GREETINGS = {
    "en-US": "Hello, you have reached Northwind Support. How can I help you today?",
    "hi-IN": "नमस्ते, नॉर्थविंड सपोर्ट में आपका स्वागत है।",
    "es-ES": "Hola, gracias por llamar a Northwind Support. ¿En qué puedo ayudarle?",
}


def agents() -> Iterator[tuple[AgentSeed, str, int]]:
    """Yield each agent's details, status and number of calls today."""
    voices = list(VOICES)
    for i, name in enumerate(_AGENT_NAMES):
        language = _LANGUAGE_CYCLE[i % 3]
        status = _STATUS_CYCLE[i % 7]
        calls = 38 + (i * 29) % 147 if status == "Live" else 0
        details = AgentSeed(name, language, voices[i % 3], _GREETINGS[language], "", i % 2 == 0)
        yield details, status, calls


def agents_named(count: int) -> Iterator[AgentSeed]:
    """Yield the details of ``count`` agents; past the written names, the same again with a number."""
    written = [details for details, _, _ in agents()]
    for i in range(count):
        lap, details = i // len(written), written[i % len(written)]
        yield details._replace(name=f"{details.name} {lap + 1}") if lap else details


_FIRST = (
    "Alice",
    "Ben",
    "Chloe",
    "David",
    "Emma",
    "Farid",
    "Gina",
    "Hugo",
    "Isla",
    "Jonas",
    "Keira",
    "Liam",
    "Mona",
    "Nils",
    "Olga",
    "Pablo",
)
_LAST = ("Archer", "Bianchi", "Castillo", "Dubois", "Eriksen", "Fischer")
_DOMAINS = ("brightpath.example", "oakandco.example", "lumenlabs.example")


def contacts(count: int = CONTACT_LISTS["All contacts"]) -> Iterator[tuple[str, str, str, str]]:
    """Yield each contact's name, email, phone and list; past the written names, with a number."""
    lists = [name for name in CONTACT_LISTS if name != "All contacts"]
    for i in range(count):
        first, last = _FIRST[i % len(_FIRST)], _LAST[(i * 5 + i // 16) % len(_LAST)]
        last += f"-{i // 48 + 1}" if i >= 48 else ""
        email = f"{first}.{last}@{_DOMAINS[i % len(_DOMAINS)]}".lower()
        yield f"{first} {last}", email, f"+1 555 01{i:02d}", lists[i % len(lists)]


CAMPAIGNS = (
    # name, index of its agent, contact list, calls a day, status, people reached
    ("Spring webinar follow-up", 0, "Spring webinar leads", 120, "Running", 11),
    ("Renewal reminders", 4, "Renewals", 80, "Running", 7),
    ("We miss you", 2, "Dormant accounts", 40, "Paused", 5),
)

EMAILS = (
    # sender, subject, preview, received
    (
        "Spadeworks Reports",
        "Your weekly call summary",
        "12,847 calls handled, 94.2% resolved without a hand-over.",
        "9:42 AM",
    ),
    (
        "Tomás Herrera",
        "Spanish greeting for the renewals line",
        "I tried the new wording with three customers and they liked it.",
        "8:15 AM",
    ),
    ("Billing", "Invoice 2041 is ready", "Your invoice for this month is ready to download.", "Yesterday"),
    (
        "Maya Lindqvist",
        "Callback requested: Oak & Co",
        "They would like to hear back before Thursday noon.",
        "Yesterday",
    ),
    (
        "Spadeworks Product",
        "New: hand over to a person, mid-call",
        "Agents can now pass a caller on without losing the context.",
        "Mon",
    ),
    ("Ravi Menon", "Hindi pronunciation notes", "A few place names came out wrong, list attached.", "Mon"),
    (
        "Compliance",
        "Call recording policy update",
        "From next month recordings are kept for ninety days.",
        "Sun",
    ),
)


def email(index: int) -> tuple[str, str, str, str]:
    """Return message ``index``; past the written ones, the same again with a number."""
    sender, subject, preview, received = EMAILS[index % len(EMAILS)]
    lap = index // len(EMAILS)
    return sender, f"{subject} ({lap + 1})" if lap else subject, preview, received


CALLS_PER_DAY = (612, 655, 640, 702, 748, 521, 498, 731, 790, 812, 775, 864, 640, 902)

ACTIVITY = (
    # who, what, when
    ("Amelia Hart", "resolved a billing question with Alice Archer", "2 min ago"),
    ("Ravi Menon", "handed a call over to Maya Lindqvist", "9 min ago"),
    ("Renewal reminders", "reached 7 of 16 contacts", "24 min ago"),
    ("Lucía Ortega", "booked a callback for Hugo Fischer", "41 min ago"),
)
