"""Which acts a sentence and its plan imply, by words alone."""

from __future__ import annotations

import pytest

from agent.dangers.press_surroundings import PressSurroundings, find_harm_around
from agent.locators.control_cards import ControlCard
from agent.locators.page_index import ElementBox, IndexedElement, Neighbours
from agent.sentence_runs.act_permissions import ActPermissions
from kb_schema.sentence_plans import SentencePlan

SENTENCE = "Create an agent named Ada with the voice Calm"
PLAN = SentencePlan(controls=["New agent", "Create agent", "Voices"], entered=["Ada", "2026-07-01"])
PAGE = "http://127.0.0.1/agents/new"


def control(label, role="button", **attributes):
    return IndexedElement(
        at=0, root=0, parent=None, region=None, tag="button", role=role, name=label, label=label, text="",
        attributes={each.replace("_", "-"): value for each, value in attributes.items()}, near=Neighbours(),
        box=ElementBox(0, 0, 1, 1), icon="", visible=True, interactive=True, enabled=True, required=False,
        checked=None, clickable=False, by_label=False,
    )  # fmt: skip


def judge(element, action="click", value=None, allowed=()):
    permissions = ActPermissions(SENTENCE, PLAN, {}, frozenset(allowed))
    return permissions.judge(element, action, value, PAGE)


@pytest.mark.parametrize(
    "label",
    ["New agent", "Create", "Save", "Next", "Agents (12)", "CREATE AGENT", "Save changes", "Voices", "Ada"],
)
def test_what_sentence_and_plan_say_and_what_says_nothing_may_be_pressed(label):
    assert judge(control(label)).may


@pytest.mark.parametrize(
    ("label", "allow"),
    [
        ("Create admin", "Create admin"),
        ("Settings", "Settings"),
        ("Delete agent", "deletes"),
        ("Löschen", "deletes"),
        ("Pay now", "pays"),
        ("Send agent", "sends"),
        ("与所有人共享", "与所有人共享"),
    ],
)
def test_what_they_do_not_say_or_what_does_harm_is_asked_about_and_may_be_allowed_by_name(label, allow):
    judged = judge(control(label))
    assert not judged.may
    assert judged.allow == allow
    assert judge(control(label), allowed=[allow.casefold()]).may
    assert judge(control(label), allowed=[label.casefold()]).may
    assert not judge(control(label), allowed=["values"]).may


def test_all_that_a_control_is_called_and_its_address_count():
    assert not judge(control("Save", title="Delete everything")).may
    assert not judge(control("Agent", "link", href="/agents/3/delete")).may
    assert judge(control("Agent", "link", href="/agents/3")).may
    assert not judge(control("")).may


@pytest.mark.parametrize("value", ["Ada", "ada", "Calm", "2026-07-01", "agent named Ada"])
def test_texts_of_the_sentence_and_of_the_plan_may_be_entered(value):
    assert judge(control("Name", "textbox"), "fill", value).may


@pytest.mark.parametrize("value", ["Mallory", "Adam", "Cal", "hunter2", "http://evil.example"])
def test_other_texts_are_asked_about(value):
    judged = judge(control("Name", "textbox"), "fill", value)
    assert (judged.may, judged.allow) == (False, "values")
    assert judge(control("Name", "textbox"), "fill", value, allowed=["values"]).may


@pytest.mark.parametrize(
    "field",
    [
        control("Password", "textbox"),
        control("Name", "textbox", type="password"),
        control("Picture", type="file"),
    ],
)
def test_a_secret_or_a_file_is_given_by_a_person_whatever_is_allowed(field):
    for action in ("fill", "click"):
        judged = judge(field, action, "Ada", allowed=["values", "password", "name", "picture"])
        assert (judged.may, judged.allow) == (False, "")


def test_a_press_is_repeated_only_with_a_yes_unless_it_only_leads_on():
    permissions = ActPermissions(SENTENCE, PLAN)
    for label in ("Create agent", "Next"):
        permissions.note_press(control(label), f"{PAGE}?step=1")
    assert permissions.judge(control("Create agent"), "click", None, f"{PAGE}?step=2").allow == "repeats"
    assert permissions.judge(control("Create agent"), "click", None, "http://127.0.0.1/other").may
    assert permissions.judge(control("Next"), "click", None, PAGE).may
    permissions.allow("repeats")
    assert permissions.judge(control("Create agent"), "click", None, PAGE).may


