"""All applications of the zoo, by name."""

from __future__ import annotations

from tests.zoo.registry.calibreweb import CALIBREWEB
from tests.zoo.registry.copyparty import COPYPARTY
from tests.zoo.registry.django_helpdesk import DJANGO_HELPDESK
from tests.zoo.registry.django_oscar import DJANGO_OSCAR
from tests.zoo.registry.django_unfold import DJANGO_UNFOLD
from tests.zoo.registry.doccano import DOCCANO
from tests.zoo.registry.keycloak import KEYCLOAK
from tests.zoo.registry.kinto import KINTO
from tests.zoo.registry.mlflow import MLFLOW
from tests.zoo.registry.piccolo_admin import PICCOLO_ADMIN
from tests.zoo.registry.pocketbase import POCKETBASE
from tests.zoo.registry.prefect import PREFECT
from tests.zoo.registry.pretalx import PRETALX
from tests.zoo.registry.roundup import ROUNDUP, ROUNDUP_BELOW
from tests.zoo.registry.shiori import SHIORI
from tests.zoo.registry.tiddlywiki import TIDDLYWIKI
from tests.zoo.registry.trac import TRAC
from tests.zoo.registry.wagtail import WAGTAIL
from tests.zoo.single_page.elation import ELATION
from tests.zoo.single_page.gitlab import GITLAB
from tests.zoo.single_page.gmail import GMAIL
from tests.zoo.single_page.handshake import HANDSHAKE
from tests.zoo.single_page.linear import LINEAR
from tests.zoo.single_page.paypal import PAYPAL
from tests.zoo.single_page.xero import XERO
from tests.zoo.zoo_jobs import Application

APPLICATIONS: dict[str, Application] = {
    each.name: each
    for each in (
        ELATION,
        GITLAB,
        GMAIL,
        HANDSHAKE,
        LINEAR,
        PAYPAL,
        XERO,
        CALIBREWEB,
        COPYPARTY,
        DJANGO_HELPDESK,
        DJANGO_OSCAR,
        DJANGO_UNFOLD,
        DOCCANO,
        KEYCLOAK,
        KINTO,
        MLFLOW,
        PICCOLO_ADMIN,
        POCKETBASE,
        PRETALX,
        PREFECT,
        ROUNDUP,
        ROUNDUP_BELOW,
        SHIORI,
        TIDDLYWIKI,
        TRAC,
        WAGTAIL,
    )
}
