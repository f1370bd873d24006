"""What the Spadeworks site promises to those who learn, demonstrate and test on it."""

import http.client
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from starlette.testclient import TestClient

from seeds.spadeworks.site.app import create_app
from seeds.spadeworks.site.middleware import ConnectionDroppedError
from seeds.spadeworks.site.settings import DEMO_EMAIL, DEMO_PASSWORD, Settings

ROOT = Path(__file__).parents[2]
CSV_HEADER = "name,email,phone\n"


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Browser:
    """A visitor with a cookie jar, who can also see what the site really holds."""

    client: TestClient
    clock: Clock = field(default_factory=Clock)

    def get(self, path):
        return self.client.get(path)

    def post(self, path, data=None, files=None, follow=True):
        token = re.search(r'name="csrf-token" content="([^"]+)"', self.get("/authenticator").text)
        fields = {"csrf_token": token[1], **(data or {})}
        return self.client.post(path, data=fields, files=files, follow_redirects=follow)

    def fetch(self, path):
        """Send a request as the site's own scripts do."""
        token = re.search(r'name="csrf-token" content="([^"]+)"', self.get("/authenticator").text)
        headers = {"accept": "application/json", "x-csrf-token": token[1]}
        return self.client.post(path, headers=headers)

    def sign_in(self, then="/dashboard", password=DEMO_PASSWORD):
        return self.post(f"/login?next={then}", {"email": DEMO_EMAIL, "password": password})

    def state(self):
        return self.client.get("/__control/state").json()

    def count(self, name):
        return self.state()["counts"][name]

    def control(self, path, body=None):
        answer = self.client.post(f"/__control/{path}", json=body or {})
        assert answer.is_success, answer.text
        return answer.json()

    def arm(self, kind, **fault):
        return self.control("faults", {"kind": kind, **fault})


def new_browser(**settings):
    clock = Clock()
    app = create_app(Settings(test_controls=True, clock=clock, **settings))
    return Browser(TestClient(app), clock)


@pytest.fixture
def visitor():
    return new_browser()


@pytest.fixture
def member(visitor):
    visitor.sign_in()
    return visitor


@pytest.fixture(params=[1, 2], ids=["ui-v1", "ui-v2"])
def member_of_either_ui(request):
    browser = new_browser(ui_version=request.param)
    browser.sign_in()
    return browser


def agent_form(**changes):
    return {"agent_name": "Nova Lane", "language": "en-US", "voice": "Calm", **changes}


def h1(page):
    headings = re.findall(r"<h1[^>]*>(.*?)</h1>", page.text)
    assert len(headings) == 1, headings
    return headings[0]


# --- signing in -------------------------------------------------------------------------------


def test_root_leads_to_sign_in_and_then_to_the_dashboard(visitor):
    assert visitor.get("/").url.path == "/login"
    visitor.sign_in()
    assert visitor.get("/").url.path == "/dashboard"


def test_page_behind_sign_in_is_reached_after_signing_in(visitor):
    asked = visitor.get("/agent?q=ravi")
    assert asked.url.path == "/login"
    reached = visitor.post(str(asked.url.raw_path, "ascii"), {"email": DEMO_EMAIL, "password": DEMO_PASSWORD})
    assert reached.url.raw_path == b"/agent?q=ravi"


@pytest.mark.parametrize("path", ["https://evil.example/", "//evil.example", "/\\evil.example", "agent"])
def test_sign_in_never_leads_to_another_site(visitor, path):
    assert visitor.sign_in(then=path).url.path == "/dashboard"


def test_wrong_password_is_refused_on_the_same_page(visitor):
    page = visitor.sign_in(password="wrong")
    assert (page.status_code, page.url.path) == (422, "/login")
    assert "The email or the password is not right" in page.text
    assert (visitor.count("logins"), visitor.count("login_failures")) == (0, 1)


def test_sign_out_ends_the_session(member):
    assert member.post("/sign-out").url.path == "/login"
    assert member.get("/dashboard").url.path == "/login"
    assert member.count("logouts") == 1


def test_form_without_its_token_is_refused(member):
    answer = member.client.post("/agent/create", data=agent_form())
    assert answer.status_code == 403
    assert member.count("agents_created") == 0


