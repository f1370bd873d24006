"""The pages cases are made of, and what a release of Spadeworks does to its ids."""

from __future__ import annotations

from seeds.spadeworks.site.ui_labels import Ui

SPADEWORKS = (
    "/agent", "/agent/create", "/agent/agt-1002", "/agent/agt-1002/edit", "/contacts", "/contacts/import",
    "/campaign", "/campaign/create/details", "/inbox", "/settings", "/dashboard",
)  # fmt: skip
SPADEWORKS_SIGNED_OUT = ("/login", "/forgot-password")
DJANGO = (
    "/admin/", "/admin/auth/user/", "/admin/auth/user/add/", "/admin/auth/user/2/change/", "/admin/library/book/",
    "/admin/library/book/1/change/", "/admin/library/author/", "/admin/library/author/add/",
    "/admin/library/author/2/delete/", "/admin/password_change/",
)  # fmt: skip
RELEASES = (("3.2", "4.2"), ("4.2", "5.2"), ("3.2", "5.2"))


def redesigned(contract: str) -> str:
    """What the site's own redesign made of a contract: ids are renamed, the rest stays."""
    kind, _, said = contract.partition(" ")
    return f"id {Ui(2).id(said)}" if kind == "id" else contract
