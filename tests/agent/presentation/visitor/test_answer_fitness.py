"""Which passages may answer which questions: kinds that visitors asked about mapped websites, and were answered beside the point."""

from __future__ import annotations

import pytest

from agent.presentation.visitor.answer_fitness import AnswerFitness
from agent.presentation.visitor.knowledge_passages import KnowledgePassage
from agent.presentation.visitor.languages import load_language
from agent.presentation.visitor.word_similarity import split_words

ENGLISH = load_language("en")
LIMIT = KnowledgePassage(
    "Card Number takes up to 19 characters.", "Link a Card", "screen/link_card", "Link a Card card_number",
    label="Card Number", kind="limit",
)  # fmt: skip
FILTER = KnowledgePassage(
    "Field: Country, Plan or Last call.", "Audience", "screen/audience", "Audience field", label="Field", kind="choices"
)  # fmt: skip
FILTER_INPUT = KnowledgePassage(
    "Filter field: Country, Plan or Last call.", "Create a Campaign", "task/create_campaign", "Create a Campaign",
    label="Filter field", kind="note",
)  # fmt: skip
REDEEM = KnowledgePassage(
    "Redeem type: one of PayPal Balance, Gift Card.", "Redeem Points", "task/redeem_points", "Redeem Points redeem_points",
    label="Redeem type", kind="note",
)  # fmt: skip
CARD_TYPE = KnowledgePassage(
    "Card type: one of Credit, Debit.", "Link Card", "task/link_card", "Link Card link_card", label="Card type", kind="note"
)  # fmt: skip
TOUR = KnowledgePassage(
    "And here is Repeating Invoices.", "Repeating Invoices", "segment/tour_3", "Repeating Invoices"
)
DRAFT = KnowledgePassage(
    "Switch: Debit Card, with the switch on Debit Card.", "Switch: Debit Card", "task/switch_debit", "Switch: Debit Card"
)  # fmt: skip
CONFIRM = KnowledgePassage(
    "Confirm: Bank Accounts: press Confirm, then fill in Deposit 1.", "Confirm: Bank Accounts", "task/confirm",
    "Confirm: Bank Accounts confirm", kind="steps",
)  # fmt: skip
LINK = KnowledgePassage(
    "Link Bank Account: press Link a Bank, then press Link.", "Link Bank Account", "task/link", "Link Bank Account link",
    kind="steps",
)  # fmt: skip

VISIBLE = KnowledgePassage("Choose who can see your profile.", "Profile", "task/visible", "Profile visible")
TIMING = KnowledgePassage(
    "Entry 2: one of Before due date, After due date (overdue).", "Choose Timing", "task/timing", "Choose Timing",
    label="Entry 2", kind="choices",
)  # fmt: skip
HERE = KnowledgePassage(
    "Here you find New Repeating Invoice.", "Repeating Invoices", "segment/tour_4", "Repeating Invoices"
)
DELETE = KnowledgePassage(
    "Delete: Repeating Invoices: press Delete.", "Delete: Repeating Invoices", "task/delete", "Delete", kind="steps"
)  # fmt: skip
FIGURES = KnowledgePassage(
    "Key figures of the month, calls per day, recent activity and quick links.", "Dashboard", "screen/dashboard", "Dashboard"
)  # fmt: skip

EMPTY = KnowledgePassage(
    "Delete all messages: press Delete all.", "Delete all messages", "task/empty", "Delete all messages", kind="steps"
)  # fmt: skip
OPEN = KnowledgePassage(
    "Go to the settings and read whose workspace it is.",
    "Open the Settings",
    "task/open",
    "Open the Settings",
)
VOICES = KnowledgePassage("All voice agents, with search and pages.", "Agents", "screen/agent_list", "Agents")
VOICE = KnowledgePassage(
    "Change the voice under Voice, and save.", "Agent Editing Form", "screen/agent_edit", "Agent Editing Form"
)
DUE = KnowledgePassage(
    "Entry 2: one of Before due date, After due date (overdue).", "Choose Timing", "task/timing", "Choose Timing",
    label="Entry 2", kind="note",
)  # fmt: skip
SNOOZED = KnowledgePassage(
    "Here you find Emily Rodriguez, Tom Bradley and Ana Gutierrez.", "Snoozed", "segment/tour_2", "Snoozed"
)


def fits(question: str, passage: KnowledgePassage) -> bool:
    asked = [word for word in dict.fromkeys(split_words(question)) if word not in ENGLISH.stop_words]
    return AnswerFitness(question, asked, ENGLISH).fits(passage)


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("How many cards have I got in here?", LIMIT),  # it counts characters
        ("How do I add a card?", LIMIT),
        ("What's the cheapest plan?", FILTER),  # that one can filter by it says nothing of it
        ("What's the cheapest plan?", FILTER_INPUT),
        ("Can I redeem a gift card?", REDEEM),  # points are redeemed for one
        ("How do I link a debit card?", CARD_TYPE),
        ("Which repeating ones are there?", TOUR),  # it says nothing beside its own name
        ("What about a debit card?", DRAFT),
        ("How do I add a bank account?", CONFIRM),  # another verb
        ("Who can see my profile?", VISIBLE),
        ("How do I delete a message?", EMPTY),
        ("What is in the settings?", OPEN),
        ("When is an invoice overdue?", TIMING),  # the number is of its name
        ("What is a repeating invoice?", HERE),
        ("What is a repeating invoice?", DELETE),  # how it is deleted is not what it is
        ("How do I change the voice?", VOICES),  # nothing is changed there
        ("Where do I change the due date?", DUE),  # an option is no place
        ("What does snooze do?", SNOOZED),  # what is there now is not what it does
        ("Where are the links of my bank account?", LINK),
        ("Where can I see the invoices?", DELETE),  # how one is deleted is no place
        ("Which days can a campaign make calls on?", FIGURES),  # one item of a list
    ],
)
def test_what_shares_the_words_of_a_question_is_no_answer_yet(question, passage):
    assert not fits(question, passage)


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("How many characters may the card number have?", LIMIT),
        ("How long may the card number be?", LIMIT),
        ("Can I filter by plan?", FILTER),
        ("What is a field of the filter?", FILTER),
        ("Which filters does a campaign have?", FILTER_INPUT),  # the label is no item of its list
        ("Which card types can I link?", CARD_TYPE),
        ("How do I add a bank account?", LINK),  # `link` says the same
        ("How do I link a bank account?", LINK),
        ("Where do I link a bank account?", LINK),
        ("What is in snoozed?", SNOOZED),
        ("How do I delete all messages?", EMPTY),
        ("Do you have repeating invoices?", TOUR),
        ("How do I change the voice?", VOICE),
        ("How do I edit the voice?", VOICE),  # `change` says the same
    ],
)
def test_an_answer_of_the_right_kind_stays_one(question, passage):
    assert fits(question, passage)
