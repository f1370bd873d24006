"""How far our roles and names agree with Chromium's accessibility tree, and why not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from playwright.async_api import Page

from agent.locators.page_index import IndexedElement
from agent.locators.page_scan import scan_page
from tests.support.accessibility import Exposed, exposed_elements

# Chromium's own words for what ARIA calls otherwise.
ARIA_WORDS = {
    "image": "img", "Legend": "", "LabelText": "", "SvgRoot": "img", "Canvas": "", "Iframe": "", "IframePresentational": "",
    "DisclosureTriangle": "button", "DisclosureTriangleGrouped": "button", "Details": "group", "MenuListPopup": "",
    "MenuListOption": "option", "DescriptionList": "", "DescriptionListTerm": "term", "DescriptionListDetail": "definition",
    "Figcaption": "", "RootWebArea": "", "generic": "", "none": "", "StaticText": "", "InlineTextBox": "",
    "LayoutTable": "", "LayoutTableRow": "", "LayoutTableCell": "", "Section": "", "Abbr": "", "Ruby": "",
    "RubyAnnotation": "", "Pre": "", "EmbeddedObject": "", "PluginObject": "", "Video": "", "Audio": "",
    "ColorWell": "", "Date": "", "DateTime": "", "InputTime": "", "ListMarker": "", "LineBreak": "", "ListGrid": "grid",
    "HeaderAsNonLandmark": "", "FooterAsNonLandmark": "", "sectionheader": "", "sectionfooter": "", "ToggleButton": "button",
    "ComboBoxSelect": "combobox", "ComboBoxMenuButton": "combobox", "TextFieldWithComboBox": "combobox", "SearchBox": "searchbox",
    "GraphicsDocument": "img", "graphics-document": "img", "DocAbstract": "", "Unknown": "",
}  # fmt: skip
UNNAMED_ROLES = {"paragraph", "presentation", None}


@dataclass(frozen=True)
class Disagreement:
    """One element of which we say something else."""

    page: str
    element: str
    kind: str
    """`role` or `name`."""
    ours: str
    chromium: str

    @property
    def short(self) -> tuple[str, str, str, str]:
        return (self.kind, self.element.split("#")[0].split(":")[1], self.ours[:60], self.chromium[:60])


LOOKS = 5
"""Pages that change by themselves are looked at again."""


@dataclass
class Agreement:
    """Of how many elements we say the same."""

    compared: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)

    @property
    def rate(self) -> float:
        wrong = len({(each.page, each.element) for each in self.disagreements})
        return 1 - wrong / self.compared if self.compared else 1.0

    def add(self, other: Agreement) -> None:
        self.compared += other.compared
        self.disagreements += other.disagreements

    def table(self) -> str:
        counted = Counter(each.short for each in self.disagreements)
        return "\n".join(f"{count:4} {' | '.join(short)}" for short, count in counted.most_common())


async def agreement_on(page: Page, name: str) -> Agreement:
    """Every element of the page that Chromium tells about, or that we give a role."""
    for _ in range(LOOKS):
        index = await scan_page(page, everything=True)
        exposed = await exposed_elements(page)
        if [e.tag for e in index.elements] == [e.tag for e in exposed]:
            break
    else:
        raise AssertionError(f"{name} changed between two looks {LOOKS} times")
    result = Agreement()
    for ours, theirs in zip(index.elements, exposed, strict=True):
        role = ARIA_WORDS.get(theirs.role, theirs.role)
        if theirs.ignored or not (role or (ours.role and ours.visible)):
            continue
        result.compared += 1
        said = f"{ours.at}:{ours.tag}{'#' + ours.id if ours.id else ''}"
        if (ours.role or "") != role and not _no_role_in_aria(ours, theirs):
            result.disagreements.append(
                Disagreement(name, said, "role", ours.role or "", f"{role} ({theirs.role})")
            )
        if role and ours.name.lower() != theirs.name.lower():
            result.disagreements.append(
                Disagreement(name, said, "name", f"{ours.role}: {ours.name}", theirs.name)
            )
    return result


def _no_role_in_aria(ours: IndexedElement, theirs: Exposed) -> bool:
    """Date and colour fields have no role in ARIA."""
    return ours.role is None and theirs.role in {"ColorWell", "Date", "DateTime", "InputTime"}
