from helpers import add_author, message, open_model
from playwright.sync_api import expect

BOOK = {
    "title": "#id_title",
    "price": "#id_price",
    "toggle": "#fieldsetcollapser0",
    "history": ".object-tools .historylink",
}


def fill(page, **values):
    for name, value in values.items():
        page.locator(BOOK[name]).fill(value)


def test_a_book_is_added_with_tags_and_a_copy(admin, unique):
    add_author(admin, f"Agatharchides {unique}")
    form = open_model(admin, "library", "Books").add()
    fill(admin, title=f"On the Red Sea {unique}", price="12.50")
    admin.get_by_label("Author:").select_option(label=f"Agatharchides {unique}")
    chooser = form.field("tags").locator(".selector")
    chooser.locator(".selector-available select").select_option(label="Sea")
    chooser.locator(".selector-chooser .selector-add").click()
    expect(chooser.locator(".selector-chosen option")).to_have_text("Sea")
    admin.get_by_text("Hardcover").click()
    copies = admin.locator("#copy_set-group")
    copies.locator("tr.dynamic-copy_set").nth(0).locator("input[name$=shelf]").fill("B7")
    form.save()
    expect(message(admin)).to_contain_text("was added successfully")


def test_another_copy_is_added_below_its_book(admin):
    open_model(admin, "library", "Books").open_row("Indica")
    copies = admin.locator("#copy_set-group")
    rows = copies.locator("tr.dynamic-copy_set")
    expect(copies.get_by_role("link", name="Add another Copy")).to_be_visible()
    before = rows.count()
    copies.get_by_role("link", name="Add another Copy").click()
    expect(rows).to_have_count(before + 1)


def test_the_section_on_availability_opens(admin):
    open_model(admin, "library", "Books").open_row("The Inner Sea")
    admin.locator(BOOK["toggle"]).click()
    box = admin.locator("#id_in_stock")
    expect(box).to_be_checked()
    box.uncheck()
    admin.locator("input[name=_continue]").click()
    expect(admin.locator("#id_in_stock")).not_to_be_checked()
    admin.locator(BOOK["toggle"]).click()
    admin.locator("#id_in_stock").check()
    admin.click("input[name=_continue]")
    expect(message(admin)).to_contain_text("was changed successfully")


def test_books_are_filtered_by_format(admin):
    books = open_model(admin, "library", "Books")
    books.filter_by("format", "E-book")
    expect(admin.locator(".paginator")).to_contain_text("0 books")


def test_a_price_is_edited_in_the_list(admin):
    books = open_model(admin, "library", "Books")
    books.row("Indica").locator("input[type=number]").fill("14.25")
    admin.get_by_role("button", name="Save").click()
    expect(message(admin)).to_contain_text("changed successfully")
    expect(books.row("Indica").locator("input[type=number]")).to_have_value("14.25")
    books.row("Indica").locator("input[type=number]").fill("12.50")
    admin.get_by_role("button", name="Save").click()


def test_chosen_books_are_deleted_after_a_question(admin, unique):
    form = open_model(admin, "library", "Books").add()
    fill(admin, title=f"Throwaway {unique}", price="1")
    admin.get_by_label("Author:").select_option(label="Hanno")
    form.save()
    books = open_model(admin, "library", "Books")
    books.row(f"Throwaway {unique}").get_by_role("checkbox").first.check()
    books.run_action("Delete selected books")
    expect(admin.get_by_role("heading", name="Are you sure?")).to_be_visible()
    admin.locator("input[type=submit]").click()
    expect(message(admin)).to_have_text("Successfully deleted 1 book.")


def test_the_history_of_a_book_is_told(admin):
    open_model(admin, "library", "Books").open_row("Along the West Coast")
    admin.locator(BOOK["history"]).click()
    expect(admin.locator("#content h1")).to_have_text("Change history: Along the West Coast")