def test_a_press_that_does_harm_is_repeated_only_with_a_yes_of_its_own():
    plan = SentencePlan(controls=["Post comment", "Delete note"], entered=["Ada"])
    for label, danger in (("Post comment", "sends"), ("Delete note", "deletes")):
        permissions = ActPermissions(
            "Post the comment Ada, and delete the note", plan, {}, frozenset({danger})
        )
        assert permissions.judge(control(label), "click", None, PAGE).may
        permissions.note_press(control(label), PAGE)
        judged = permissions.judge(control(label), "click", None, PAGE)
        assert (judged.may, judged.allow) == (False, "repeats")
        assert permissions.judge(control(label), "click", None, "http://127.0.0.1/other").may
        permissions.allow("repeats")
        assert permissions.judge(control(label), "click", None, PAGE).may


def test_a_switch_without_words_is_called_as_the_text_beside_it_and_other_controls_without_words_need_a_yes():
    switch = control("")._replace(near=Neighbours(before="Voice calm"))
    for element in (
        switch._replace(role="switch"),
        switch._replace(attributes={"class": "toggle-switch on"}),
    ):
        assert judge(element).may
        assert not judge(element._replace(near=Neighbours(before="Delete agent"))).may
        assert not judge(element._replace(near=Neighbours(before="Newsletter"))).may
    judged = judge(switch)  # it may be a picture of a bin beside a name
    assert (judged.may, judged.allow) == (False, "Voice calm")
    assert judge(switch, allowed=["voice calm"]).may
    assert not judge(switch._replace(near=Neighbours())).may


def test_a_button_that_only_leads_to_a_secret_may_be_pressed():
    plan = SentencePlan(controls=["Add passkey", "New password"])
    permissions = ActPermissions("Add the passkey Ada", plan)
    assert permissions.judge(control("Add passkey"), "click", None, PAGE).may
    assert not permissions.judge(control("New password", "textbox"), "fill", "Ada", PAGE).may
    assert not permissions.judge(control("Add passkey", type="password"), "click", None, PAGE).may


def test_of_controls_that_are_called_alike_the_one_beside_a_text_of_the_sentence_is_meant():
    plan = SentencePlan(controls=["Disconnect"], gone_when_done=["GitLab"])

    def place(here, *others, allowed=()):
        permissions = ActPermissions("Disconnect the GitLab account", plan, {}, frozenset(allowed))
        return permissions.judge_place("Disconnect", [here], [[each] for each in others])

    assert place("GitLab alex Connected", "GitHub alex Connected").may
    assert place("GitHub alex Connected", "Slack alex Connected").may  # neither is named
    assert place("").may
    wrong = place("GitHub alex Connected", "GitLab alex Connected")
    assert (wrong.may, wrong.allow) == (False, "elsewhere")
    assert place("GitHub alex Connected", "GitLab alex Connected", allowed=["elsewhere"]).may


def test_of_two_entries_of_one_name_the_one_with_more_texts_of_the_sentence_is_meant():
    permissions = ActPermissions("Like the post by 'Kevin' that starts with 'After 6 months'", SentencePlan())
    first, second = ["Kevin", "After 6 months of work"], ["Kevin", "My second week"]
    assert permissions.judge_place("like post", first, [second]).may
    judged = permissions.judge_place("like post", second, [first])
    assert (judged.may, judged.allow) == (False, "elsewhere")
    assert "another one is after 'after 6 months'" in judged.reason
    mentioned = ["Kevin", "Ada told me: After 6 months you know"]
    assert not permissions.judge_place("like post", mentioned, [first]).may
    assert permissions.judge_place("like post", first, [mentioned]).may


def test_another_row_may_have_the_values_that_this_one_is_to_get():
    permissions = ActPermissions("Assign 'Paper jam' to 'Ada' with the status 'In progress'", SentencePlan())
    assert permissions.judge_place(
        "Edit", ["Paper jam", "Bo", "Open"], [["No toner", "Ada", "In progress"]]
    ).may


def test_an_apostrophe_does_not_end_a_text_in_quotes():
    plan = SentencePlan(controls=["Revoke"])
    sentence = "Revoke 'Ruth's phone' of Ben's devices"
    permissions = ActPermissions(sentence, plan)

    def place(here, *others):
        return permissions.judge_place("Revoke", [here], [[each] for each in others])

    assert place("Ruth's phone in use", "Ruth with s phone of Ben").may
    wrong = place("Ruth with s phone of Ben", "Ruth's phone in use")
    assert (wrong.may, wrong.allow) == (False, "elsewhere")


def test_an_entry_whose_title_the_sentence_has_is_meant_whether_or_not_the_plan_says_so():
    """A model's plan had nothing but the comment: it wrote below another post, where the comment then stood."""
    permissions = ActPermissions(
        "Add a comment saying 'Nice' to the Amazon post of 12", SentencePlan(shown_when_done=["Nice"])
    )
    google, amazon, number = ["Google", "Exciting news"], ["Amazon", "Our recap"], ["12", "to"]
    judged = permissions.judge_place("open comments", google, [number, amazon])
    assert (judged.may, judged.allow) == (False, "elsewhere")
    assert permissions.judge_place("open comments", amazon, [number, google]).may
    assert permissions.judge_place("open comments", google, [number]).may