def test_one_time_code_is_asked_for_and_works_once(visitor):
    visitor.control("otp", {"required": True})
    assert visitor.sign_in().url.path == "/login/code"
    code = visitor.get("/authenticator/code").json()["code"]
    assert f">{code}</p>" in visitor.get("/authenticator").text
    assert visitor.post("/login/code", {"code": code}).url.path == "/dashboard"
    visitor.post("/sign-out")
    visitor.sign_in()
    assert visitor.post("/login/code", {"code": code}).status_code == 422
    counts = visitor.state()["counts"]
    assert (counts["codes_accepted"], counts["codes_rejected"], counts["logins"]) == (1, 1, 1)


def test_code_of_the_previous_window_is_accepted_and_an_older_one_is_not(visitor):
    visitor.control("otp", {"required": True})
    visitor.sign_in()
    first = visitor.get("/authenticator/code").json()["code"]
    visitor.clock.now += 60
    assert visitor.post("/login/code", {"code": first}).status_code == 422
    second = visitor.get("/authenticator/code").json()["code"]
    visitor.clock.now += 30
    assert visitor.post("/login/code", {"code": second}).url.path == "/dashboard"


def test_authenticator_says_how_long_a_code_lasts(visitor):
    visitor.clock.now = 30 * 1000 + 12
    assert visitor.get("/authenticator/code").json()["seconds_left"] == 18


# --- pages ------------------------------------------------------------------------------------

PAGES = {
    "/dashboard": "Dashboard",
    "/agent": "Agents",
    "/agent/create": "Create Agent",
    "/contacts": "Contacts",
    "/contacts/import": "Import Contacts",
    "/campaign": "Campaigns",
    "/campaign/create": "Create Campaign",
    "/inbox": "Inbox",
    "/settings": "Settings",
    "/settings/notifications-frame": "Notification preferences",
    "/forgot-password": "Reset your password",
    "/session-expired": "Session expired",
    "/authenticator": "Authenticator",
}


@pytest.mark.parametrize(("path", "heading"), PAGES.items())
def test_page_has_its_heading_in_either_ui(member_of_either_ui, path, heading):
    page = member_of_either_ui.get(path)
    assert page.status_code == 200
    assert h1(page) == heading


@pytest.mark.parametrize("path", [*PAGES, "/login"])
def test_every_label_names_a_field_of_its_page(member_of_either_ui, path):
    if path == "/login":
        member_of_either_ui.post("/sign-out")
    text = member_of_either_ui.get(path).text
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids)), "ids are unique"
    assert set(re.findall(r'\sfor="([^"]+)"', text)) <= set(ids)


def test_unknown_page_is_not_found(member):
    page = member.get("/agent/agt-0/edit")
    assert (page.status_code, h1(page)) == (404, "Page not found")


def test_cookie_banner_shows_until_it_is_answered(visitor):
    assert "We value your privacy" in visitor.get("/login").text
    visitor.client.cookies.set("sw_consent", "declined")
    assert "We value your privacy" not in visitor.get("/login").text


# --- agents -----------------------------------------------------------------------------------


def test_created_agent_is_the_last_card_of_the_page_one_lands_on(member):
    page = member.post("/agent/create", agent_form(agent_name='Zoë O\'Neil-"Z"'))
    assert page.url.raw_path == b"/agent?page=3"
    assert "Agent created successfully" in page.text
    created = member.state()["agents"][-1]
    assert created["name"] == 'Zoë O\'Neil-"Z"'
    assert re.findall(r'data-agent-id="([^"]+)"', page.text)[-1] == created["id"]
    assert member.count("agents_created") == 1


def test_toast_is_shown_once(member):
    member.post("/agent/create", agent_form())
    assert "Agent created successfully" not in member.get("/agent").text


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"agent_name": "   "}, "Enter a name for the agent"),
        ({"agent_name": "x" * 101}, "Use at most 100 characters"),
        ({"agent_name": "RAVI menon "}, "An agent with this name already exists"),
        ({"language": ""}, "Choose a language"),
        ({"language": "tlh"}, "Choose a language"),
        ({"expiry_date": "2030-01-31"}, "Enter a date as MM/DD/YYYY"),
        ({"expiry_date": "02/30/2030"}, "Enter a date as MM/DD/YYYY"),
    ],
)
def test_agent_form_says_what_is_wrong_and_creates_nothing(member, changes, error):
    page = member.post("/agent/create", agent_form(**changes))
    assert page.status_code == 422
    assert error in page.text
    assert (member.count("agents_created"), len(member.state()["agents"])) == (0, 23)


