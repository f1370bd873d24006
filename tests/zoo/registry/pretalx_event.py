"""An event in pretalx: its people, sessions, rooms and mails, its server, and its state."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from tests.zoo.registry.serving import (
    PASSWORD,
    ServedApplication,
    copy_database,
    free_port,
    installed,
    read_rows,
    run,
    serve,
    work_folder,
)
from tests.zoo.zoo_jobs import RunningApplication

VERSIONS = ("2025.2.2",)
USER = "programme@maps.example.org"
"""Mails to addresses under example.org are not sent."""

_TRACKS = (
    ("Surveying", "#3366aa"),
    ("Old maps", "#886633"),
    ("Sea charts", "#117788"),
    ("Sea charts of 1780", "#224455"),
    ("Web maps", "#aa3366"),
    ("Walker's maps", "#558822"),
    ('The "other" world', "#663399"),
    ("Žemělepisy und Größen", "#bb7711"),
)
"""Name and colour."""
_TYPES = (("Talk", 30), ("Lightning talk", 10), ("Workshop", 90), ("Panel", 60), ("Field trip", 240))
"""Name and minutes."""
_ROOMS = (
    ("Blue hall", "Ground floor, left of the stairs", 320),
    ("Green room", "First floor", 80),
    ("Attic", "Above the library", 24),
    ("Attic studio", "Above the library, behind the glass door", 12),
    ("Old chapel", "Across the yard", 150),
    ("Printers' workshop", "Bring an apron", 16),
    ('The "Compass"', "Round room in the tower", 40),
    ("Sál Žofín", "Vchod z náměstí", 210),
    ("Foyer", "Posters and coffee", 60),
    ("Lecture room 4", "Second floor, right", 48),
    ("Garden tent", "If it does not rain", 100),
    ("Board room", "Ask at the desk", 10),
)
"""Name, description and seats."""
_TAGS = (
    "beginners",
    "beginners welcome",
    "outdoors",
    "needs projector",
    "remote speaker",
    "in German",
    "hands-on",
    "local history",
    "children",
    "speaker's first talk",
    'so-called "classic"',
    "čeština",
    "sponsored",
)
_SPEAKERS = (
    "Amina Yusuf",
    "Bruno Keller",
    "Carla Mendes",
    "David Osei",
    "Elin Strand",
    "Faisal Rahman",
    "Greta Holm",
    "Henry O'Dowd",
    "Ilona Žáková",
    "Jun Tanaka",
    "Karim Nasser",
    "Lena Vogt",
)
_SESSIONS = (
    ("Levels and theodolites", "Amina Yusuf", "Workshop", "Surveying", "submitted", ("hands-on", "beginners")),
    ("Chains, rods and poles", "Bruno Keller", "Talk", "Surveying", "submitted", ()),
    ("A forest seen by laser", "Carla Mendes", "Talk", "Surveying", "submitted", ("needs projector",)),
    ("Forgeries in old atlases", "David Osei", "Talk", "Old maps", "submitted", ()),
    ("Paper, ink and glue", "Elin Strand", "Workshop", "Old maps", "submitted", ("hands-on",)),
    ("Islands that never were", "Faisal Rahman", "Talk", "Old maps", "accepted", ("beginners welcome",)),
    ("Soundings and lead lines", "Greta Holm", "Talk", "Sea charts", "submitted", ()),
    ("Lighthouses on paper", "Henry O'Dowd", "Lightning talk", "Sea charts", "submitted", ("local history",)),
    ("Tides for landlubbers", "Amina Yusuf", "Talk", "Sea charts", "submitted", ("beginners",)),
    ("The harbour of 1780", "Greta Holm", "Talk", "Sea charts of 1780", "submitted", ("local history",)),
    ("Copper plates, cut again", "Elin Strand", "Workshop", "Sea charts of 1780", "submitted", ()),
    ("Tiles without a server", "Jun Tanaka", "Workshop", "Web maps", "submitted", ("needs projector",)),
    ("Labels that do not collide", "Karim Nasser", "Talk", "Web maps", "submitted", ()),
    ("Maps for screen readers", "Lena Vogt", "Talk", "Web maps", "submitted", ("remote speaker",)),
    ("Map styles in an hour", "Jun Tanaka", "Panel", "Web maps", "confirmed", ()),
    ("Ten hikes, ten mistakes", "Bruno Keller", "Lightning talk", "Walker's maps", "submitted", ("outdoors",)),
    ("Who paints the signposts?", "Henry O'Dowd", "Panel", "Walker's maps", "submitted", ()),
    ("Across the moor by night", "Carla Mendes", "Field trip", "Walker's maps", "submitted", ("outdoors",)),
    ('Mars and other "continents"', "David Osei", "Talk", 'The "other" world', "submitted", ()),
    ("Maps of what one dreams", "Faisal Rahman", "Panel", 'The "other" world', "submitted", ("children",)),
    ("Mapy pro děti 地図", "Ilona Žáková", "Workshop", "Žemělepisy und Größen", "submitted", ("čeština", "children")),
    ("Größte Karte der Welt", "Ilona Žáková", "Talk", "Žemělepisy und Größen", "submitted", ("in German",)),
    ("Tides", "Karim Nasser", "Lightning talk", "Sea charts", "rejected", ()),
    ("How we scanned a library", "Lena Vogt", "Talk", "Old maps", "rejected", ("local history",)),
)  # fmt: skip
"""Title, speaker, type, track, state and tags."""
_MAILS = (
    ("Your room has changed", "Amina Yusuf", "You are in the Green room now."),
    ("Your room has changed again", "Amina Yusuf", "You are in the Attic now, we are sorry."),
    ("Please send us a portrait", "Bruno Keller", "We print it in the programme."),
    ("Travel costs", "Carla Mendes", "Keep your tickets, please."),
    ("Dinner on Friday", "David Osei", "We meet at seven in the Foyer."),
    ("Is your talk ready?", "Elin Strand", "We need the slides by Monday."),
    ("A question about your abstract", "Faisal Rahman", "Is the second island real?"),
    ("Loan of a theodolite", "Greta Holm", "It must be back by Sunday."),
    ("The harbour's key", "Henry O'Dowd", "The warden's office has it."),
    ('About the word "map"', "Lena Vogt", 'We would write "chart".'),
    ("Překlad: ubytování für Gäste", "Ilona Žáková", "Hotel je u nádraží."),
    ("Cable for your computer", "Jun Tanaka", "We have them all."),
    ("Parking", "Karim Nasser", "There is none."),
)
"""Subject, to whom, and text, in the outbox."""
_TABLES_ONLY = """
from pretalx.settings import *

