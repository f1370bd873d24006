import os
import uuid

import pytest
from pages import LoginPage

USER = "admin"
PASSWORD = "admin-of-the-tests"


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    path = os.environ.get("PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH")
    return {**browser_type_launch_args, "executable_path": path} if path else browser_type_launch_args


@pytest.fixture
def admin(page, base_url):
    """A page on which the administrator is signed in."""
    login = LoginPage(page)
    login.open(base_url)
    login.sign_in(USER, PASSWORD)
    return page


@pytest.fixture
def unique():
    return uuid.uuid4().hex[:8]