def test_of_two_entries_the_one_with_more_plain_words_of_the_sentence_is_meant():
    """A model wrote the comment below the first post, where it then stood: no text of the sentence is a card's whole text."""
    permissions = ActPermissions(
        "Add an anonymous comment saying 'How selective is it?' to the McKinsey post about their campus presentation at Stanford.",
        SentencePlan(controls=["open comments", "Post anonymously", "Comment"], shown_when_done=["How selective is it?"]),
    )  # fmt: skip
    google = ["Google", "1d ago", "Exciting news! We are expanding our internship program. Post yours"]
    kim = ["Rachel Kim", "Stanford University", "Intro post"]
    meant = ["McKinsey & Company", "Join our campus presentation at Stanford on March 15th"]
    for other in (google, kim):
        judged = permissions.judge_place("open comments", other, [kim, meant, google])
        assert (judged.may, judged.allow) == (False, "elsewhere")
        assert permissions.judge_place("open comments", meant, [other]).may
    assert permissions.judge_place("open comments", google, [["Amazon", "Post of the day: comments"]]).may


def test_what_a_press_opened_may_be_called_like_it_and_what_sent_something_is_not_pressed_again():
    for sent in (True, False):
        permissions = ActPermissions(SENTENCE, PLAN)
        permissions.note_press(control("Voices"), PAGE, sent=sent, known=8)
        judged = [
            permissions.judge(control("Voices"), "click", None, PAGE, number=each) for each in (3, 8, 9)
        ]
        assert [each.may for each in judged] == [False, False, not sent]
        assert judged[0].allow == "repeats"


@pytest.mark.parametrize(
    ("label", "around", "allow"),
    [
        ("OK", PressSurroundings(dialog="Delete your account?"), "deletes"),
        ("Confirm", PressSurroundings(dialog="Please note: this removes all vessels."), "deletes"),
        ("Save", PressSurroundings(action="/vessels/delete", method="post"), "deletes"),
        ("New", PressSurroundings(action="/vessels/3", method="delete"), "deletes"),
        ("Next", PressSurroundings(title="Deletes your account"), "deletes"),
        ("Create agent", PressSurroundings(title="Deletes your account"), "deletes"),
        ("Go on", PressSurroundings(action="/users/3", method="post", deed="retire"), "deletes"),
        ("Next", PressSurroundings(dialog="You will pay now 900 EUR"), "pays"),
        ("Next", PressSurroundings(layers="Boats\nDelete your account?"), "deletes"),
        ("OK", PressSurroundings(layers="Publish the page?"), "sends"),
        ("Next", PressSurroundings(layers="You will pay now 900 EUR"), "pays"),
        ("Next", PressSurroundings(described="Deletes everything"), "deletes"),
    ],
)
def test_what_does_harm_by_its_form_title_or_dialog_needs_a_yes(label, around, allow):
    def judge_within(*allowed):
        return ActPermissions(SENTENCE, PLAN, {}, frozenset(allowed)).judge(
            control(label), "click", None, PAGE, around
        )

    judged = judge_within()
    assert (judged.may, judged.allow) == (False, allow)
    assert judge_within(allow).may


@pytest.mark.parametrize(
    "around",
    [
        PressSurroundings(dialog="New agent. Name and voice are shown to everybody."),
        PressSurroundings(action="/agents", method="post", title="Create the agent"),
        PressSurroundings(method="dialog"),
        PressSurroundings(layers="Edit post Title Body\nOrder 12 Payment terms"),
    ],
)
def test_harmless_surroundings_ask_nothing(around):
    assert ActPermissions(SENTENCE, PLAN).judge(control("Save"), "click", None, PAGE, around).may


def test_a_dialog_that_calls_by_a_name_what_the_sentence_calls_so_asks_nothing():
    plan = SentencePlan(name="put on shelf", controls=("Add to shelf", "Summer holidays"))
    around = PressSurroundings(dialog="Book Details Fog Signals Book 3 of Language: English")

    def judge(sentence: str):
        return ActPermissions(sentence, plan).judge(control("Add to shelf"), "click", None, PAGE, around)

    assert judge('Put the book "Fog Signals" on the shelf "Summer holidays"').may
    assert judge('Put "the book" on the shelf "Summer holidays"').allow == "pays"
    assert judge('Book a room, and put it on the shelf "Summer holidays"').allow == "pays"