class _TablesAsTheyAre:  # the migrations make the same ones in most of a minute
    def __contains__(self, application):
        return True

    def __getitem__(self, application):
        return None

MIGRATION_MODULES = _TablesAsTheyAre()
"""
_SEED = """
import json, os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "pretalx.settings"
django.setup()
from datetime import date, datetime, timedelta, timezone
from django.db import transaction
from django_scopes import scope, scopes_disabled
from pretalx.common.models.settings import GlobalSettings
from pretalx.event.models import Event, Organiser, Team
from pretalx.mail.models import QueuedMail
from pretalx.person.models import SpeakerProfile, User
from pretalx.schedule.models import Room
from pretalx.submission.models import Submission, SubmissionType, Tag, Track

given = json.load(open("given.json", encoding="utf-8"))
day = datetime(2031, 3, 3, 9, tzinfo=timezone.utc)
people = GlobalSettings().settings
people.update_check_enabled, people.update_check_ack = False, True
with transaction.atomic(), scopes_disabled():
    me = User.objects.create_user(
        email=given["user"], password=given["password"], name="Petra Programme", locale="en", timezone="UTC")
    organiser = Organiser.objects.create(name="Society for Maps", slug="maps")
    team = Team.objects.create(
        organiser=organiser, name="Programme", all_events=True, can_create_events=True, can_change_teams=True,
        can_change_organiser_settings=True, can_change_event_settings=True, can_change_submissions=True)
    team.members.add(me)
    event = Event.objects.create(
        name="Compass Days", slug="compass", organiser=organiser, date_from=date(2031, 9, 5), date_to=date(2031, 9, 7),
        timezone="UTC", email="desk@maps.example.org", locale_array="en", content_locale_array="en", locale="en")
