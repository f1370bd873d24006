"""The planner (PACTS 4.1): requirements in any format become intents; nothing is guessed.

Formats: `workbooks`, `delimited`, `objects`, `pipes`, `gherkin`, `prose` make drafts; `composing` judges them.
"""

from agent.verifying.planning.problems import Problem, RequirementsInvalid
from agent.verifying.planning.reading import read_requirements, requirement_of

__all__ = ["Problem", "RequirementsInvalid", "read_requirements", "requirement_of"]
