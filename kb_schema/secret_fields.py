"""Tells which fields hold secrets: by autocomplete, by their names and labels in any of many languages, by a value.

The only list of such words. Page scripts get it as `PAGE_RULE` and decide in the same way (`agent/page/js/2_secrets.js`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

AUTOCOMPLETE = ("current-password", "new-password", "one-time-code", "cc-number", "cc-csc")
"""Tokens of the attribute `autocomplete`."""
_PARTS = """
    password passphrase passwort passcode passwd passkey secretkey privatekey apikey accesskey apitoken accesstoken authtoken
    bearertoken clientsecret onetimecode onetimepass verificationcode securitycode authcode authenticationcode smscode
    cardnumber creditcard cardcode ccnumber ccnum cardsecurity socialsecurity pincode secretanswer securityanswer
    recoverycode backupcode
    kennwort geheimzahl geheimnis prufziffer prufnummer sicherheitscode bestatigungscode einmalcode kartennummer
    kreditkartennummer
    motdepasse motpasse codesecret codedesecurite codeconfidentiel cryptogramme numerodecarte numerocarte numcarte
    codedeverification
    contrasena clavesecreta clavedeacceso codigodeseguridad codigodeverificacion numerodetarjeta numerotarjeta
    senha palavrapasse codigodeseguranca codigodeverificacao numerodocartao numerocartao
    paroladordine codicedisicurezza codicediverifica numerodellacarta numerocarta codicesegreto
    wachtwoord toegangscode beveiligingscode verificatiecode kaartnummer
    hasło haslo numerkarty kodpin kodbezpieczenstwa kodweryfikacyjny
    heslo cislokarty bezpecnostnikod overovacikod jelszo biztonsagikod kartyaszam lozinka zaporka geslo parolă
    lozenord losenord sakerhetskod kortnummer adgangskode kodeord sikkerhedskode passord sikkerhetskode salasana
    tunnusluku turvakoodi kortinnumero parool slaptazodis kartenumurs
    sifre kartnumarasi guvenlikkodu dogrulamakodu matkhau mabaomat katasandi katalaluan
    пароль парол лозинка пинкод кодподтверждения секретныйкод номеркарты номеркартки кодбезопасности кодперевірки
    κωδικοςπροσβασης συνθηματικο αριθμοςκαρτας κωδικοςασφαλειας
    סיסמה סיסמא קודאבטחה מספרכרטיס كلمةالمرور كلمةالسر الرقمالسري رمزالتحقق رقمالبطاقة رمزعبور گذرواژه شمارهکارت
    पासवर्ड पिनकोड गुप्तकोड পাসওয়ার্ড รหัสผ่าน รหัสลับ หมายเลขบัตร
    密码 密碼 口令 验证码 驗證碼 安全码 安全碼 卡号 卡號 パスワード 暗証番号 認証コード カード番号 セキュリティコード
    비밀번호 암호 인증번호 카드번호 보안코드
"""
"""Words that are looked for anywhere in a name, without its blanks and marks."""
_WORDS = """
    pass pw pwd psw pswd passw pin cvv cvc csc cvn otp totp mfa tan itan ssn secret token
    mdp clave sandi mima parola parol пин
"""
"""Whole words."""
_ENDINGS = ("pass", "pwd", "passw", "otp", "cvv", "cvc")
"""Ends of longer words: `userpass`, `txtpwd`."""
_NO_ENDINGS = (
    "compass",
    "bypass",
    "trespass",
    "surpass",
    "encompass",
    "overpass",
    "underpass",
    "laptop",
    "desktop",
)
_ALONE = ("κωδικος", "sifra", "cardno", "ccno")
"""Secret where the name is nothing else."""
_PLAIN = """
    hint policy length strength expiry expires expiration history reminder minlength maxlength attempts url format type
    label forgot remember name title passport chiave
"""
"""Words that say that the field is about a secret and holds none: `token name`, `password hint`."""
_WORD = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"(?<=[a-z\u0430-\u044f0-9])(?=[A-Z\u0410-\u042f])|(?<=[A-Z])(?=[A-Z][a-z])")
_SHAPES = (re.compile(r"[A-Za-z]"), re.compile(r"\d"), re.compile(r"[!@#$%^&*?+=~]"))
_NO_SECRET = re.compile(r"\s|://|^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$|^www\.|^\{.*\}$")
_CARD = re.compile(r"[3-6]\d{14,15}")
_SHORTEST, _LONGEST = 8, 64


def _split(text: str) -> list[str]:
    """Return the words of a name in small letters, without accents, digits and marks."""
    apart = unicodedata.normalize("NFKD", text)
    letters = "".join(each for each in apart if not unicodedata.category(each).startswith("M"))
    return [each.lower().replace("\u0131", "i") for each in _WORD.findall(_CAMEL.sub(" ", letters))]


def _list_words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_split(text)))


PARTS, WORDS, PLAIN = map(_list_words, (_PARTS, _WORDS, _PLAIN))
_PART = re.compile("|".join(map(re.escape, PARTS)))
PAGE_RULE = {
    "autocomplete": AUTOCOMPLETE,
    "parts": PARTS,
    "words": WORDS,
    "endings": _ENDINGS,
    "noEndings": _NO_ENDINGS,
    "alone": _ALONE,
    "plain": PLAIN,
}
"""The same lists for page scripts."""


def is_secret_name(text: str | None) -> bool:
    """Return whether a name, id, label or placeholder is that of a field for a secret.

    >>> [is_secret_name(each) for each in ("user_pass", "login[password]", "Senha:", "Пароль", "cardNumber", "CVV")]
    [True, True, True, True, True, True]
    >>> [is_secret_name(each) for each in ("compass", "passport", "pinned", "Token name", "spinner", "postcode", "email")]
    [False, False, False, False, False, False, False]
    """
    if not text:
        return False
    words = _split(text)
    joined = "".join(words)
    if joined in _ALONE:
        return True
    if not set(words).isdisjoint(PLAIN):
        return False
    return bool(_PART.search(joined)) or any(
        each in WORDS or (each.endswith(_ENDINGS) and not each.endswith(_NO_ENDINGS)) for each in words
    )


def is_secret_autocomplete(text: str | None) -> bool:
    """Return whether the attribute `autocomplete` says that a field holds a secret."""
    return not set((text or "").casefold().split()).isdisjoint(AUTOCOMPLETE)


def names_a_secret(names: Iterable[str | None]) -> bool:
    """Return whether one of the names of a field is that of a secret."""
    return any(map(is_secret_name, names))


def looks_like_a_secret(value: str) -> bool:
    """Return whether a typed text has the form of a password or a card number: a reason for doubt, no more.

    >>> [looks_like_a_secret(each) for each in ("Tr4pez#oid", "4111 1111 1111 1111", "ada@shop.test", "Test_Workspace_1")]
    [True, True, False, False]
    """
    digits = re.sub(r"[ -]", "", value)
    if _CARD.fullmatch(digits):
        return _has_check_digit(digits)
    if not _SHORTEST <= len(value) <= _LONGEST or _NO_SECRET.search(value):
        return False
    return all(shape.search(value) for shape in _SHAPES)


def _has_check_digit(digits: str) -> bool:
    """Return whether the last digit is the check digit of a card number (Luhn)."""
    doubled = [int(each) * (1 + at % 2) for at, each in enumerate(reversed(digits))]
    return sum(each // 10 + each % 10 for each in doubled) % 10 == 0
