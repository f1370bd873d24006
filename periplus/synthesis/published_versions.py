"""The published versions of a workflow, and the return to an earlier one.

Every publication is a change in the store, with all its documents; a version is one of them. So is what a publication
replaced that had been edited or loaded from files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent.synthesis.workflows.workflow_documents import WorkflowDocuments
from kb_schema.documents import did_you_mean
from kb_schema.proposals import Proposal, WorkflowChange
from kb_schema.workflow_versions import find_workflow_version
from kb_schema.workflows import Workflow
from kb_store import Stores, read_knowledge
from kb_store.audit.audit_recorder import record_async
from periplus.errors import UserError
from periplus.synthesis.workflow_synthesis import SynthesisSite, publish_workflow


@dataclass(frozen=True, slots=True)
class PublishedVersion:
    """One version of a workflow."""

    version: str
    published_at: datetime | None
    """None: it was never published, but edited or loaded from files."""
    change: WorkflowChange | None
    """None: it is the current version, and nothing is kept of it yet."""
    current: bool
    """Whether a run would use it now."""

    @property
    def workflow(self) -> Workflow | None:
        """Return the workflow's document in this version."""
        return None if self.change is None else self.change.workflow


async def list_versions(stores: Stores, website_id: str, workflow_id: str) -> list[PublishedVersion]:
    """Return the versions of a workflow, the newest publication first.

    A current version that was never published is first. Raises `UserError` for an unknown workflow.
    """
    knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
    workflow = knowledge.workflows.get(workflow_id)
    proposals = await stores.proposals.proposals(website_id)
    changes = _list_publications(proposals, workflow_id)
    if workflow is None and not changes:
        raise UserError(
            f"no workflow {workflow_id!r}",
            fix=did_you_mean(workflow_id, knowledge.workflows) or "`periplus workflows` lists what there is",
        )
    now = None if workflow is None else find_workflow_version(knowledge, workflow)
    found: dict[str, PublishedVersion] = {}
    for at, change in changes:
        version = find_workflow_version(knowledge, change.workflow, change.tasks)
        found.pop(version, None)
        published_at = at if change.published else None
        found[version] = PublishedVersion(version, published_at, change, version == now)
    newest_first = list(reversed(found.values()))
    if now is not None and now not in found:
        newest_first.insert(0, PublishedVersion(now, None, None, current=True))
    return newest_first


async def roll_back(site: SynthesisSite, workflow_id: str, version: str | None = None) -> PublishedVersion:
    """Publish an earlier version again and return it; None: the one before the current version.

    Screens that exist stay as they are: they may have been healed since, and other workflows use them. Runs that are under way go on with the version with which they began. Raises `UserError`.
    """
    versions = await list_versions(site.stores, site.website_id, workflow_id)
    wanted = _choose_version(versions, workflow_id, version)
    change = wanted.change
    if change is None:
        raise UserError(f"nothing is kept of version {wanted.version}", fix="choose another version")
    knowledge, _ = await read_knowledge(site.stores.documents, site.stores.graph, site.website_id)
    screens = [knowledge.screens.get(screen.screen_id, screen) for screen in change.screens]
    await publish_workflow(
        site,
        WorkflowDocuments(change.workflow, change.tasks, change.dependencies),
        screens,
        replace=True,
    )
    about = f"{workflow_id} to version {wanted.version}"
    await record_async("workflow_rolled_back", about, website=site.website_id)
    return wanted


def _choose_version(
    versions: Sequence[PublishedVersion], workflow_id: str, version: str | None
) -> PublishedVersion:
    others = [each for each in versions if not each.current and each.change is not None]
    if version is None:
        if not others:
            raise UserError(
                f"workflow {workflow_id!r} has no other version", fix="publish it again with --replace first"
            )
        return others[0]
    found = [each for each in versions if each.version.startswith(version)]
    if len(found) == 1 and found[0].current:
        raise UserError(f"version {found[0].version} is the current version", fix="nothing needs to be done")
    if len(found) != 1 or found[0].change is None:
        known = ", ".join(each.version for each in others) or "none"
        raise UserError(
            f"workflow {workflow_id!r} has no version {version!r} to return to",
            fix=f"other versions: {known}",
        )
    return found[0]


def _list_publications(
    proposals: Sequence[Proposal], workflow_id: str
) -> list[tuple[datetime | None, WorkflowChange]]:
    """Return when each version was published or replaced last, oldest first."""
    found = [
        (each.decided_at, each.change)
        for each in proposals
        if isinstance(each.change, WorkflowChange)
        and each.status in ("accepted", "replaced")
        and each.change.workflow.workflow_id == workflow_id
    ]
    return sorted(found, key=lambda each: (each[0] is not None, each[0]))
