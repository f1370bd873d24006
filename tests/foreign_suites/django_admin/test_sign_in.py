from conftest import PASSWORD, USER
from pages import LoginPage
from playwright.sync_api import expect


def test_signing_in_shows_the_index(admin):
    expect(admin).to_have_title("Site administration | Django site admin")
    expect(admin.locator("#user-tools")).to_contain_text("Ada")
    expect(admin.locator("#content-main .module caption")).to_have_count(2)


def test_a_wrong_password_is_refused(page, base_url):
    login = LoginPage(page)
    login.open(base_url)
    login.sign_in(USER, f"not-{PASSWORD}")
    expect(page.locator("p.errornote")).to_contain_text("Please enter the correct username and password")


def test_signing_out(admin):
    admin.locator("#user-tools").get_by_role("button", name="Log out").click()
    expect(admin.locator("#content")).to_contain_text("Thanks for spending some quality time")
