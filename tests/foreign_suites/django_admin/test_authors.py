import re

import pytest
from helpers import add_author, message, open_model
from playwright.sync_api import expect


def test_an_author_is_added(admin, unique):
    add_author(admin, f"Nearchus {unique}", "nearchus@library.example")
    expect(message(admin)).to_have_text(f"The author “Nearchus {unique}” was added successfully.")
    authors = open_model(admin, "library", "Authors")
    expect(authors.row(f"Nearchus {unique}")).to_contain_text("nearchus@library.example")


def test_an_author_needs_a_name(admin):
    open_model(admin, "library", "Authors").add()
    admin.click("input[value='Save']")
    expect(admin.locator(".errornote")).to_have_text(re.compile("Please correct the error below"))
    expect(admin.locator(".field-name .errorlist li")).to_have_text("This field is required.")


def test_an_author_is_renamed(admin, unique):
    add_author(admin, f"Pytheas {unique}")
    form = open_model(admin, "library", "Authors").open_row(f"Pytheas {unique}")
    form.field("biography").locator("textarea").fill("Saw Thule.")
    admin.get_by_role("textbox", name="Name:").fill(f"Pytheas of Massalia {unique}")
    admin.get_by_role("button", name="Save and continue editing").click()
    expect(message(admin)).to_contain_text("was changed successfully")
    expect(form.field("biography").locator("textarea")).to_have_value("Saw Thule.")


def test_an_author_is_born_today(admin, unique):
    form = open_model(admin, "library", "Authors").add()
    form.field("name").get_by_role("textbox").fill(f"Eudoxus {unique}")
    shortcuts = form.field("born").locator(".datetimeshortcuts")
    shortcuts.get_by_role("link", name="Today").click()
    expect(admin.locator("#id_born")).to_have_value(re.compile(r"\d{4}-\d\d-\d\d"))
    form.save()


def test_an_author_is_deleted(admin, unique):
    add_author(admin, f"Himilco {unique}")
    open_model(admin, "library", "Authors").open_row(f"Himilco {unique}").delete()
    expect(message(admin)).to_contain_text(f"Himilco {unique}” was deleted successfully")
    assert open_model(admin, "library", "Authors").row(f"Himilco {unique}").count() == 0


@pytest.mark.parametrize(("text", "found"), [("Scylax", "Scylax O'Caryanda"), ("hanno", "Hanno")])
def test_authors_are_found(admin, text, found):
    authors = open_model(admin, "library", "Authors")
    authors.search(text)
    expect(authors.row(found)).to_have_count(1)
    expect(admin.locator("#changelist-search .quiet")).to_contain_text("1 result")