def test_agent_keeps_what_was_typed(member):
    member.post(
        "/agent/create",
        agent_form(language="hi-IN", voice="Formal", greeting="<b>Hi</b>", expiry_date="01/31/2030"),
    )
    agent = member.state()["agents"][-1]
    page = member.get(f"/agent/{agent['id']}")
    assert h1(page) == "Nova Lane"
    for shown in ("Hindi", "Formal", "&lt;b&gt;Hi&lt;/b&gt;", "01/31/2030"):
        assert shown in page.text


def test_agent_is_edited_and_then_deleted(member):
    agent_id = member.state()["agents"][0]["id"]
    edited = member.post(f"/agent/{agent_id}/edit", agent_form(agent_name="Amelia Hart"))
    assert (edited.url.path, "Agent updated" in edited.text) == (f"/agent/{agent_id}", True)
    deleted = member.post(f"/agent/{agent_id}/delete")
    assert (deleted.url.path, "Agent deleted" in deleted.text) == ("/agent", True)
    assert member.get(f"/agent/{agent_id}").status_code == 404
    assert (member.count("agents_updated"), member.count("agents_deleted")) == (1, 1)


def test_only_the_edit_form_offers_to_delete(member):
    agent_id = member.state()["agents"][0]["id"]
    assert ">Delete</button>" in member.get(f"/agent/{agent_id}/edit").text
    assert ">Delete</button>" not in member.get("/agent/create").text


def test_search_finds_by_part_of_the_name_and_says_when_nothing_matches(member):
    found = member.get("/agent?q=SOFÍA").text
    assert len(re.findall("data-agent-id", found)) == 1
    assert "No agents match “nobody”" in member.get("/agent?q=nobody").text


@pytest.mark.parametrize(("page", "cards"), [("1", 10), ("3", 3), ("99", 3), ("x", 10), ("-1", 10)])
def test_agents_are_paged_by_ten(member, page, cards):
    assert len(re.findall("data-agent-id", member.get(f"/agent?page={page}").text)) == cards


def test_agent_is_paused_resumed_and_published(member):
    member.control("seed-agents", {"statuses": ["Live", "Draft"]})
    live, draft = member.state()["agents"]
    for agent, then, offers in (
        (live, "Paused", "Resume"),
        (live, "Live", "Pause"),
        (draft, "Live", "Pause"),
    ):
        page = member.post(f"/agent/{agent['id']}/switch")
        assert f">{offers}</button>" in page.text
        assert next(a for a in member.state()["agents"] if a["id"] == agent["id"])["status"] == then
    assert member.count("agents_switched") == 3


def test_workspace_without_agents_says_so(member):
    member.control("seed-agents", {"statuses": []})
    assert "No agents yet" in member.get("/agent").text


# --- contacts and campaigns -------------------------------------------------------------------


def upload(browser, text, **options):
    content = text if isinstance(text, bytes) else text.encode()
    return browser.post("/contacts/import", options, files={"contacts": ("people.csv", content, "text/csv")})


def test_import_adds_contacts_and_skips_duplicates(member):
    known = member.state()["contacts"][0]["email"]
    page = upload(
        member, f"{CSV_HEADER}Ada,ada@x.example,\nOld,{known},\nAda,ADA@x.example,\n", skip_duplicates="on"
    )
    assert page.url.path == "/contacts"
    assert "Imported 1 contact<" in page.text
    assert "49 contacts" in page.text
    assert (member.count("contacts_imported"), member.count("contacts_skipped")) == (1, 2)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("mail,name\n", "Line 1: the header must be name,email,phone"),
        ("", "Line 1: the header must be name,email,phone"),
        (CSV_HEADER, "There are no contacts in this file"),
        (CSV_HEADER + "Ada,ada@x.example,\nBob,bob,\n", "Line 3: “bob” is not an email address"),
        (CSV_HEADER + ",ada@x.example,\n", "Line 2: the name is missing"),
        (CSV_HEADER + "Ada,ada@x.example\n", "Line 2: expected 3 columns, found 2"),
        (CSV_HEADER + "Ada,ada@x.example,call me\n", "Line 2: “call me” is not a phone number"),
        (CSV_HEADER + "A,a@x.example,\nB,a@x.example,\n", "Line 3: a@x.example is already a contact"),
        (b"\xff\xfe", "This file is not UTF-8 text"),
    ],
)
def test_import_names_the_bad_line_and_imports_nothing(member, text, error):
    page = upload(member, text)
    assert page.status_code == 422
    assert error in page.text
    assert member.count("contacts_imported") == 0