@pytest.mark.parametrize("label", ["Cancel", "Close", "Back", "No, keep it"])
def test_what_leaves_a_dialog_that_deletes_does_no_harm(label):
    asking = PressSurroundings(dialog="Delete your account?")
    assert find_harm_around(label, asking) is None
    assert find_harm_around("Yes, I am sure", asking) is not None


@pytest.mark.parametrize(
    ("label", "action", "value", "allow"),
    [
        ("Action", "select_option", "Delete selected agents", "deletes"),
        ("Aktion", "select_option", "Agenten löschen", "deletes"),
        ("Next step", "select_option", "Pay now", "pays"),
        ("Delete everything", "select_option", "Calm", "deletes"),
        ("Delete all data", "check", None, "deletes"),
    ],
)
def test_an_option_or_a_box_that_does_harm_by_its_words_needs_a_yes_whatever_the_sentence_says(
    label, action, value, allow
):
    told = f"{SENTENCE}, {label}: {value}"
    for allowed, may in (((), False), (("values",), False), ((allow,), True), ((label.casefold(),), True)):
        judged = ActPermissions(told, PLAN, {}, frozenset(allowed)).judge(
            control(label, role="combobox"), action, value, PAGE
        )
        assert judged.may is may
        assert judged.allow == ("" if may else allow)


@pytest.mark.parametrize(
    ("label", "action", "value"),
    [
        ("Send me news", "check", None),
        ("Delete all data", "uncheck", None),
        ("Voice", "select_option", "Calm"),
        ("Reason", "fill", "Delete all data"),
    ],
)
def test_settings_texts_and_other_options_of_the_sentence_ask_nothing(label, action, value):
    told = f"{SENTENCE}, {label}: {value}"
    assert ActPermissions(told, PLAN).judge(control(label, role="combobox"), action, value, PAGE).may


def entry(*lines, role=None, tag="div"):
    text = " ".join(lines)
    element = control("", role)._replace(tag=tag, name=text, text=text, clickable=True)
    return element, ControlCard(None, (), lines)


@pytest.mark.parametrize(
    ("lines", "role", "tag", "may"),
    [
        (("AM", "Ada", "Speaks German"), None, "div", True),
        (("New agent", "Costs a licence"), "link", "a", True),
        (("AM", "Ada Lovelace", "Speaks German"), None, "div", False),
        (("Ada", "Speaks German"), "button", "button", False),
        (("Ada", "Speaks German"), None, "button", False),
        (("Ada", "Speaks German"), "button", "div", False),
        (("Ada speaks German",), None, "div", False),
        (("Ada", "Delete it"), None, "div", False),
        (("7", "Speaks German"), None, "div", False),
        (("New", "Speaks German"), None, "div", False),
    ],
)
def test_an_entry_of_several_lines_is_named_by_one_of_them_and_a_button_by_all_its_words(
    lines, role, tag, may
):
    element, card = entry(*lines, role=role, tag=tag)
    assert ActPermissions(SENTENCE, PLAN).judge(element, "click", None, PAGE, card=card).may is may


@pytest.mark.parametrize(
    ("deed", "may"), [("createAgent", True), ("shareAgent", False), ("deleteAgent", False)]
)
def test_an_icon_is_judged_by_what_the_markup_calls_it(deed, may):
    icon = control("", data_action=deed)._replace(icon="drawing 3905499673")
    assert judge(icon).may is may


def test_what_is_deleted_is_what_the_sentence_names_though_deleting_is_allowed():
    sentence = 'Delete the message "Your weekly call summary" from the inbox'
    permissions = ActPermissions(sentence, SentencePlan(), {}, frozenset({"deletes"}))
    meant, other = "Delete message: Your weekly call summary", "Delete message: Hindi pronunciation notes"
    assert permissions.judge_name(meant, [other]).may
    judged = permissions.judge_name(other, [meant])
    assert not judged.may
    assert judged.allow == "elsewhere"
    assert permissions.judge_name("Delete message", [other]).may


@pytest.mark.parametrize(
    ("pressed", "may"),
    [
        ("Delete message: Your weekly call summary", True),
        ("Delete message: Spanish greeting for the renewals line", False),
        ("Yes, delete it permanently", True),
        ("Delete", True),
    ],
)
def test_whoever_allows_deleting_means_what_the_plan_names(pressed: str, may: bool):
    plan = SentencePlan(controls=["Inbox", "Delete message: Your weekly call summary"])
    sentence = 'Delete the message "Your weekly call summary" from the inbox'
    permissions = ActPermissions(sentence, plan, {}, frozenset({"deletes"}))
    assert permissions.judge(control(pressed), "click", None, PAGE).may is may
