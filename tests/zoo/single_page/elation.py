"""Jobs of the patient communication (elation-patient-communication).

UNVERIFIABLE: task_17 (nothing in the interface opts a patient in: "Request Opt-In" only shows a message).
UNVERIFIABLE: task_29, task_30 (the search for a patient in "New Appointment" finds nobody: it does not listen).
UNVERIFIABLE: task_41 (saving the alert times keeps the first provider's only; the others are reset while it saves).
"""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.single_page.benchmark import benchmark_job, single_page_application
from tests.zoo.zoo_jobs import Given

NAME = "elation-patient-communication"
_LEVELS = {
    "1": "Objective Data Only",
    "2": "Objective Data & Problem List",
    "3": "Clinical Profile, excludes Confidential",
    "4": "Clinical Profile, Expanded Summary",
}
_NOW = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z")
"""A time that the page took from its clock; the seed's times have no milliseconds."""


def _normalize(state: Any) -> Any:
    """Remove the times of changes, generated codes, and the order in which two pages sort their lists."""
    state = _without_clock(state)
    for name in ("reminders", "bulkLetters"):
        state[name] = sorted(state[name], key=lambda each: each["id"])
    return state


def _without_clock(state: Any) -> Any:
    if isinstance(state, dict):
        cleaned = {name: _without_clock(each) for name, each in state.items()}
        return cleaned | {"invitationCode": "new"} if cleaned.get("invitedAt") == "now" else cleaned
    if isinstance(state, list):
        return [_without_clock(each) for each in state]
    return "now" if isinstance(state, str) and _NOW.fullmatch(state) else state


async def _go_to(page: Page, name: str) -> None:
    await page.locator("#sidebarNav").get_by_text(name, exact=True).click()
    await page.locator(".page-title").get_by_text(name, exact=True).wait_for()


async def _open_settings(page: Page, tab: str, noise: Noise) -> None:
    await _go_to(page, "Settings")
    await page.locator(".settings-tabs").get_by_text(tab, exact=True).click()
    await page.locator(".settings-tab.active").get_by_text(tab, exact=True).wait_for()
    await noise.wander()


async def _find_patient(page: Page, patient: str, noise: Noise) -> Locator:
    """Search the open list of patients; return the link with the name."""
    await noise.retype("#patientSearch", patient)
    first, last = patient.split(" ", 1)
    return page.get_by_text(f"{last}, {first}", exact=True)


async def _open_patient(page: Page, patient: str, noise: Noise) -> None:
    await _go_to(page, "Patients")
    link = await _find_patient(page, patient, noise)
    await noise.wander()
    await link.click()
    await page.get_by_test_id("patient-detail").get_by_role("heading", name=patient, exact=True).wait_for()


async def _open_passport(page: Page, patient: str, noise: Noise) -> None:
    await _open_patient(page, patient, noise)
    await page.get_by_title("Passport Settings").click()


async def _open_letter(page: Page, patient: str, noise: Noise, *, unread: bool = False) -> None:
    await _go_to(page, "Patient Letters")
    sender = page.get_by_text(patient, exact=True)
    letters = page.get_by_test_id("inbox-page").locator(".letter-item.unread" if unread else ".letter-item")
    await letters.filter(has=sender).first.click()
    await page.get_by_text(f"with {patient}", exact=True).wait_for()
    await noise.wander()


async def _confirm(page: Page) -> None:
    await _dialog(page).get_by_role("button", name="Confirm").click()


def _dialog(page: Page) -> Locator:
    return page.locator("#modalOverlay")


async def _choose(page: Page, menu: str, option: str) -> None:
    await page.locator(f"#{menu} .dropdown-trigger").click()
    await page.locator(f"#{menu}-menu").get_by_text(option, exact=True).click()


def _removable(name: str) -> re.Pattern[str]:
    return re.compile(f"^{re.escape(name)}\N{MULTIPLICATION SIGN}$")


def _row(page: Page, name: str) -> Locator:
    return page.locator(".settings-section tr").filter(has=page.get_by_text(name, exact=True))


def _provider_card(page: Page, provider: str) -> Locator:
    return page.locator(".telehealth-provider-card").filter(has=page.get_by_text(provider, exact=True))


async def read_message(page: Page, given: Given, noise: Noise) -> None:
    await _open_letter(page, given["patient"], noise, unread=True)


async def reply_to_conversation(page: Page, given: Given, noise: Noise) -> None:
    await _open_letter(page, given["patient"], noise)
    await noise.type("#replyBody", given["reply"])
    await page.get_by_role("button", name="Reply", exact=True).click()


