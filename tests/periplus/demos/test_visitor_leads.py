"""Forms of visitors: what is taken, for how long it is stored, and how it is written as CSV."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from kb_schema.lead_forms import LeadForm
from kb_schema.service_records import VisitorLead
from kb_store import open_stores
from kb_store.store_factory import open_runs
from periplus.demos.visitor_leads import (
    MOST_OF_A_LINK,
    LeadInvalid,
    LeadOrigin,
    LeadRefused,
    VisitorLeads,
    check_entries,
    format_csv,
)
from periplus.privacy.retention import RetentionSettings, prune
from tests.support import warm

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
ORIGIN = LeadOrigin("5f0c2a91d3b64e77", "Acme", "works", "tour", "en")
KEY = "0" * 32
FORM = LeadForm.model_validate(
    {
        "title": "Talk to us",
        "fields": [
            {"name": "email", "kind": "email", "label": "E-mail", "required": True},
            {"name": "phone", "kind": "phone", "label": "Phone"},
            {"name": "words", "kind": "words", "label": "Your words"},
        ],
        "consent": "I agree that the Works store this to answer me.",
        "translations": {"de": {"consent": "Ich stimme zu.", "labels": {"email": "E-Mail-Adresse"}}},
    }
)
ANN = {"email": "ann@example.com", "words": "=1+1, please\r\nand more"}


@pytest.fixture
async def leads(tmp_path):
    async with open_runs(tmp_path, audited=False) as runs:
        yield VisitorLeads(runs.service_records, lambda: NOW)


@pytest.mark.parametrize(
    ("values", "field", "said"),
    [
        ({}, "email", "'E-mail' is missing"),
        ({"email": "  "}, "email", "is missing"),
        ({"email": "ann"}, "email", "expected an address"),
        ({"email": "a@b@example.com"}, "email", "expected an address"),
        ({"email": "ann@example.com", "phone": "call me"}, "phone", "expected a number"),
        ({"email": "ann@example.com", "words": "x" * 4001}, "words", "at most 4000"),
        ({"email": "ann@example.com", "words": "a\x1b[2J"}, "words", "control characters"),
        ({"email": "ann@example.com", "words": "\u202egnp.exe"}, "words", "control characters"),
        ({"email": "ann@example.com", "words": "\ud800"}, "words", "control characters"),
        ({"email": "ann@example.com", "owner": "Ann"}, "owner", "no such field; it has email, phone, words"),
    ],
)
def test_entries_that_are_missing_or_wrong_are_told_with_their_field(values, field, said):
    with pytest.raises(LeadInvalid) as refused:
        check_entries(FORM, values)
    assert said in refused.value.problems[field]


def test_a_form_without_an_entry_is_not_taken():
    form = FORM.model_copy(update={"fields": FORM.fields[1:]})
    with pytest.raises(LeadInvalid, match="the form is empty"):
        check_entries(form, {"phone": " "})


@pytest.mark.parametrize(
    "changed",
    [{"consent": " "}, {"fields": []}, {"fields": [{"name": "a", "kind": "name", "label": "A"}] * 2},
     {"translations": {"de": {"labels": {"mail": "E-Mail"}}}}],
)  # fmt: skip
def test_a_form_without_consent_or_with_unclear_fields_is_refused(changed):
    with pytest.raises(ValidationError):
        LeadForm.model_validate({**FORM.model_dump(), **changed})


def test_a_form_speaks_the_language_of_the_page():
    form = FORM.translate("de")
    assert (form.title, form.consent, form.fields[0].label) == (
        "Talk to us",
        "Ich stimme zu.",
        "E-Mail-Adresse",
    )
    assert FORM.list_untranslated("de") == ["title", "fields[1].label", "fields[2].label"]


async def test_nothing_is_stored_where_words_of_visitors_are_not(leads):
    with pytest.raises(LeadRefused, match="does not store"):
        await leads.store(FORM, ANN, ORIGIN, KEY, 0)
    assert await leads.list() == []


async def test_a_form_is_stored_once_for_the_days_that_its_page_named(leads):
    made = await leads.store(FORM, ANN, ORIGIN, KEY, 2.5)
    assert made == await leads.store(FORM, ANN, ORIGIN, KEY, 2.5)
    with pytest.raises(LeadRefused, match="other entries"):
        await leads.store(FORM, {"email": "bob@example.com"}, ORIGIN, KEY, 2.5)
    (found,) = await leads.list(visit_id=ORIGIN.visit_id)
    assert found.expires_at == NOW + timedelta(days=2.5)
    assert (found.consent, found.entries[1].value) == (FORM.consent, "=1+1, please\nand more")
    assert "ann@example.com" not in repr(found)
    assert await leads.list(website="other") == []
    leads.now = lambda: NOW + timedelta(days=2.5)
    assert await leads.list() == []


async def test_a_link_takes_a_limited_number_of_forms(leads):
    sent = [leads.store(FORM, ANN, ORIGIN, f"{n:032x}", 30) for n in range(MOST_OF_A_LINK + 5)]
    results = await asyncio.gather(*sent, return_exceptions=True)
    assert sum(isinstance(each, LeadRefused) for each in results) == 5
    assert len(await leads.list()) == MOST_OF_A_LINK


async def test_forms_are_pruned_when_their_time_is_over(tmp_path):
    async with open_stores(tmp_path) as stores, open_runs(tmp_path, audited=False) as runs:
        leads = VisitorLeads(runs.service_records, lambda: NOW)
        await leads.store(FORM, ANN, ORIGIN, KEY, 1)
        await leads.store(FORM, ANN, ORIGIN, "1" * 32, 3)
        later = NOW + timedelta(days=2)
        for dry_run in (True, False):
            counts = await prune(tmp_path, stores, runs, RetentionSettings(), now=later, dry_run=dry_run)
            assert counts["leads"] == 1
        (left,) = await runs.service_records.select(VisitorLead)
        assert left.lead_id.endswith("1" * 32)


async def test_csv_has_a_column_for_each_field_and_no_formula(leads):
    await leads.store(FORM, {**ANN, "phone": "+49 30 1234567"}, ORIGIN, KEY, 30)
    await leads.store(FORM, {"email": "@sum@example.com"[1:]}, ORIGIN, "1" * 32, 30)
    rows = list(csv.DictReader(io.StringIO(format_csv(await leads.list()))))
    first = next(row for row in rows if row["words"])
    assert first["email"] == "ann@example.com"
    assert first["words"] == "'=1+1, please\nand more"
    assert first["phone"] == "'+49 30 1234567"
    assert (first["Link"], first["Consent"]) == ("Acme", FORM.consent)
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize("name", [";=1", "Ann; =HYPERLINK(1)", 'Ann;"=1"', "Ann\t@x", ";＝1"])  # noqa: RUF001 - full-width
async def test_no_formula_begins_after_another_separator_either(leads, name):
    await leads.store(FORM, {**ANN, "words": name.replace("\t", " \n")}, ORIGIN, KEY, 30)
    text = format_csv(await leads.list())
    cells = [cell.lstrip(' "') for row in csv.reader(io.StringIO(text), delimiter=";") for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "＝"))]  # noqa: RUF001 - as above


def test_the_command_lists_and_exports_and_the_person_is_erased(tmp_path):
    async def fill() -> None:
        async with open_stores(tmp_path), open_runs(tmp_path, audited=False) as runs:
            await VisitorLeads(runs.service_records).store(FORM, ANN, ORIGIN, KEY, 30)

    asyncio.run(fill())
    env = {"PERIPLUS_DATA_DIR": str(tmp_path), "PERIPLUS_MONGODB_URL": "", "COLUMNS": "200"}
    listed = warm.run("periplus", "runs", "leads", env=env)
    assert "E-mail: ann@example.com" in listed.stdout
    assert "tour of works" in listed.stdout
    exported = warm.run("periplus", "runs", "leads", "--csv", env=env).stdout
    assert next(csv.DictReader(io.StringIO(exported)))["email"] == "ann@example.com"
    refused = warm.run("periplus", "runs", "leads", "--csv", "--json", env=env)
    assert (refused.returncode, "exclude each other" in refused.stderr) == (2, True)
    assert "no forms" in warm.run("periplus", "runs", "leads", "-w", "other", env=env).stdout
    erased = warm.run("periplus", "erase-person", "ann@example.com", "--yes", env=env)
    assert erased.returncode == 0, erased.stderr
    (left,) = json.loads(warm.run("periplus", "runs", "leads", "--json", env=env).stdout)
    assert left["entries"][0]["value"] == "ERASED"
    assert b"ann@example.com" not in b"".join(
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )
