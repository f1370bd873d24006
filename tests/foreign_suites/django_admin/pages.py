"""Page objects of the admin."""

from playwright.sync_api import Page, expect

SAVE = "input[name=_save]"
SUCCESS = "ul.messagelist li.success"


class LoginPage:
    USERNAME = "#id_username"
    PASSWORD = "#id_password"

    def __init__(self, page: Page):
        self.page = page
        self.submit = page.get_by_role("button", name="Log in")

    def open(self, base_url):
        self.page.goto(f"{base_url}/admin/")

    def sign_in(self, user, password):
        self.page.fill(self.USERNAME, user)
        self.page.fill(self.PASSWORD, password)
        self.submit.click()


class ChangeList:
    def __init__(self, page: Page):
        self.page = page
        self.results = page.locator("#result_list")
        self.tools = page.locator("#content-main > .object-tools")

    def add(self):
        self.tools.get_by_role("link", name="Add").click()
        return ChangeForm(self.page)

    def search(self, text):
        form = self.page.locator("#changelist-search")
        form.locator("#searchbar").fill(text)
        form.get_by_role("button", name="Search").click()

    def row(self, text):
        return self.results.locator("tbody tr").filter(has_text=text)

    def open_row(self, text):
        self.row(text).locator("th a").click()
        return ChangeForm(self.page)

    def filter_by(self, title, choice):
        box = self.page.locator("#changelist-filter")
        box.locator("details").filter(has_text=f"By {title}").get_by_role("link", name=choice).click()

    def run_action(self, label):
        bar = self.page.locator("#changelist-form .actions").first
        bar.get_by_label("Action:").select_option(label=label)
        bar.get_by_role("button", name="Go").click()


class ChangeForm:
    def __init__(self, page: Page):
        self.page = page
        self.form = page.locator("#content-main form")

    def field(self, name):
        return self.form.locator(f".field-{name}")

    def save(self):
        self.page.click(SAVE)
        expect(self.page.locator(SUCCESS)).to_be_visible()

    def delete(self):
        self.page.locator(".submit-row").get_by_role("link", name="Delete").click()
        self.page.locator("#content").get_by_role("button", name="Yes, I’m sure").click()  # noqa: RUF001 - as the page says it