with transaction.atomic(), scope(event=event):
    event.build_initial_data()
    review, selection = event.review_phases.order_by("position")
    review.is_active, selection.is_active = False, True
    review.save()
    selection.save()
    first = event.cfp.default_type
    kinds = {}
    for name, minutes in given["types"]:
        kind = first if not kinds else SubmissionType(event=event)
        kind.name, kind.default_duration = name, minutes
        kind.save()
        kinds[name] = kind
    tracks = {name: Track.objects.create(event=event, name=name, color=color, position=number)
              for number, (name, color) in enumerate(given["tracks"])}
    for number, (name, description, capacity) in enumerate(given["rooms"]):
        Room.objects.create(event=event, name=name, description=description, capacity=capacity, position=number)
    tags = {name: Tag.objects.create(event=event, tag=name, color="#446688") for name in given["tags"]}
    speakers = {}
    for number, name in enumerate(given["speakers"]):
        speakers[name] = User.objects.create_user(
            email=f"speaker{number}@maps.example.org", password=given["password"], name=name, locale="en",
            timezone="UTC")
        SpeakerProfile.objects.create(user=speakers[name], event=event, biography=f"{name} draws maps.")
    for number, (title, speaker, kind, track, state, chosen) in enumerate(given["sessions"]):
        session = Submission.objects.create(
            event=event, title=title, submission_type=kinds[kind], track=tracks[track], content_locale="en",
            abstract=f"About: {title}", code=f"QZ{'ABCDEFGHJKLMNPQRSTUVWXYZ'[number]}793")
        session.speakers.add(speakers[speaker])
        session.tags.set([tags[name] for name in chosen])
        if state in ("accepted", "confirmed"):
            session.accept(orga=True)
        if state == "confirmed":
            session.confirm(orga=True)
        if state == "rejected":
            session.reject(orga=True)
        Submission.objects.filter(pk=session.pk).update(created=day + timedelta(hours=number))
    QueuedMail.objects.all().delete()
    for subject, speaker, text in given["mails"]:
        mail = QueuedMail.objects.create(event=event, subject=subject, text=text, locale="en")
        mail.to_users.add(speakers[speaker])