async def end_conversation(page: Page, given: Given, noise: Noise) -> None:
    await _open_letter(page, given["patient"], noise)
    await page.get_by_role("button", name="Sign Off & End Conversation").click()
    await _confirm(page)


async def _write_letter(page: Page, given: Given, noise: Noise) -> None:
    await _go_to(page, "Patient Letters")
    await page.get_by_role("button", name="New Letter").click()
    await noise.type("#composeTo", given["patient"])
    name = re.compile(rf"^{re.escape(given['patient'])} \S+$")
    await page.locator("#patientSuggestions .suggestion-item").filter(has_text=name).click()
    await noise.type("#composeSubject", given["subject"])
    await noise.type("#composeBody", given["body"])


async def send_letter(page: Page, given: Given, noise: Noise) -> None:
    await _write_letter(page, given, noise)
    await page.get_by_role("button", name="Sign & Send").click()


async def send_letter_without_response(page: Page, given: Given, noise: Noise) -> None:
    await _write_letter(page, given, noise)
    await page.get_by_text("Do not allow patient to respond", exact=True).click()
    await page.get_by_role("button", name="Sign & Send").click()


async def delete_draft(page: Page, given: Given, noise: Noise) -> None:
    await _go_to(page, "Drafts")
    await noise.wander()
    draft = page.locator(".letter-item.draft", has_text="To: Martha Reeves-Whitfield")
    await draft.get_by_role("button", name="Delete").click()
    await _confirm(page)


async def send_draft(page: Page, given: Given, noise: Noise) -> None:
    await _go_to(page, "Drafts")
    await noise.wander()
    await page.get_by_text("To: Martha Reeves-Whitfield", exact=True).click()
    await page.get_by_role("button", name="Sign & Send").click()


async def add_tag(page: Page, given: Given, noise: Noise) -> None:
    await _open_patient(page, given["patient"], noise)
    await page.get_by_role("button", name="+ Add Tag").click()
    await _dialog(page).get_by_role("button", name=given["tag"], exact=True).click()


async def remove_tag(page: Page, given: Given, noise: Noise) -> None:
    await _open_patient(page, given["patient"], noise)
    tag = page.locator(".tags-list .tag").filter(has_text=_removable(given["tag"]))
    await tag.locator(".tag-remove").click()


async def opt_out_of_sms(page: Page, given: Given, noise: Noise) -> None:
    await _open_patient(page, given["patient"], noise)
    await page.get_by_role("button", name="Opt Out of SMS").click()


async def change_email(page: Page, given: Given, noise: Noise) -> None:
    await _open_passport(page, given["patient"], noise)
    await noise.retype("#passportEmail", given["email"])
    await page.get_by_role("button", name="Send Invitation & Close", exact=True).click()


async def change_cell_phone(page: Page, given: Given, noise: Noise) -> None:
    await _open_passport(page, given["patient"], noise)
    await noise.retype("#passportPhone", given["phone"])
    await page.get_by_role("button", name="Save Settings Changes & Close").click()


async def add_emergency_contact(page: Page, given: Given, noise: Noise) -> None:
    await _open_patient(page, given["patient"], noise)
    await page.get_by_role("button", name="+ Add Emergency Contact").click()
    for name in ("name", "phone", "relationship"):
        await noise.type(f"#ec-{name}", given[name])
    await _dialog(page).get_by_role("button", name="Save").click()


async def invite_to_passport(page: Page, given: Given, noise: Noise) -> None:
    await _open_passport(page, given["patient"], noise)
    await page.get_by_role("button", name="Send Invitation & Close", exact=True).click()


async def resend_invitation(page: Page, given: Given, noise: Noise) -> None:
    await _open_patient(page, given["patient"], noise)
    await page.get_by_role("button", name="Re-send Invitation").click()


async def disable_passport(page: Page, given: Given, noise: Noise) -> None:
    await _open_patient(page, given["patient"], noise)
    await page.get_by_role("button", name="Disable Passport Account").click()
    await _confirm(page)


async def change_sharing_level(page: Page, given: Given, noise: Noise) -> None:
    await _open_passport(page, given["patient"], noise)
    await _choose(page, "passportSharingLevel", given["level"])
    await page.get_by_role("button", name="Save Settings Changes & Close").click()


async def cancel_appointment(page: Page, given: Given, noise: Noise) -> None:
    await _go_to(page, "Appointments")
    await noise.wander()
    row = page.locator(".appointments-table tr").filter(has=page.get_by_text(given["patient"], exact=True))
    await row.filter(has_text=given["reason"]).get_by_role("button", name="Cancel").click()
    await _confirm(page)


