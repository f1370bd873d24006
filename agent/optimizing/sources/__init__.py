"""Sources of pytest-playwright suites, patched by syntax tree: locators and waits only, never anything else."""

from agent.optimizing.sources.applying import MAX_PATCHES, Applied, NotApplied, apply
from agent.optimizing.sources.files import Files, SourceUnreadable, SourceUnwritable
from agent.optimizing.sources.guard import violations
from agent.optimizing.sources.proposing import Refusal, fingerprint, propose, propose_wait
from agent.optimizing.sources.standing import stands_on
from agent.optimizing.sources.workbench import Workbench, diff_of

__all__ = [
    "MAX_PATCHES",
    "Applied",
    "Files",
    "NotApplied",
    "Refusal",
    "SourceUnreadable",
    "SourceUnwritable",
    "Workbench",
    "apply",
    "diff_of",
    "fingerprint",
    "propose",
    "propose_wait",
    "stands_on",
    "violations",
]