"""


@asynccontextmanager
async def start_pretalx(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Make an event, seed it and serve it."""
    python = installed("pretalx", version) / "bin" / "python"
    async with work_folder(parent) as folder:
        database, seed, port = folder / "event.sqlite", folder / "seed.sqlite", free_port()
        base = f"http://127.0.0.1:{port}"
        surroundings = {
            "PRETALX_DATA_DIR": str(folder / "data"),
            "PRETALX_DB_TYPE": "sqlite3", "PRETALX_DB_NAME": str(database), "PRETALX_SITE_URL": base,
            "PRETALX_DEBUG": "False", "DJANGO_SETTINGS_MODULE": "pretalx.settings",
        }  # fmt: skip
        static = _collect_files(python, folder, surroundings)
        surroundings["PRETALX_FILESYSTEM_STATIC"] = str(static)
        (folder / "tables_only.py").write_text(_TABLES_ONLY)
        only = {"DJANGO_SETTINGS_MODULE": "tables_only", "PYTHONPATH": str(folder)}
        run([python, "-m", "django", "migrate", "--run-syncdb"], folder, surroundings | only)
        given = {
            "user": USER, "password": PASSWORD, "tracks": _TRACKS, "types": _TYPES, "rooms": _ROOMS, "tags": _TAGS,
            "speakers": _SPEAKERS, "sessions": _SESSIONS, "mails": _MAILS,
        }  # fmt: skip
        (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
        run([python, "-c", _SEED], folder, surroundings)
        copy_database(database, seed)
        command: list[str | Path] = [
            python, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--threads", "4", "pretalx.wsgi",
        ]  # fmt: skip
        async with serve(command, folder, f"{base}/orga/login/", surroundings):
            yield ServedApplication(
                base, lambda: copy_database(seed, database), lambda: _read_state(database)
            )


def _collect_files(python: Path, folder: Path, surroundings: Mapping[str, str]) -> Path:
    """Return where scripts and styles are. Collecting and compressing them takes a minute, so it is done once."""
    kept = python.parent.parent / "static"
    if not kept.exists():
        made = folder / "static"
        run(
            [python, "-m", "pretalx", "collectstatic", "--no-input"],
            folder,
            {**surroundings, "PRETALX_FILESYSTEM_STATIC": str(made)},
        )
        shutil.copytree(made, unfinished := kept.with_name(f"static-{os.getpid()}"))
        with suppress(OSError):  # another process was quicker
            unfinished.rename(kept)
        shutil.rmtree(unfinished, ignore_errors=True)
    return kept


def _read_state(database: Path) -> Any:
    """Return what the organisers see, without numbers and codes of rows, times of changes and links to them."""
    state = {
        "sessions": read_rows(
            database,
            "select title, abstract, session.description, notes, internal_notes, kind.name as type, track.name as track,"
            " state, pending_state, duration, do_not_record, is_featured,"
            " (select group_concat(tag, ' | ') from (select tag.tag from submission_submission_tags chosen"
            " join submission_tag tag on tag.id = chosen.tag_id where chosen.submission_id = session.id"
            " order by tag.tag)) as tags,"
            " (select group_concat(name, ' | ') from (select person.name from submission_speakerrole chosen"
            " join person_user person on person.id = chosen.user_id where chosen.submission_id = session.id"
            " order by person.name)) as speakers,"
            " (select group_concat(coalesce(room.name, '') || ' ' || coalesce(slot.start, ''), ' | ')"
            " from schedule_talkslot slot left join schedule_room room on room.id = slot.room_id"
            " where slot.submission_id = session.id) as slots,"
            " (select group_concat(said.text, ' | ') from submission_submissioncomment said"
            " where said.submission_id = session.id) as comments"
            " from submission_submission session"
            " join submission_submissiontype kind on kind.id = session.submission_type_id"
            " left join submission_track track on track.id = session.track_id order by session.id",
        ),
        "types": read_rows(
            database,
            "select name, default_duration, deadline, requires_access_code from submission_submissiontype order by id",
        ),
        "tracks": read_rows(
            database,
            "select name, description, color, position, requires_access_code from submission_track order by id",
        ),
        "tags": read_rows(
            database, "select tag, description, color, is_public from submission_tag order by id"
        ),
        "rooms": read_rows(
            database,
            "select name, description, speaker_info, capacity, position, (select count(*)"
            " from schedule_availability free where free.room_id = room.id) as free"
            " from schedule_room room order by id",
        ),
        "fields": read_rows(
            database,
            "select question, help_text, variant, target, question_required, deadline, freeze_after, active,"
            " is_public, is_visible_to_reviewers, contains_personal_data, min_length, max_length, position,"
            " (select group_concat(answer, ' | ') from submission_answeroption choice"
            " where choice.question_id = field.id) as choices"
            " from submission_question field order by id",
        ),
        "mails": read_rows(
            database,
            "select subject, text, [to], reply_to, cc, bcc, sent is not null as sent, (select group_concat(person.name)"
            " from mail_queuedmail_to_users chosen join person_user person on person.id = chosen.user_id"
            " where chosen.queuedmail_id = mail.id) as people from mail_queuedmail mail order by id",
        ),
        "mail templates": read_rows(
            database, "select role, subject, text, reply_to, bcc from mail_mailtemplate order by id"
        ),
        "people": read_rows(
            database,
            "select person.name, email, person.locale, biography, has_arrived, profile.internal_notes"
            " from person_user person left join person_speakerprofile profile on profile.user_id = person.id"
            " order by person.id",
        ),
        "access codes": read_rows(
            database,
            "select valid_until, maximum_uses, internal_notes from submission_submitteraccesscode order by id",
        ),
        "call": read_rows(database, "select headline, text, deadline, settings, fields from submission_cfp"),
        "events": read_rows(
            database,
            "select name, slug, is_public, date_from, date_to, timezone, email, locale, landing_page_text,"
            " feature_flags, display_settings, review_settings, mail_settings from event_event",
        ),
        "phases": read_rows(
            database, "select name, is_active, start, [end] from submission_reviewphase order by id"
        ),
    }
    for mail in state["mails"]:
        mail["text"] = re.sub(r"https?://\S+", "(link)", mail["text"])
    return state