async def acknowledge_reminder(page: Page, given: Given, noise: Noise) -> None:
    await _go_to(page, "Reminders")
    await noise.wander()
    reminder = page.locator(".reminder-item").filter(has_text=re.compile(rf"{re.escape(given['patient'])} "))
    await reminder.get_by_role("button", name="Acknowledge").click()


async def change_sharing_default(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "User Settings", noise)
    await _choose(page, "sharingDefault", given["level"])
    await page.get_by_role("button", name="Save Changes").click()


async def change_own_alert_time(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "User Settings", noise)
    await _choose(page, "notificationTimeframe", given["time"])
    await page.get_by_role("button", name="Save Changes").click()


async def turn_off_setting(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, given["tab"], noise)
    row = page.locator(".toggle-row").filter(has=page.get_by_text(given["setting"], exact=True))
    await row.locator(".toggle-slider").click()
    await page.get_by_role("button", name="Save Changes").click()


async def _open_routing(page: Page, provider: str, noise: Noise) -> None:
    await _open_settings(page, "Message Routing", noise)
    await page.locator("#routingProvider .dropdown-trigger").click()
    option = page.locator("#routingProvider-menu .dropdown-item")
    await option.filter(has_text=re.compile(rf"^{re.escape(provider)} \(")).click()


async def add_message_recipient(page: Page, given: Given, noise: Noise) -> None:
    await _open_routing(page, given["provider"], noise)
    await _row(page, given["category"]).get_by_role("button", name="+ Add").click()
    option = page.locator(".recipient-option").filter(has=page.get_by_text(given["recipient"], exact=True))
    await option.get_by_role("button", name="Add").click()
    await page.get_by_role("button", name="Close", exact=True).click()


async def remove_message_recipient(page: Page, given: Given, noise: Noise) -> None:
    await _open_routing(page, given["provider"], noise)
    recipient = _row(page, given["category"]).locator(".routing-recipient")
    await recipient.filter(has_text=_removable(given["recipient"])).locator(".remove-recipient").click()


async def activate_virtual_visits(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "Telehealth", noise)
    await _provider_card(page, given["provider"]).get_by_role("button", name="Activate", exact=True).click()
    await noise.type("#telehealthInstructions", given["instructions"])
    await page.get_by_role("button", name="Save Instructions").click()


async def deactivate_virtual_visits(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "Telehealth", noise)
    await _provider_card(page, given["provider"]).get_by_role("button", name="Deactivate").click()
    await _confirm(page)


async def change_visit_instructions(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "Telehealth", noise)
    await _provider_card(page, given["provider"]).get_by_role("button", name="Edit Instructions").click()
    await noise.retype("#telehealthInstructions", given["instructions"])
    await page.get_by_role("button", name="Save Instructions").click()


async def change_chat_mode(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "Telehealth", noise)
    await _choose(page, "chatMode", given["mode"])
    await page.get_by_role("button", name="Save Changes").click()


async def add_location(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "Practice Locations", noise)
    await page.get_by_role("button", name="+ Add Practice Location").click()
    await noise.type("#locName", given["name"])
    await noise.type("#locAddress", given["address"])
    await noise.type("#locPosCode", given["code"])
    await noise.type("#locPosDesc", given["description"])
    await _dialog(page).get_by_role("button", name="Save").click()


async def remove_location(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "Practice Locations", noise)
    await _row(page, given["location"]).get_by_role("button", name="Remove").click()
    await _confirm(page)


async def rename_location(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "Practice Locations", noise)
    await _row(page, given["location"]).get_by_role("button", name="Edit").click()
    await noise.retype("#locName", given["name"])
    await _dialog(page).get_by_role("button", name="Save").click()


async def add_cpt_code(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "Billing Codes", noise)
    await page.get_by_role("button", name="+ Add CPT Code").click()
    await noise.type("#cptCode", given["code"])
    await noise.type("#cptDescription", given["description"])
    await _dialog(page).get_by_role("button", name="Add Code").click()


async def remove_cpt_code(page: Page, given: Given, noise: Noise) -> None:
    await _open_settings(page, "Billing Codes", noise)
    await _row(page, given["code"]).get_by_role("button", name="Remove").click()
    await _confirm(page)


async def send_bulk_letter(page: Page, given: Given, noise: Noise) -> None:
    await _go_to(page, "Patients")
    for patient in (given["first"], given["second"]):
        link = await _find_patient(page, patient, noise)
        await page.locator(".patient-row").filter(has=link).get_by_role("checkbox").click()
    await noise.wander()
    await page.locator(".bulk-actions").get_by_role("button", name="Send Bulk Letter").click()
    await noise.type("#bulkDescription", given["description"])
    await noise.type("#bulkSubject", given["subject"])
    await noise.type("#bulkBody", given["body"])
    await page.get_by_text("Allow patients to respond", exact=True).click()
    await _dialog(page).get_by_role("button", name="Send Bulk Letter").click()


