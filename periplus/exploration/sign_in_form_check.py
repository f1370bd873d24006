"""Tells whether a form signs in, or is for something else: a new account, a new password, a deed such as closing an account.

Both ask for a name and a password. Websites that ask for the e-mail first lead one that they do not know to a form for a new account.
The words of a form tell it: its address, its button, its headings, and the kind of its password field. `login_form` finds the form.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from playwright.async_api import Page

from agent.dangers.danger_words import HARM, find_wider_words
from agent.dangers.press_surroundings import (
    NOTHING_AROUND,
    PressSurroundings,
    find_harm_around,
    read_surroundings,
)
from kb_schema.explorations import Offer
from kb_schema.text_similarity import words

SIGN_IN = re.compile(
    r"\b(log ?in|log ?on|sign ?in|anmelden|einloggen|(se )?connecter|connexion|iniciar sesi[oó]n|entrar|acceder|accedi|"
    r"inloggen|logga in|logg inn|log ind|kirjaudu|zaloguj|p[rř]ihl[aá]sit|войти|увійти)\b|登录|登入|ログイン|로그인|تسجيل الدخول|התחבר"
)
SIGN_IN_PATH = re.compile(r"log[-_]?in|log[-_]?on|sign[-_]?in|/sessions?\b|/auth", re.IGNORECASE)
_NEW_ACCOUNT = re.compile(
    r"\b(sign ?up|^register|register (now|here|an?|your)|registration( form)?$|(create|open) (an? |your |my |the )?(new |free )*(account|profile)|new account|become a member|"
    r"join( now| us| for free| the \w+)?$|registrieren|registrierung|konto (erstellen|anlegen|eröffnen)|neues konto|account erstellen|"
    r"s.inscrire|inscription|inscrivez|créer (un |votre |mon )?compte|nouveau compte|registrarse|regístrate|crear (una |tu |su )?cuenta|"
    r"nueva cuenta|registrati|registrazione|crea (un |il tuo )?(account|profilo)|iscriviti|criar (uma |sua )?conta|cadastre-se|cadastrar|"
    r"registreren|account (aanmaken|maken)|zarejestruj|rejestracja|(załóż|utwórz) konto|registrera|skapa konto|opprett konto|opret konto|"
    r"rekisteröidy|luo tili|registrace|registrovat|vytvořit účet|регистрация|зарегистрироваться|создать (аккаунт|уч[её]тную запись)|"
    r"реєстрація|зареєструватися|kaydol|kay\u0131t ol|hesap oluştur|üye ol)\b|注册|註冊|创建.?账|建立帳|新規登録|会員登録|アカウント(を)?作成|회원 ?가입|"
    r"계정 만들기|إنشاء حساب|הרשמה|הירשם"
)
_NEW_PASSWORD = re.compile(
    r"\bnew password|\b(choose|create|set|pick) (an? |your |my |the )?password|neues (passwort|kennwort)|"
    r"(passwort|kennwort) (festlegen|vergeben|wählen)|nouveau mot de passe|(choisi\w*|défini\w*|créer) (un |votre |le )?mot de passe|"
    r"nueva contraseña|(elige|elija|crear?) (una |tu |su |la )?contraseña|nuova password|(scegli|crea|imposta) (una |la )?password|"
    r"nova (senha|palavra-passe)|nieuw wachtwoord|nowe hasło|nytt lösenord|nytt passord|nyt kodeord|ny adgangskode|uusi salasana|nové heslo|"
    r"новый пароль|новий пароль|yeni (şifre|parola)|新密码|新密碼|设置密码|設定密碼|新しいパスワード|パスワード(を)?設定|새 ?비밀번호|"
    r"비밀번호 설정|كلمة (ال)?مرور (ال)?جديدة|סיסמה חדשה"
)
_OTHER_PASSWORD = re.compile(
    r"\b(change|reset|recover|update) (an? |your |my |the )?password|\bpassword (reset|recovery)|(passwort|kennwort) (ändern|zurücksetzen)|"
    r"(changer|réinitialiser) (le |votre )?mot de passe|(cambiar|restablecer) (la |tu |su )?contraseña|(cambia|reimposta) (la )?password|"
    r"(redefinir|alterar) (a )?senha|wachtwoord (wijzigen|herstellen)|(zmień|zresetuj) hasło|重置密码|修改密码|重設密碼|パスワード(再設定|変更|リセット)|"
    r"비밀번호 (재설정|변경)"
)
_OTHER_PATH = re.compile(
    r"sign[-_]?up|\b(register|registrations?|join)\b|(create|new|open)[-_]?account|accounts?/(new|create)|"
    r"(new|reset|change|set|choose|forgot|recover)[-_]?password|password(s/|[-_/])(new|reset|change|set|edit)",
    re.IGNORECASE,
)
"""In the last two parts of the path of an address to which a form is sent."""


DEEDS = HARM - {"signs_out"}
"""What no sign-in form does. Its address may say that somebody has signed out: `/login?logout`."""


async def find_other_purpose(
    page: Page, button: Offer, offers: Sequence[Offer], filled: Collection[Offer]
) -> str:
    """Return what shows that the form of a button is no sign-in form; "" if nothing does. Raises `PageError`.

    `offers`: the controls of the page; `filled`: the fields that are to be filled in.
    """
    around = None if button.selector is None else await read_surroundings(page, button.selector)
    passwords = [
        each
        for each in offers
        if each.kind == "password" and each.form == button.form and each.form_number == button.form_number
    ]
    return tell_other_purpose(button, around or NOTHING_AROUND, passwords, filled)


def tell_other_purpose(
    button: Offer, around: PressSurroundings, passwords: Sequence[Offer], filled: Collection[Offer]
) -> str:
    """Return what shows that a form is no sign-in form, as `find_other_purpose`. `passwords`: its password fields."""
    said = fold_form_text(button.label or button.name)
    signs = SIGN_IN.search(said) is not None
    headings = _list_headings(around, [*passwords, *filled])
    explicit = (*_list_deeds(button, around, headings, signs=signs), *_list_new(passwords, headings))
    vague = (
        () if signs else (*_list_vague(said, headings, passwords, around), *_list_unfilled(passwords, filled))
    )
    return next(iter((*explicit, *vague)), "")


def _list_deeds(
    button: Offer, around: PressSurroundings, headings: Sequence[str], *, signs: bool
) -> Iterator[str]:
    """Yield what says that a form deletes, pays or sends. `signs`: its button signs in.

    Not the text of a dialog: there it often speaks of other matters.
    """
    name = button.label or button.name
    is_only_named = signs and button.danger == "sends"  # `name="post"` of a button `Login`
    if button.danger in DEEDS and not is_only_named:
        yield f"its button says {name!r}"
    own = replace(around, heading="", dialog="", layers="", beside="", chosen="")
    harm = find_harm_around(name, own)
    if harm is not None and harm[0] in DEEDS:
        yield f"{harm[0]}: {harm[1]}"
    for heading in headings:
        harm = find_harm_around("OK", replace(NOTHING_AROUND, heading=heading))
        # an application may be called `Deploy` or `Trash`; `Delete your account` above `Sign in` is a question
        is_name = signs or (_signs_in_there(around.action) and len(words(heading)) == 1)
        counts = harm is not None and (find_wider_words(heading) if is_name else harm[0] in DEEDS)
        if counts and SIGN_IN.search(fold_form_text(heading)) is None:
            yield f"its heading says {heading!r}"


def _list_new(passwords: Sequence[Offer], headings: Sequence[str]) -> Iterator[str]:
    """Yield what says by itself that a new password is asked for, whatever the button says."""
    for field in passwords:
        before = "" if field.fingerprint is None else field.fingerprint.before or ""
        for text in (field.label or field.name, before):
            if _NEW_PASSWORD.search(fold_form_text(text)):
                yield f"its password field says {text!r}"
    new = any(map(is_new_password, passwords))
    for heading in headings:
        said = fold_form_text(heading)
        if _NEW_PASSWORD.search(said) or (new and _names_other(said)):
            yield f"its heading says {heading!r}"


def _list_vague(
    said: str, headings: Sequence[str], passwords: Sequence[Offer], around: PressSurroundings
) -> Iterator[str]:
    """Yield what speaks against a sign-in form unless its button signs in: `Boat Register` is the name of an application, too."""
    if _names_other(said):
        yield f"its button says {said!r}"
    yield from (f"its heading says {each!r}" for each in headings if _names_other(fold_form_text(each)))
    if any(map(is_new_password, passwords)):
        yield 'it asks for a new password (autocomplete="new-password")'
    path = "/".join([part for part in urlsplit(around.action).path.split("/") if part][-2:])
    if _OTHER_PATH.search(path) and not _signs_in_there(around.action):
        yield f"its address says /{path}"


def _signs_in_there(address: str) -> bool:
    """Whether the last part of the path of an address says that one signs in there."""
    return SIGN_IN_PATH.search(f"/{urlsplit(address).path.rstrip('/').rpartition('/')[2]}") is not None


def _list_unfilled(passwords: Sequence[Offer], filled: Collection[Offer]) -> Iterator[str]:
    if len(passwords) > 1 and not all(each in filled for each in passwords):
        yield f"it asks for {len(passwords)} passwords"


def is_new_password(field: Offer) -> bool:
    """Return whether a field says by `autocomplete` that a new password is entered in it."""
    attributes = {} if field.fingerprint is None else field.fingerprint.attributes
    return "new-password" in attributes.get("autocomplete", "").casefold().split()


def _list_headings(around: PressSurroundings, fields: Sequence[Offer]) -> list[str]:
    """Return the headings of a form, and the last one before each of its fields."""
    before = ("" if each.fingerprint is None else each.fingerprint.heading or "" for each in fields)
    return [each for each in dict.fromkeys((around.heading, *before)) if each]


def _names_other(said: str) -> bool:
    """Whether words speak of a new account or another password, and not of signing in as well."""
    other = any(each.search(said) for each in (_NEW_ACCOUNT, _NEW_PASSWORD, _OTHER_PASSWORD))
    return other and SIGN_IN.search(said) is None


def fold_form_text(text: str) -> str:
    """Return a text in small letters with single blanks, also for the signs that join words in names."""
    return " ".join(text.casefold().replace("_", " ").replace("-", " ").split()).rstrip(":* ")