def test_calls_to_a_contact_are_forbidden_and_allowed_again(member):
    member.control("seed-contacts", {"count": 13, "blocked": [1]})
    assert len(re.findall("data-contact-id", member.get("/contacts?page=2").text)) == 1
    called, blocked, *_ = member.state()["contacts"]
    assert ">Allow calls<" in member.fetch(f"/contacts/{called['id']}/calls").json()["row"]
    assert ">Do not call<" in member.fetch(f"/contacts/{blocked['id']}/calls").json()["row"]
    assert [c["do_not_call"] for c in member.state()["contacts"]] == [True] + 12 * [False]
    assert (member.count("contacts_blocked"), member.count("contacts_allowed")) == (1, 1)
    assert member.fetch("/contacts/con-0/calls").status_code == 404


def test_campaign_is_launched_in_three_steps(member):
    agent_id = member.state()["agents"][1]["id"]
    assert member.get("/campaign/create").url.path == "/campaign/create/details"
    details = {"campaign_name": "Autumn", "agent_id": agent_id, "start_date": "09/01/2030"}
    assert member.post("/campaign/create/details", details).url.path == "/campaign/create/audience"
    audience = {"contact_list": "Renewals", "daily_limit": "50", "filters": ["Country: Spain", "Bogus: x"]}
    review = member.post("/campaign/create/audience", audience)
    assert review.url.path == "/campaign/create/review"
    assert "Country: Spain" in review.text
    assert "Bogus" not in review.text
    launched = member.post("/campaign/create/review")
    assert h1(launched) == "Autumn"
    assert "Campaign launched" in launched.text
    assert member.count("campaigns_created") == 1
    assert member.state()["campaigns"][0]["filters"] == [["Country", "Spain"]]


@pytest.mark.parametrize("step", ["audience", "review"])
def test_campaign_step_ahead_of_its_time_leads_back_to_the_first(member, step):
    assert member.get(f"/campaign/create/{step}").url.path == "/campaign/create/details"


def test_campaign_step_says_what_is_wrong(member):
    page = member.post("/campaign/create/details", {"campaign_name": "", "start_date": "soon"})
    for error in (
        "Enter a name for the campaign",
        "Choose the agent who calls",
        "Enter a date as MM/DD/YYYY",
    ):
        assert error in page.text


# --- inbox and settings -----------------------------------------------------------------------


def test_inbox_empties_message_by_message(member):
    emails = member.state()["emails"]
    assert len(emails) == 7
    left = [member.fetch(f"/inbox/{email['id']}/delete").json()["left"] for email in emails]
    assert left == [6, 5, 4, 3, 2, 1, 0]
    assert member.fetch(f"/inbox/{emails[0]['id']}/delete").status_code == 404
    assert member.count("emails_deleted") == 7


def test_settings_are_saved(member):
    member.post("/settings/profile", {"display_name": "Sam Reyes", "company": "Acme"})
    member.post("/settings/security", {"otp_required": "on"})
    member.post("/settings/notifications-frame", {"product_news": "on"})
    member.post("/settings/theme", {"theme": "dark"})
    preferences = member.state()["preferences"]
    assert (preferences["display_name"], preferences["otp_required"]) == ("Sam Reyes", True)
    assert (preferences["notify_daily_summary"], preferences["notify_product_news"]) == (False, True)
    assert 'data-theme="dark"' in member.get("/dashboard").text


# --- visitors ---------------------------------------------------------------------------------


