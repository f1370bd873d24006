"""The pages of the sites that are rendered by the server, as HTML."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from tests.interface_changes.site_models import Part, SiteModel

_ICON = '<svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true"><path d="M2 8h12M8 2v12"/></svg>'


def build_page(model: SiteModel, path: str, wanted: str, state: dict[str, Any], links: list[str]) -> str:
    """Return the page at a path: the list, the form (`/new`), or the form alone (`/form`)."""
    head = "".join(_link(each) for each in links)
    if model.make in ("react", "vue", "mui", "antd"):
        data = json.dumps(model.to_json() | {"state": state}).replace("<", "\\u003c")
        body = (
            f'<div id="root"></div><script>window.MODEL = {data}</script><script src="/client.js"></script>'
        )
    else:
        page = _Page(model)
        form = path in ("/new", "/form")
        body = page.form(state) if form else page.list(state, wanted)
        if path == "/form":
            return body
        body = f"<main>{body}</main>"
        if model.make == "htmx":
            body = f'<div id="page">{body}</div>'
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(model.list_heading)}</title>{head}"
        f"<body>{body}</body></html>"
    )


def _link(address: str) -> str:
    if address.endswith(".css"):
        return f'<link rel=stylesheet href="{address}">'
    return f'<script src="{address}"></script>'


def _attributes(**given: str | bool | None) -> str:
    return "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in given.items()
        if value not in ("", None, False)
    )


def _forget(part: Part, how: str = "value = ''") -> str:
    return f"this.{how}" if part.forgets else ""


class _Page:
    def __init__(self, model: SiteModel) -> None:
        self._model = model
        self._htmx = model.make == "htmx"

    def _class(self, key: str) -> str:
        return self._model.classes.get(key, "")

    def _boxed(self, html: str) -> str:
        for _ in range(self._model.boxes):
            html = f"<div>{html}</div>"
        return html

    # -- the list ------------------------------------------------------------------------------------

    def list(self, state: dict[str, Any], wanted: str) -> str:
        model = self._model
        rows = [each for each in state["rows"] if wanted.casefold() in each["name"].casefold()]
        if wanted and "nothing_found" in model.bugs:
            rows = []
        message = f"<p role=status>{escape(state['message'])}</p>" if state["message"] else ""
        head = "".join(f"<th>{escape(model.column_words[each])}</th>" for each in model.columns)
        body = "".join(self._row(each) for each in rows)
        table = f"<table{_attributes(class_=self._class('table'))}><thead><tr>{head}<th></th></tr></thead><tbody>{body}</tbody></table>"
        gone = "open_gone" in model.bugs and bool(state["message"])
        opener, search = "" if gone else self._open(), self._search()
        above = "".join(
            (
                opener if model.parts["open"].place != "last" else "",
                search if model.parts["search"].place != "last" else "",
            )
        )
        below = "".join(
            (
                search if model.parts["search"].place == "last" else "",
                opener if model.parts["open"].place == "last" else "",
            )
        )
        return (
            f"<header><h1>{escape(model.list_heading)}</h1></header>{message}{above}{table}{below}"
            f"<div id=panel></div>{self._dialog()}"
        )  # fmt: skip

    def _open(self) -> str:
        part = self._model.parts["open"]
        if part.removed:
            return ""
        go = "" if part.dead else "location.href='/new'"
        if self._htmx:
            here = {} if part.dead else {"hx_get": "/form", "hx_target": "#panel"}
            return self._boxed(self._press(part, "open", "button", **here))
        if part.tag == "a":
            return self._boxed(
                f"<a{_attributes(href='#' if part.dead else '/new', id=part.id, data_testid=part.test_id, class_=self._class('button'))}>{escape(part.words)}</a>"
            )
        return self._boxed(self._press(part, "open", "button", onclick=go))

    def _search(self) -> str:
        part, find = self._model.parts["search"], self._model.parts["find"]
        field = self._labelled(
            part,
            f"<input{_attributes(type='search', id=part.id or self._needed_id('search', part), name=part.name, class_=self._class('field'), oninput=_forget(part), **self._said(part))}>",
            "search",
        )
        script = "event.preventDefault(); location.href = '/?q=' + encodeURIComponent(this.querySelector('input').value)"
        button = "" if find.removed else self._press(find, "find", "button" if find.dead else "submit")
        return f"<form role=search{_attributes(onsubmit=script)}>{field}{self._boxed(button)}</form>"

    def _row(self, row: dict[str, Any]) -> str:
        model = self._model
        kinds = dict(model.options)
        cells = {"name": row["name"], "kind": kinds.get(row["kind"], row["kind"])}
        tds = "".join(f"<td>{escape(cells[each])}</td>" for each in model.columns)
        buttons = "".join(self._row_button(each, row) for each in model.row_buttons)
        return f"<tr>{tds}<td>{buttons}</td></tr>"

    def _row_button(self, key: str, row: dict[str, Any]) -> str:
        model = self._model
        if key in ("other", "more"):
            words = model.other_act if key == "other" else "Look at it"
            return self._boxed(
                f"<button{_attributes(type='button', class_=self._class('button'))}>{escape(words)}</button>"
            )
        part = model.parts[key]
        if part.removed:
            return ""
        if key == "remove":
            ask = "" if part.dead else f"ask({row['id']}, {json.dumps(row['name'])})"
            return self._boxed(self._press(part, key, "button", onclick=ask))
        hidden = f"<input type=hidden name=row value={row['id']}>"
        button = self._press(
            part,
            key,
            "button" if part.dead else "submit",
            name=part.name,
            value=str(row["id"]) if part.name else "",
        )
        post = (
            {"hx_post": f"/{part.opposite or key}", "hx_target": "#page"}
            if self._htmx
            else {"method": "post", "action": f"/{part.opposite or key}"}
        )
        return self._boxed(f"<form style='display:inline'{_attributes(**post)}>{hidden}{button}</form>")

    def _dialog(self) -> str:
        model, part = self._model, self._model.parts["confirm"]
        before, _, after = model.dialog.partition("{name}")
        confirm = "" if part.removed else self._press(part, "confirm", "button" if part.dead else "submit")
        post = (
            {"hx_post": "/remove", "hx_target": "#page"}
            if self._htmx
            else {"method": "post", "action": "/remove"}
        )
        return (
            f"<dialog id=ask aria-labelledby=ask-words><form{_attributes(**post)}><p id=ask-words>{escape(before)}<span></span>{escape(after)}</p>"
            f"<input type=hidden name=row>{self._boxed(confirm)}"
            f"<button type=button{_attributes(class_=self._class('button'))} onclick=\"this.closest('dialog').close()\">{escape(model.close)}</button></form></dialog>"
            "<script>function ask(row, name) { const it = document.getElementById('ask');"
            " it.querySelector('span').textContent = name; it.querySelector('[name=row]').value = row; it.showModal(); }</script>"
        )

    # -- the form --------------------------------------------------------------------------------------

    def form(self, state: dict[str, Any]) -> str:
        model = self._model
        said = f"<p role=alert>{escape(state['refused'])}</p>" if state["refused"] else ""
        said += f"<p role=status>{escape(state['message'])}</p>" if state["message"] else ""
        fields = [self._field(key) for key in model.fields]
        if model.groups:
            halves = fields[: len(fields) // 2], fields[len(fields) // 2 :]
            fields = [
                f"<fieldset><legend>{escape(title)}</legend>{''.join(half)}</fieldset>"
                for title, half in zip(model.groups, halves, strict=True)
            ]
        save = self._save()
        inner = save + "".join(fields) if model.parts["save"].place == "first" else "".join(fields) + save
        post = (
            {"hx_post": "/create", "hx_target": "#page"}
            if self._htmx
            else {"method": "post", "action": "/create"}
        )
        form = f"<form novalidate{_attributes(class_=self._class('form'), **post)}>{inner}</form>"
        level = "h2" if self._htmx else "h1"
        return f"<{level}>{escape(model.form_heading)}</{level}>{said}{form}"

    def _field(self, key: str) -> str:
        model, part = self._model, self._model.parts[key]
        before = ""
        if key in model.beside:
            before = self._labelled(
                Part(model.beside[key], label=part.label),
                f"<input{_attributes(type='text', id=self._needed_id('second', part, 'second'), class_=self._class('field'), **self._said(Part(model.beside[key], label=part.label)))}>",
                "second",
            )
        if part.removed:
            return before
        base = {
            "id": part.id or self._needed_id(key, part),
            "name": part.name or key,
            "data_testid": part.test_id,
        }
        if key == "kind":
            options = "".join(
                f"<option value='{value}'>{escape(words)}</option>" for value, words in model.options
            )
            base["onchange"] = _forget(part, "selectedIndex = 0")
            control = f"<select{_attributes(class_=self._class('list'), **base, **self._said(part))}>{options}</select>"
        elif key == "urgent":
            base["onclick"] = _forget(part, "checked = false")
            control = f"<input{_attributes(type='checkbox', value='yes', class_=self._class('tick'), **base, **self._said(part))}>"
        elif key == "note":
            control = (
                f"<textarea{_attributes(class_=self._class('field'), **base, **self._said(part))}></textarea>"
            )
        else:
            base["oninput"] = _forget(part)
            control = (
                f"<input{_attributes(type='text', class_=self._class('field'), **base, **self._said(part))}>"
            )
        return before + self._labelled(part, control, key)

    def _needed_id(self, key: str, part: Part, given: str = "") -> str:
        """A label that names its field by id needs one."""
        return (given or f"f-{key}") if part.label == "for" else given

    @staticmethod
    def _said(part: Part) -> dict[str, str]:
        if part.label == "aria":
            return {"aria_label": part.words}
        return {"placeholder": part.words} if part.label == "placeholder" else {}

    def _labelled(self, part: Part, control: str, key: str) -> str:
        words, label = escape(part.words), f"<label{_attributes(class_=self._class('label'))}"
        tick = 'type="checkbox"' in control
        if part.label == "for":
            named = part.id or self._needed_id(key, part, "second" if key == "second" else "")
            label = f'{label} for="{named}">{words}</label>'
            control = control + label if tick else label + control
        elif part.label == "around":
            control = (
                f"{label}>{control} {words}</label>"
                if tick
                else f"{label}><span>{words}</span>{control}</label>"
            )
        elif tick or (part.label == "placeholder" and "<select" in control):
            control = f"{label}>{control} {words}</label>"
        box = f"<div{_attributes(class_=self._class('box'))}>{control}</div>"
        return self._boxed(box)

    def _save(self) -> str:
        model, part = self._model, self._model.parts["save"]
        beside = model.beside.get("save", "")
        other = (
            f"<button{_attributes(type='submit', formaction='/create_more', class_=self._class('save'))}>{escape(beside)}</button>"
            if beside
            else ""
        )
        if part.removed:
            return other
        if part.opposite:
            to = (
                {"formaction": f"/{part.opposite}", "formmethod": "post"}
                if not self._htmx
                else {"hx_post": f"/{part.opposite}", "hx_target": "#page"}
            )
            return other + self._boxed(self._press(part, "save", "submit", **to))
        return other + self._boxed(self._press(part, "save", "button" if part.dead else "submit"))

    def _press(self, part: Part, key: str, kind: str, **more: str) -> str:
        style = self._class("save" if key == "save" else "button")
        said = {"id": part.id, "data_testid": part.test_id, "class_": style, **more}
        words = escape(part.words)
        if part.icon:
            said["aria_label"], words = part.words, _ICON
        if part.tag in ("div", "a") and key != "open":
            act = "" if kind == "button" else "this.closest('form').requestSubmit()"
            said = {key: value for key, value in said.items() if key not in ("name", "value")}
            if act and "onclick" not in said:
                said["onclick"] = act
            return f"<div role=button tabindex=0{_attributes(**said)}>{words}</div>"
        return f"<button{_attributes(type=kind, **said)}>{words}</button>"
