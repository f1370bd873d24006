"""The sites that are not ours, one of each for all tests of the agent in a worker."""

from tests.support.foreign_sites import django_admin, miniwob_pages, spadeworks, spadeworks_2  # noqa: F401 - fixtures
from tests.support.pages import blank_page, equipped, equipped_page  # noqa: F401 - fixtures