def test_visitors_do_not_see_each_other(member):
    other = Browser(TestClient(member.client.app))
    member.post("/agent/create", agent_form())
    assert other.get("/dashboard").url.path == "/login"
    other.sign_in()
    assert "Nova Lane" not in other.get("/agent?page=3").text


def test_visitor_not_seen_for_longest_is_forgotten_first():
    browser = new_browser(max_visitors=2)
    browser.sign_in()
    for _ in range(2):
        TestClient(browser.client.app).get("/login")
    assert len(browser.state()["visitors"]) == 2
    assert browser.get("/dashboard").url.path == "/login"


def test_request_that_is_too_large_is_refused(member):
    assert upload(member, CSV_HEADER + "x" * 600_000).status_code == 413


# --- faults and controls ----------------------------------------------------------------------


def test_controls_exist_only_when_asked_for():
    client = TestClient(create_app(Settings()))
    assert client.get("/__control/state").status_code == 404


def test_error_500_happens_as_often_as_armed_and_commits_nothing(member):
    member.arm("error_500", path="/agent/create", method="POST", times=1)
    page = member.post("/agent/create", agent_form())
    assert (page.status_code, h1(page)) == (500, "Something went wrong")
    assert member.count("agents_created") == 0
    assert member.post("/agent/create", agent_form()).status_code == 200
    assert member.count("agents_created") == 1


def test_dropped_connection_leaves_the_work_done(member):
    member.arm("drop_after_commit", path="/agent/create")
    with pytest.raises(ConnectionDroppedError):
        member.post("/agent/create", agent_form())
    assert member.count("agents_created") == 1


def test_expired_session_leads_to_its_page_and_back_after_signing_in(member):
    member.arm("expire_session", path="/agent")
    assert member.get("/dashboard").url.path == "/dashboard"
    expired = member.get("/agent/create")
    assert (expired.url.path, h1(expired)) == ("/session-expired", "Session expired")
    assert "/login?next=/agent/create" in expired.text
    assert member.sign_in(then="/agent/create").url.path == "/agent/create"
    assert member.count("sessions_expired") == 1


def test_script_learns_of_an_expired_session_by_status(member):
    member.arm("expire_session", path="^/inbox/.*/delete$")
    assert member.fetch(f"/inbox/{member.state()['emails'][0]['id']}/delete").status_code == 401


def test_newsletter_and_animation_are_on_the_next_page_only(member):
    member.arm("modal")
    member.arm("animation", ms=700)
    page = member.get("/agent").text
    assert "No thanks" in page
    assert "--drift-ms: 700ms" in page
    again = member.get("/agent").text
    assert "No thanks" not in again
    assert "--drift-ms" not in again


def test_delay_lets_the_request_through(member):
    member.arm("delay", path="/dashboard", ms=1)
    assert h1(member.get("/dashboard")) == "Dashboard"
    assert member.state()["faults"][0]["fired"] == 1


def test_undeletable_email_stays_and_the_others_go(member):
    stuck, other = (email["id"] for email in member.state()["emails"][:2])
    member.arm("undeletable_email", email_id=stuck)
    refusals = [member.fetch(f"/inbox/{stuck}/delete").status_code for _ in range(2)]
    assert refusals == [409, 409]
    assert member.fetch(f"/inbox/{other}/delete").status_code == 200
    assert member.count("emails_deleted") == 1


def test_new_email_arrives_with_the_answer_to_a_deletion(member):
    member.arm("new_email", times=1)
    first, second = (email["id"] for email in member.state()["emails"][:2])
    answer = member.fetch(f"/inbox/{first}/delete").json()
    assert answer["left"] == 7
    assert len(answer["arrived"]) == 1
    assert 'class="email-row' in answer["arrived"][0]
    assert member.fetch(f"/inbox/{second}/delete").json()["arrived"] == []


