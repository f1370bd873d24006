"""Makes, seeds and serves a Django project of one file of settings."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.zoo.registry.serving import (
    PASSWORD,
    ServedApplication,
    copy_database,
    free_port,
    installed,
    run,
    serve,
    work_folder,
)
from tests.zoo.zoo_jobs import RunningApplication

_SETTINGS = """
import os
from pathlib import Path
BASE_DIR = Path(__file__).parent
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": BASE_DIR / "site.sqlite"}}
SECRET_KEY = "of the zoo"
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "site_urls"
STATIC_URL = "/static/"
MEDIA_URL = "/media/"
MEDIA_ROOT = BASE_DIR / "media"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-us"
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
INSTALLED_APPS = [
    "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
    "django.contrib.messages", "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [BASE_DIR / "templates"], "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.template.context_processors.debug", "django.template.context_processors.request",
        "django.contrib.auth.context_processors.auth", "django.contrib.messages.context_processors.messages",
    ]},
}]
"""
_SEED = """
import json, os
os.environ["DJANGO_SETTINGS_MODULE"] = "site_settings"
import django
django.setup()
from django.conf import settings
from django.core.management import call_command
if hasattr(settings, "OWN_APPS"):  # others' migrations stay as they are
    call_command("makemigrations", *settings.OWN_APPS, verbosity=0)
call_command("migrate", run_syncdb=True, verbosity=0)
from django.contrib.auth import get_user_model
given = json.load(open("seed.json", encoding="utf-8"))
admin = get_user_model().objects.create_superuser(given["user"], given["user"] + "@quarry.example", given["password"])
"""


@asynccontextmanager
async def serve_project(
    parent: Path, install: tuple[str, str], files: Mapping[str, str], settings: str, seed: str, data: Any, user: str,
    read_state: Callable[[Path], Any], answers_at: str,
) -> AsyncIterator[RunningApplication]:  # fmt: skip
    """Make a project in a folder of its own, seed it and serve it.

    `install`: name and version. `files`: path in the project -> text (`site_urls.py` has the addresses).
    `settings`, `seed`: Python that is added to the settings and run after the tables are made; the seed finds `data`
    as `given["data"]`, and the superuser as `admin`. `read_state` is given the database.
    """
    python = installed(*install) / "bin" / "python"
    async with work_folder(parent) as folder:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "site_settings.py").write_text(_SETTINGS + settings)
        (folder / "seed.py").write_text(_SEED + seed)
        (folder / "seed.json").write_text(json.dumps({"user": user, "password": PASSWORD, "data": data}))
        run([python, "seed.py"], folder)
        database, kept, port = folder / "site.sqlite", folder / "seed.sqlite", free_port()
        copy_database(database, kept)
        command = [python, "-m", "django", "runserver", "--noreload", "--insecure", f"127.0.0.1:{port}"]
        surroundings = {"DJANGO_SETTINGS_MODULE": "site_settings", "PYTHONPATH": str(folder)}
        base = f"http://127.0.0.1:{port}"
        async with serve(command, folder, f"{base}{answers_at}", surroundings):
            yield ServedApplication(base, lambda: copy_database(kept, database), lambda: read_state(database))
