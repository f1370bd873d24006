"""Short cuts for the tests."""

from pages import ChangeList


def open_model(page, app, model):
    """From anywhere, over the index, to the list of a model."""
    page.locator("#header").get_by_role("link", name="Django administration").click()
    page.locator(f"#content-main .app-{app}").get_by_role("link", name=model, exact=True).click()
    return ChangeList(page)


def message(page):
    return page.locator(".messagelist li").first


def add_author(page, name, email=""):
    form = open_model(page, "library", "Authors").add()
    page.get_by_label("Name:").fill(name)
    page.get_by_label("Email:").fill(email)
    form.save()
