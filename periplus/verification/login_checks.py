"""Checks before a verification begins that the requirements and tasks that sign in are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from kb_schema.verification import Requirement
from kb_store import Stores
from periplus.errors import UserError
from periplus.runs.input_names import check_inputs_used
from periplus.runs.run_checks import check_task_known
from periplus.store_selection import open_selected_stores
from periplus.verification.verification_batch import VerificationBatch
from periplus.verification.verifier_settings import resolve_requirement_url
from periplus.website_selection import list_websites


async def check_logins_known(
    batch: VerificationBatch, wanted: Sequence[Requirement], given: Mapping[str, object]
) -> None:
    """Raise `UserError` for a login that is neither a requirement nor a task of the loaded knowledge, and for an input of no login.

    A seed's knowledge is loaded later, with its site; signing in checks it then.
    """
    if batch.seed is not None:
        return
    own = {each.req_id for each in wanted}
    tasks = {(each.login or batch.login): each for each in wanted}
    if given and not tasks.keys() - own - {None}:
        raise UserError(
            f"no task signs in, so there is no input {min(given)!r}", fix="name the task with --login TASK"
        )
    for task_id, requirement in tasks.items():
        if task_id is None or task_id in own:
            continue
        async with open_selected_stores() as stores:
            website_id = await select_login_website(stores, _website_of(batch, requirement), task_id)
            await check_task_known(stores, website_id, task_id, what="task or requirement")
            if len(tasks.keys() - own - {None}) == 1:
                await check_inputs_used(stores, website_id, (task_id,), given)


async def select_login_website(stores: Stores, website_id: str, task_id: str) -> str:
    """Return the website whose task signs in: this one, or the only one. Raises `UserError` if it is unclear."""
    known = await list_websites(stores)
    if website_id in known:
        return website_id
    if len(known) == 1:
        return known[0]
    raise UserError(
        f"login {task_id!r}: no requirement has this id, and the knowledge base has no website {website_id!r}",
        fix="name the req_id of a requirement, or load the site's knowledge (periplus kb load DIR) "
        "and name the site with --website",
    )


def _website_of(batch: VerificationBatch, requirement: Requirement) -> str:
    if batch.website is not None:
        return batch.website
    return urlsplit(resolve_requirement_url(requirement, batch.base_url)[1]).netloc
