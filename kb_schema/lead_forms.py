"""The form with which a visitor of a demo leaves a name, an address and words for the team behind it.

What is entered is a record of its own (`kb_schema.service_records.VisitorLead`), not a part of a run.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from kb_schema.base import Model, VariableName

LeadFieldKind = Literal["name", "organization", "email", "phone", "words"]
"""What a field is for. It decides the keyboard, the suggestions of a browser and how an entry is checked."""
MOST_FIELDS = 12
Label = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
Sentence = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]


class LeadField(Model):
    """One field of the form."""

    name: VariableName
    """Its name in exports."""
    kind: LeadFieldKind
    label: Label
    required: bool = False


class LeadFormTranslation(Model):
    """The texts of the form in another language; missing ones stay as authored."""

    title: str = Field(default="", max_length=120)
    consent: str = Field(default="", max_length=600)
    labels: dict[str, Label] = Field(default_factory=dict)
    """Name of a field -> its label."""


class LeadForm(Model):
    """What is asked, and the sentence that a visitor agrees to; without the agreement nothing is stored."""

    title: Label
    """The words of the button that opens it, and its heading."""
    fields: tuple[LeadField, ...] = Field(min_length=1, max_length=MOST_FIELDS)
    consent: Sentence
    translations: dict[str, LeadFormTranslation] = Field(default_factory=dict)
    """Language -> the texts in it."""

    @model_validator(mode="after")
    def _names_differ(self) -> LeadForm:
        names = [each.name for each in self.fields]
        if len(set(names)) != len(names):
            raise ValueError(f"fields used twice: {sorted({n for n in names if names.count(n) > 1})}")
        for language, words in self.translations.items():
            unknown = sorted(words.labels.keys() - set(names))
            if unknown:
                raise ValueError(
                    f"translations.{language}.labels: no field {unknown[0]!r}; the fields are {names}"
                )
        return self

    def translate(self, language: str) -> LeadForm:
        """Return the form in a language."""
        words = self.translations.get(language)
        if words is None:
            return self
        fields = tuple(
            each.model_copy(update={"label": words.labels.get(each.name, each.label)}) for each in self.fields
        )
        return self.model_copy(
            update={
                "title": words.title or self.title,
                "consent": words.consent or self.consent,
                "fields": fields,
            }
        )

    def list_untranslated(self, language: str) -> list[str]:
        """Return the paths, inside of the form, of the texts without a translation into that language."""
        words = self.translations.get(language, LeadFormTranslation())
        found = [name for name in ("title", "consent") if not getattr(words, name)]
        return [
            *found,
            *(f"fields[{n}].label" for n, f in enumerate(self.fields) if f.name not in words.labels),
        ]