def test_faults_can_be_meant_for_one_visitor_and_cleared(member):
    member.arm("error_500", visitor="somebody-else")
    assert member.get("/dashboard").status_code == 200
    member.arm("error_500", times=0)
    assert [member.get("/dashboard").status_code for _ in range(2)] == [500, 500]
    member.client.delete("/__control/faults")
    assert member.get("/dashboard").status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("faults", {"kind": "earthquake"}),
        ("faults", {"kind": "delay", "ms": -1}),
        ("faults", {"kind": "delay", "path": "^("}),
        ("faults", {"kind": "delay", "colour": "red"}),
        ("ui-version", {"version": 3}),
        ("otp", {"required": "yes"}),
        ("seed-agents", {"statuses": ["Asleep"]}),
        ("seed-contacts", {"blocked": ["0"]}),
        ("reset?visitor=nobody", {}),
    ],
)
def test_control_request_that_makes_no_sense_is_explained(member, path, body):
    answer = member.client.post(f"/__control/{path}", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_inbox_is_filled_for_visitors_still_to_come(visitor):
    visitor.control("seed-emails", {"count": 50})
    visitor.sign_in()
    assert len(re.findall("data-email-id", visitor.get("/inbox").text)) == 50


def test_reset_forgets_everything(member):
    member.post("/agent/create", agent_form())
    member.arm("error_500")
    member.control("ui-version", {"version": 2})
    member.control("reset")
    state = member.state()
    assert (state["visitor"], state["faults"], state["ui_version"]) == (None, [], 1)


def test_reset_of_one_visitor_gives_them_a_fresh_workspace(member):
    member.post("/agent/create", agent_form())
    visitor_id = member.state()["visitor"]
    member.control(f"reset?visitor={visitor_id}")
    state = member.state()
    assert (state["visitor"], len(state["agents"]), state["signed_in"]) == (visitor_id, 23, False)


# --- the redesign -----------------------------------------------------------------------------


def test_redesign_renames_handles_and_keeps_what_the_site_does(member):
    member.control("ui-version", {"version": 2})
    form = member.get("/agent/create").text
    for gone in ("Agent Name", "Save Changes", "data-testid", 'id="agent-name"'):
        assert gone not in form
    for there in ("Name of the agent", "Save agent", 'name="agent_name"', 'id="agentNameCtl"', "Agent Info"):
        assert there in form
    assert form.index('name="language"') < form.index('name="agent_name"')
    listed = member.post("/agent/create", agent_form()).text
    assert "Agent created successfully" in listed
    assert "data-key=" in listed
    assert "agent-card" not in listed
    assert member.count("agents_created") == 1


# --- the process ------------------------------------------------------------------------------


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "seeds.spadeworks.site", "--test-controls", "--exit-with-stdin"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        yield started
        started.kill()


def connection_to(process):
    line = process.stdout.readline()
    assert re.fullmatch(r"listening on http://127\.0\.0\.1:\d+\n", line)
    return http.client.HTTPConnection(urlsplit(line.split()[-1]).netloc, timeout=10)


def ask(connection, method, path, body="", **headers):
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    return answer, answer.read().decode()


def test_process_says_where_it_listens_and_ends_with_its_stdin(process):
    connection = connection_to(process)  # kept open: an idle connection must not delay the end
    assert ask(connection, "GET", "/login")[0].status == 200
    process.stdin.close()
    assert process.wait(timeout=5) == 0
    assert process.stdout.read() == ""


def test_terminated_process_ends_cleanly(process):
    connection = connection_to(process)
    assert ask(connection, "GET", "/login")[0].status == 200
    process.terminate()
    assert process.wait(timeout=5) == 0


def test_process_closes_the_connection_after_committing_and_ignores_the_browsers_replay(process):
    connection = connection_to(process)
    answer, page = ask(connection, "GET", "/login")
    cookie = answer.headers["set-cookie"].split(";")[0]
    token = re.search(r'name="csrf-token" content="([^"]+)"', page)[1]
    headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
    form = {"csrf_token": token, "email": DEMO_EMAIL, "password": DEMO_PASSWORD}
    ask(connection, "POST", "/login", urlencode(form), **headers)
    ask(connection, "POST", "/__control/faults", '{"kind": "drop_after_commit", "path": "/agent/create"}')
    body = urlencode(agent_form(csrf_token=token))
    for _ in range(2):  # the second time as a browser repeats what was lost on a kept-alive connection
        with pytest.raises(ConnectionError):
            ask(connection, "POST", "/agent/create", body, **headers)
        connection.close()
    counts = ask(connection, "GET", "/__control/state")[1]
    assert '"agents_created":1' in counts