def _patients(*names: str) -> list[Given]:
    return [{"patient": each} for each in names]


def _values(names: str, *rows: tuple[str, ...]) -> list[Given]:
    """Return instances: the names of the values, and the values of each."""
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


def _sharing(patient: str, old: str, new: str) -> Given:
    level = f"Level {new}: {_LEVELS[new]}"
    return {"patient": patient, "old": old, "new": new, "name": _LEVELS[new], "level": level}


def _default(new: str) -> Given:
    return {"new": new, "name": _LEVELS[new], "level": f"Level {new}: {_LEVELS[new]}"}


_NOBODY = _patients("Walter Quimby", "Ingrid Solberg")

JOBS = [
    benchmark_job(
        NAME, "read_message", read_message,
        [
            "Mark {patient}'s unread message about {topic} as read. The message is in the Patient Letters inbox.",
            "Mark {patient}'s unread {topic} message as read in the Patient Letters inbox.",
        ],
        own=_values(
            "patient topic",
            ("Raymond Copeland", "increased thirst and urination"),
            ("Christine Lee", "trouble sleeping"),
            ("Diane Foster-Hutchinson", "a new allergist"),
            ("Barbara Andersen", "her blood work"),
        ),
        missing=_values(
            "patient topic", ("Walter Quimby", "a sore knee"), ("James Rodriguez", "a sprained ankle")
        ),
    ),
    benchmark_job(
        NAME, "reply_to_conversation", reply_to_conversation,
        [
            "Reply to {patient}'s {topic} conversation. Send a reply saying '{reply}'",
            "Reply to {patient}'s conversation where he asked about {topic}. Send a reply saying '{reply}'",
        ],
        own=_values(
            "patient topic reply",
            ("Kevin Adebayo", "billing question", "The claim was sent again. You owe $25 for the visit."),
            ("Maria Gonzalez", "diet", "Sí, señora González: menos azúcar y más verduras. ¡Siga así!"),
            ("Frank DeLuca", "general question", "Let's wait a week; don't change the dose on your own."),
            ("Catherine Morales", "thyroid", 'Take it before breakfast, and yes, keep the "Vitamin D" too.'),
        ),
        missing=_values(
            "patient topic reply",
            ("Walter Quimby", "billing question", "Please call the front desk."),
            ("Ingrid Solberg", "referral request", "The referral is on its way."),
        ),
    ),
    benchmark_job(
        NAME, "end_conversation", end_conversation,
        [
            "End (sign off) the conversation with {patient} about {topic}.",
            ("End (sign off) the conversation with {patient} about {topic}. "
            "The conversation subject starts with 'Resultados de laboratorio'."),
        ],
        given={"task_5": {"patient": "Maria Gonzalez", "topic": "her lab results and diet questions"}},
        own=_values(
            "patient topic",
            ("Frank DeLuca", "his PSA test results"),
            ("Kevin Adebayo", "his billing question"),
            ("Catherine Morales", "her thyroid function"),
            ("Janet Okonkwo", "her blood sugar"),
        ),
        missing=_values(
            "patient topic", ("Walter Quimby", "his sore knee"), ("Ingrid Solberg", "her new glasses")
        ),
    ),
    benchmark_job(
        NAME, "send_letter", send_letter,
        ["Compose and send a new letter to {patient} with the subject '{subject}' and the body '{body}'"],
        own=_values(
            "patient subject body",
            ("Derek Hansen", "Vaccination Record", "Hi Derek, please bring your vaccination record next time."),
            ("Olivia Chen", "New Office Hours", "We open at 7 AM on Mondays from next month on."),
            ("Patricia O'Brien", 'Podiatry "foot check"', "Dear Mrs. O'Brien, it's time for your foot check."),
            ("Maria Gonzalez", "Próxima cita", "Estimada María: su próxima cita será el lunes a las 9. ¡Saludos!"),
        ),
        missing=_values(
            "patient subject body",
            ("Walter Quimby", "Sore Knee", "Please rest the knee for a week."),
            ("Ingrid Solberg", "New Glasses", "Your new glasses have arrived."),
        ),
        action="create",
    ),
    benchmark_job(
        NAME, "send_letter_without_response", send_letter_without_response,
        [
            ("Compose and send a new letter to {patient} with the subject '{subject}' and the body '{body}' "
            "Enable the 'do not allow patient to respond' option."),
        ],
        own=_values(
            "patient subject body",
            ("Jason Liu", "Parking at the Clinic", "The lot behind the clinic is closed until Friday."),
            ("Susan Cho", "Phone Lines Down", "Our phones do not work today. Please write to us."),
            ("Michelle O'Connor", 'Your "Welcome" Form', "We've received your form; there's nothing else to do."),
            ("Lauren Dubois", "Fermé à Noël", "Le cabinet sera fermé du 24 au 26 décembre. À bientôt!"),
        ),
        missing=_values(
            "patient subject body",
            ("Walter Quimby", "Parking at the Clinic", "The lot is closed."),
            ("Ingrid Solberg", "Phone Lines Down", "Our phones do not work today."),
        ),
        action="create",
    ),
    benchmark_job(  # the seed has one draft
        NAME, "delete_draft", delete_draft,
        [
            ("Delete the draft letter that was being composed for Martha Reeves-Whitfield "
            "about her annual wellness visit summary."),
        ],
        own=[{}, {}, {}, {}],
        action="delete",
    ),
    benchmark_job(  # the seed has one draft
        NAME, "send_draft", send_draft,
        [
            ("Send the existing draft letter to Martha Reeves-Whitfield. "
            "The draft is about her annual wellness visit summary."),
        ],
        own=[{}, {}, {}, {}],
    ),
    benchmark_job(
        NAME, "add_tag", add_tag, ["Add the '{tag}' tag to patient {patient}."],
        own=_values(
            "tag patient",
            ("Telehealth Preferred", "Patricia O'Brien"), ("Mental Health", "Jason Liu"),
            ("Inactive", "Douglas Fitzgerald"),
        ),
        missing=_values("tag patient", ("VIP", "Walter Quimby"), ("Night Shift", "Jason Liu")),
    ),
    benchmark_job(
        NAME, "remove_tag", remove_tag, ["Remove the '{tag}' tag from {patient}'s patient profile."],
        own=_values(
            "tag patient",
            ("Mental Health", "Rachel Steinberg"), ("VIP", "Patricia O'Brien"), ("Geriatric", "Frank DeLuca"),
            ("Insurance Pending", "Victor Santos"),
        ),
        missing=_values("tag patient", ("VIP", "Walter Quimby"), ("Pediatric", "Frank DeLuca")),
    ),
    benchmark_job(
        NAME, "opt_out_of_sms", opt_out_of_sms,
        [
            ("Change {patient}'s SMS opt-in status to opted out. "
            "Navigate to {whose} patient profile to make this change."),
        ],
        own=_values(
            "patient whose",
            ("Helen Matsumoto", "her"), ("Derek Hansen", "his"), ("Patricia O'Brien", "her"),
            ("Philip Tran", "his"),
        ),
        missing=_values("patient whose", ("Walter Quimby", "his"), ("Ingrid Solberg", "her")),
    ),
    benchmark_job(  # for a patient without Passport, the e-mail address is only saved with an invitation
        NAME, "change_email", change_email,
        ["Update {patient}'s email address to '{email}' in his patient profile."],
        own=_values(
            "patient email",
            ("Victor Santos", "victor@santos.example"), ("Craig Bennet", "craig.bennet+clinic@gmail.com"),
            ("Jason Liu", "jason@liu-family.org"), ("Anthony Petrov", "anthony.o'petrov@post.example"),
        ),
        missing=_values(
            "patient email", ("Walter Quimby", "walter@quimby.example"), ("Oscar Lindqvist", "oscar@post.example")
        ),
    ),
    benchmark_job(
        NAME, "change_cell_phone", change_cell_phone,
        ["Update {patient}'s cell phone number to '{phone}' in her patient profile."],
        own=_values(
            "patient phone",
            ("Susan Cho", "(415) 555-7001"), ("Olivia Chen", "(650) 555-7002"),
            ("Patricia O'Brien", "+1 415 555 7003"), ("Deborah Takahashi", "510.555.7004"),
        ),
        missing=_values(
            "patient phone", ("Ingrid Solberg", "(415) 555-7005"), ("Greta Holm", "(415) 555-7006")
        ),
    ),
    benchmark_job(
        NAME, "add_emergency_contact", add_emergency_contact,
        [
            ("Add an emergency contact for {patient} with name '{name}', phone '{phone}', "
            "and relationship '{relationship}'."),
        ],
        own=_values(
            "patient name phone relationship",
            ("Priya Sharma", "Arun Sharma", "(415) 555-7101", "Brother"),
            ("Derek Hansen", "Lena Hansen", "(510) 555-7102", "Mother"),
            ("Lauren Dubois", "Zoë Dubois-Lefèvre", "(415) 555-7103", "Sister"),
            ("Michelle O'Connor", "Sean \"Mac\" O'Connor", "(415) 555-7104", "Father's cousin"),
        ),
        missing=_values(
            "patient name phone relationship",
            ("Walter Quimby", "Ada Quimby", "(415) 555-7105", "Wife"),
            ("Ingrid Solberg", "Nils Solberg", "(415) 555-7106", "Husband"),
        ),
        action="create",
    ),
    benchmark_job(
        NAME, "invite_to_passport", invite_to_passport,
        [
            "Send a Patient Passport invitation to {patient}. {who} has not been invited yet.",
        ],
        own=_values("patient who", ("Victor Santos", "He"), ("Craig Bennet", "He"), ("Jason Liu", "He")),
        missing=_values("patient who", ("Walter Quimby", "He"), ("Ingrid Solberg", "She")),
    ),
    benchmark_job(
        NAME, "resend_invitation", resend_invitation,
        [
            ("Resend the Patient Passport invitation to {patient}. "
            "{who} was previously invited but has not registered."),
        ],
        own=_values(
            "patient who",
            ("Stephanie Rivera", "She"), ("George Kowalski", "He"), ("Michelle O'Connor", "She"),
            ("Tyler Robinson", "He"),
        ),
        missing=_values("patient who", ("Walter Quimby", "He"), ("Ingrid Solberg", "She")),
    ),
    benchmark_job(
        NAME, "disable_passport", disable_passport, ["Disable the Patient Passport account for {patient}."],
        own=_patients("James Rodriguez", "Alice Johansson", "Patricia O'Brien", "Diane Foster-Hutchinson"),
        missing=_NOBODY,
    ),
    benchmark_job(  # the page sends two states at once when it saves; now and then the server keeps the older one
        NAME, "change_sharing_level", change_sharing_level,
        ["Change the Passport sharing level for {patient} from level {old} to level {new} ({name})."],
        given={
            "task_27": _sharing("James Rodriguez", "3", "4"), "task_28": _sharing("Helen Matsumoto", "3", "1"),
        },
        own=[
            _sharing("Emily Thompson", "2", "3"), _sharing("Patricia O'Brien", "4", "2"),
            _sharing("Derek Hansen", "1", "4"), _sharing("Linda Garcia", "3", "1"),
        ],
        missing=[_sharing("Walter Quimby", "2", "3"), _sharing("Ingrid Solberg", "3", "1")],
    ),
    benchmark_job(
        NAME, "cancel_appointment", cancel_appointment,
        [
            "Cancel {patient}'s upcoming appointment for {reason}.",
            "Cancel {patient}'s upcoming virtual appointment for her {reason}.",
        ],
        given={"task_31": {"patient": "Thomas Nakamura", "reason": "cardiac monitoring"}},
        own=_values(
            "patient reason",
            ("Rachel Steinberg", "medication review"), ("Patricia O'Brien", "kidney function labs review"),
            ("Howard Blackwell", "CHF management review"),
            ("Martha Reeves-Whitfield", "annual wellness visit follow-up"),
        ),
        missing=_values(
            "patient reason", ("Walter Quimby", "sore knee"), ("Rachel Steinberg", "cardiac monitoring")
        ),
        action="delete",
    ),
    benchmark_job(
        NAME, "acknowledge_reminder", acknowledge_reminder,
        [
            "Go to the Reminders page and acknowledge the appointment reminder for {patient}'s {reason}.",
            "Go to the Reminders page and acknowledge the unread alert reminder about {patient} {reason}.",
            "Go to the Reminders page and acknowledge the passport invitation reminder for {patient} who {reason}.",
        ],
        given={"task_34": {"patient": "Maria Gonzalez", "reason": "not having read her lab results letter"}},
        own=_values("patient reason", ("Sophia Nguyen", "thyroid check-up")),
        missing=_values("patient reason", ("Walter Quimby", "sore knee visit"), ("Olivia Chen", "eye test")),
    ),
    benchmark_job(  # three levels are not the current one; the others repeat them
        NAME, "change_sharing_default", change_sharing_default,
        [
            ("In the User Settings, change Dr. Sarah Chen's clinical profile sharing default "
            "from level 2 to level {new} ({name})."),
        ],
        given={"task_39": _default("3")},
        own=[_default(each) for each in ("1", "4", "3", "1")],
    ),
    benchmark_job(
        NAME, "change_own_alert_time", change_own_alert_time,
        [
            ("In the User Settings, change Dr. Sarah Chen's unread letter notification timeframe "
            "from 48 hours to {time}."),
        ],
        own=[{"time": each} for each in ("24 hours", "1 week", "2 weeks", "Do not notify me")],
        missing=[{"time": "3 days"}, {"time": "1 month"}],
    ),
    benchmark_job(  # the seed has four such settings
        NAME, "turn_off_setting", turn_off_setting,
        ["In the {tab}, disable the '{setting}' option."],
        given={
            "task_42": {"tab": "Admin Settings", "setting": "Allow patients to send messages to the practice"},
            "task_43": {"tab": "Admin Settings", "setting": "Auto-invite patients to Passport after online booking"},
            "task_50": {"tab": "Telehealth", "setting": "Allow patient screen sharing"},
            "task_51": {"tab": "Telehealth", "setting": "Waiting room audio notification"},
        },
        missing=_values("tab setting", ("Telehealth", "Record every visit"), ("Admin Settings", "Play hold music")),
    ),
    benchmark_job(
        NAME, "add_message_recipient", add_message_recipient,
        [
            ("In the Message Routing settings, update Dr. {provider}'s routing so that '{category}' messages "
            "are also routed to the '{recipient}' group, in addition to the existing recipients."),
        ],
        own=_values(
            "provider category recipient",
            ("Michael Torres", "Billing Question", "All Providers"), ("Jessica Okafor", "Other", "Nurses"),
            ("Amanda Wright", "Referral Request", "Front Desk"), ("Sarah Chen", "Other", "All Providers"),
        ),
        missing=_values(
            "provider category recipient",
            ("Gregory House", "Other", "Nurses"), ("Michael Torres", "Other", "Night Shift"),
        ),
    ),
    benchmark_job(
        NAME, "remove_message_recipient", remove_message_recipient,
        [
            ("In the Message Routing settings, update Dr. {provider}'s routing so that '{category}' messages "
            "are no longer routed to '{recipient}'."),
        ],
        given={
            "task_45": {"provider": "Michael Torres", "category": "General Question", "recipient": "Front Desk"},
        },
        own=_values(
            "provider category recipient",
            ("Amanda Wright", "Prescription Refill", "Michael Torres"), ("Sarah Chen", "Test Results", "Sarah Chen"),
            ("Robert Kim", "Billing Question", "Front Desk"), ("Jessica Okafor", "Prescription Refill", "Sarah Chen"),
        ),
        missing=_values(
            "provider category recipient",
            ("Robert Kim", "Test Results", "Front Desk"), ("Gregory House", "Other", "Front Desk"),
        ),
    ),
    benchmark_job(  # two providers have no virtual visits
        NAME, "activate_virtual_visits", activate_virtual_visits,
        [
            ("In the Telehealth settings, activate virtual visits for {provider} and set her virtual visit "
            "instructions to '{instructions}'"),
        ],
        own=_values(
            "provider instructions",
            ("Amanda Wright", "Open https://meet.example/wright five minutes early."),
            ("Jessica Okafor", "Call the front desk first; they send you the link."),
            ("Amanda Wright", "Don't join from a car. Choose \"Join as guest\" and wait."),
            ("Jessica Okafor", "Únase en https://meet.example/okafor con cámara y micrófono encendidos."),
        ),
        missing=_values(
            "provider instructions",
            ("Gregory House", "Join at https://meet.example/house."),
            ("Lisa Cuddy", "Join at https://meet.example/cuddy."),
        ),
    ),
    benchmark_job(  # three providers have virtual visits; the others repeat them
        NAME, "deactivate_virtual_visits", deactivate_virtual_visits,
        ["In the Telehealth settings, deactivate virtual visits for Dr. {provider}."],
        own=[{"provider": each} for each in ("Sarah Chen", "Robert Kim", "Michael Torres", "Sarah Chen")],
        missing=[{"provider": "Gregory House"}, {"provider": "Amanda Wright"}],
    ),
    benchmark_job(
        NAME, "change_visit_instructions", change_visit_instructions,
        ["In the Telehealth settings, update Dr. {provider}'s virtual visit instructions to '{instructions}'"],
        own=_values(
            "provider instructions",
            ("Sarah Chen", "Join at https://zoom.us/j/5550001111 ten minutes early."),
            ("Michael Torres", "Have your list of medications at hand, then join by phone."),
            ("Robert Kim", "If it doesn't work, press \"Retry\" and call us."),
            ("Michael Torres", "Bitte pünktlich: https://meet.example/torres, gern über Handy oder Rechner."),
        ),
        missing=_values(
            "provider instructions",
            ("Gregory House", "Join at https://meet.example/house."),
            ("Amanda Wright", "Join at https://meet.example/wright."),
        ),
    ),
    benchmark_job(  # two modes are not the current one; the others repeat them
        NAME, "change_chat_mode", change_chat_mode,
        ["In the Telehealth settings, change the video chat mode from 'Everyone in Meeting' to '{mode}'."],
        own=[
            {"mode": each}
            for each in ("Everyone in Waiting Room", "Host Only", "Everyone in Waiting Room", "Host Only")
        ],
        missing=[{"mode": "Nobody"}, {"mode": "Moderators"}],
    ),
    benchmark_job(
        NAME, "add_location", add_location,
        [
            ("In the Locations settings, add a new practice location with the name '{name}', address '{address}', "
            "POS code '{code}', and POS description '{description}'."),
        ],
        own=_values(
            "name address code description",
            ("Harbor Urgent Care", "12 Pier Road, Alameda, CA 94501", "20", "Urgent Care Facility"),
            ("Lakeside Lab", "88 Lake Street, Oakland, CA 94610", "81", "Independent Laboratory"),
            ("St. Mary's \"Annex\"", "450 Stanyan St, San Francisco, CA 94117", "22", "Hospital, outpatient"),
            ("Clínica Peñasco", "7 Cañada Road, Redwood City, CA 94062", "50", "Health center, español"),
        ),
        action="create",
    ),
    benchmark_job(  # the seed has three locations; the others repeat them
        NAME, "remove_location", remove_location,
        ["In the Locations settings, remove the '{location}' practice location."],
        own=[{"location": each} for each in ("Main Office", "Telehealth", "East Bay Clinic", "Main Office")],
        missing=[{"location": "North Bay Clinic"}, {"location": "Office"}],
        action="delete",
    ),
    benchmark_job(
        NAME, "rename_location", rename_location,
        ["In the Locations settings, update the '{location}' practice location name to '{name}'."],
        own=_values(
            "location name",
            ("East Bay Clinic", "Oakland Clinic"), ("Telehealth", "Online Visits"),
            ("Main Office", "Chen's \"Market Street\" Office"), ("East Bay Clinic", "Clínica de Oakland"),
        ),
        missing=_values("location name", ("North Bay Clinic", "Napa Clinic"), ("Office", "Head Office")),
    ),
    benchmark_job(
        NAME, "add_cpt_code", add_cpt_code,
        ["In the Billing settings, add CPT code '{code}' with the description '{description}'."],
        own=_values(
            "code description",
            ("99215", "Office visit, established patient, very high complexity"),
            ("99385", "Preventive visit, new patient, 18-39 years"),
            ("93000", "Electrocardiogram with \"interpretation\", patient's request"),
            ("99174", "Ménière screening, both ears"),
        ),
        action="create",
    ),
    benchmark_job(
        NAME, "remove_cpt_code", remove_cpt_code,
        ["In the Billing settings, remove the CPT code '{code}' ({description})."],
        own=_values(
            "code description",
            ("99213", "Office visit, established patient, moderate complexity"),
            ("99443", "Telephone E/M, 21-30 minutes"),
            ("99423", "Online digital E/M, 21+ minutes"),
            ("99202", "Office visit, new patient, low complexity"),
        ),
        missing=_values("code description", ("99999", "Unlisted service"), ("9921", "Office visit")),
        action="delete",
    ),
    benchmark_job(
        NAME, "send_bulk_letter", send_bulk_letter,
        [
            ("Select patients {first} and {second} from the patient list, then send them a bulk letter with "
            "description '{description}', subject '{subject}', body '{body}', and enable the option to allow "
            "patients to respond."),
        ],
        own=_values(
            "first second description subject body",
            ("Derek Hansen", "Priya Sharma", "Records reminder", "Your Records", "Please check your address with us."),
            ("Jason Liu", "Olivia Chen", "New portal", "A New Portal", "We have a new portal. Ask us for the link."),
            ("Patricia O'Brien", "Michelle O'Connor", 'Survey "2026"', "How was your visit?",
             "We'd like to know what you didn't like."),
            ("Maria Gonzalez", "Catherine Morales", "Español", "Atención en español",
             "Ahora también contestamos en español. ¿Qué opina?"),
        ),
        missing=_values(
            "first second description subject body",
            ("Walter Quimby", "Priya Sharma", "Survey", "How was your visit?", "Tell us."),
            ("Priya Sharma", "Ingrid Solberg", "Survey", "How was your visit?", "Tell us."),
        ),
        action="create",
    ),
]  # fmt: skip

ELATION = single_page_application(NAME, JOBS, normalize=_normalize)
