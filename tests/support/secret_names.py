"""Names of fields for secrets in many languages, and of fields that hold none."""

from __future__ import annotations

SECRETS: dict[str, tuple[str, ...]] = {
    "English": (
        "password", "pass", "user_pass", "passwd", "pwd", "userPwd", "login[password]", "new_password2", "passphrase",
        "pin", "PIN code", "cvv", "CVC", "card_number", "Card number", "cc-number", "otp", "one-time code",
        "verification_code", "Security code", "secret", "api_key", "access_token", "ssn", "txtPassword",
    ),
    "German": ("Passwort", "Kennwort", "Geheimzahl", "Prüfziffer", "Sicherheitscode", "Kartennummer", "TAN", "Einmalcode"),
    "French": ("Mot de passe", "motdepasse", "mdp", "Code secret", "Code de sécurité", "Numéro de carte", "Cryptogramme"),
    "Spanish": ("Contraseña", "contrasena", "clave", "Código de seguridad", "Número de tarjeta"),
    "Portuguese": ("senha", "nova_senha", "Palavra-passe", "Código de segurança", "Número do cartão"),
    "Italian": ("Parola", "Codice di sicurezza", "Numero della carta"),
    "Dutch": ("wachtwoord", "Wachtwoord herhalen", "pincode", "Kaartnummer"),
    "Polish": ("hasło", "haslo", "Numer karty", "Kod bezpieczeństwa"),
    "Czech": ("heslo", "Číslo karty"),
    "Russian": ("Пароль", "Повторите пароль", "ПИН-код", "Код подтверждения", "Номер карты"),
    "Ukrainian": ("Пароль", "Номер картки"),
    "Turkish": ("Şifre", "sifre", "parola", "Kart numaras\u0131", "Güvenlik kodu"),
    "Swedish": ("Lösenord", "Säkerhetskod", "Kortnummer"),
    "Finnish": ("Salasana", "Kortin numero"),
    "Hungarian": ("Jelszó", "Biztonsági kód"),
    "Greek": ("Κωδικός πρόσβασης", "Αριθμός κάρτας"),
    "Hebrew": ("סיסמה",),
    "Arabic": ("كلمة المرور", "الرقم السري"),
    "Hindi": ("पासवर्ड",),
    "Thai": ("รหัสผ่าน",),
    "Vietnamese": ("Mật khẩu", "matkhau"),
    "Indonesian": ("Kata sandi",),
    "Chinese": ("密码", "验证码", "卡号"),
    "Japanese": ("パスワード", "暗証番号", "カード番号"),
    "Korean": ("비밀번호", "카드번호"),
}  # fmt: skip
PLAIN = (
    "email", "username", "user_name", "Name", "first name", "compass", "passport", "passenger", "pinned", "shipping",
    "spinner", "postcode", "ZIP code", "country code", "Token name", "Password hint", "keyword", "search", "quantity",
    "Betreff", "Nachname", "Prénom", "Correo", "Cidade", "Имя", "Город", "姓名", "住所", "card notes", "address",
    "discount code", "Palavra-chave", "parola chiave", "description", "option", "tank", "laptop",
)  # fmt: skip


def list_secret_names() -> tuple[str, ...]:
    """Return all names of secrets, each once."""
    return tuple(dict.fromkeys(name for names in SECRETS.values() for name in names))


def secret_value(number: int) -> str:
    """Return a text that no page contains by chance and that has not the form of a secret."""
    return f"zq{number:03d}hidden"
