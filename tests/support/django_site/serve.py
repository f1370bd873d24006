"""Serves the site on a free port of this machine; says where; stops when its stdin ends.

python serve.py DATABASE, with the Django to use on `PYTHONPATH`. An empty database is filled first.
"""

import datetime as dt
import os
import sys
import threading
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIServer

sys.path.insert(0, str(Path(__file__).parent))
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
os.environ["DJANGO_SITE_DATABASE"] = sys.argv[1]

import django

django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402
from django.contrib.staticfiles.handlers import StaticFilesHandler  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.servers.basehttp import WSGIRequestHandler  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from library.models import Author, Book, Copy, Tag  # noqa: E402

USER, PASSWORD = "admin", "admin-of-the-tests"


def fill() -> None:
    """The tables, one administrator and a little data; the same every time."""
    call_command("migrate", run_syncdb=True, verbosity=0)
    if User.objects.exists():
        return
    User.objects.create_superuser(USER, "admin@library.example", PASSWORD, first_name="Ada", last_name="Min")
    for name in ("bob", "carol"):
        User.objects.create_user(name, f"{name}@library.example", PASSWORD)
    for name in ("Editors", "Readers"):
        Group.objects.create(name=name)
    tags = [Tag.objects.create(label=label) for label in ("Sea", "History", "Maps", "Trade")]
    arrian = Author.objects.create(name="Arrian", email="arrian@library.example", born=dt.date(1986, 3, 1))
    hanno = Author.objects.create(name="Hanno", born=dt.date(1950, 7, 9))
    scylax = Author.objects.create(name="Scylax O'Caryanda", email="scylax@library.example")
    for number, (title, author) in enumerate(
        [
            ("Periplus of the Black Sea", arrian),
            ("Along the West Coast", hanno),
            ("The Inner Sea", scylax),
            ("Indica", arrian),
        ]
    ):
        when = dt.datetime(2020, 1 + number, 2, 9, 30, tzinfo=dt.UTC)
        book = Book.objects.create(
            title=title,
            author=author,
            price=f"{9 + number}.50",
            pages=100 + number,
            published=when,
            slug=f"book-{number}",
        )
        book.tags.set(tags[: number + 1])
        Copy.objects.create(book=book, shelf=f"A{number}")


class Server(ThreadingMixIn, WSGIServer):
    """One thread per request, none of which keeps the process alive."""

    daemon_threads = True


class Handler(WSGIRequestHandler):
    """Says nothing of its requests."""

    def log_message(self, *_args) -> None:
        """Nothing."""


def main() -> None:
    """Serve until stdin ends."""
    fill()
    server = Server(("127.0.0.1", 0), Handler)
    server.set_app(StaticFilesHandler(get_wsgi_application()))
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


main()
