"""Default bridging sentences, used where a flow has none of its own.

By language (ISO 639-1) and kind. They make no promises, blame no person and do not name the problem.
"""

from __future__ import annotations

FALLBACK_LANGUAGE = "en"

DEFAULTS: dict[str, dict[str, tuple[str, ...]]] = {
    "en": {
        "trouble": (
            "One moment, I am looking for the right place.",
            "This looks a little different today. Bear with me.",
            "Nearly there. I would rather look twice than click wrong.",
        ),
        "slow": (
            "The page is taking its time.",
            "Just a moment longer.",
            "We are still waiting for an answer from the server.",
        ),
        "passed_over": (
            "That did not go as planned, so let me show you the next part.",
            "I leave that one for later, and go on.",
            "Let us not wait for this any longer. Here is what comes next.",
        ),
        "ended": ("That did not go as planned, and it was the last thing I wanted to show you.",),
    },
    "de": {
        "trouble": (
            "Einen Moment, ich suche die richtige Stelle.",
            "Das sieht heute etwas anders aus. Ich bin gleich so weit.",
            "Fast fertig. Ich schaue lieber zweimal hin, als falsch zu klicken.",
        ),
        "slow": (
            "Die Seite lässt sich gerade etwas Zeit.",
            "Nur noch einen Augenblick.",
            "Wir warten noch auf eine Antwort vom Server.",
        ),
        "passed_over": (
            "Das lief nicht wie geplant. Ich zeige Ihnen den nächsten Teil.",
            "Das lasse ich für später und mache weiter.",
            "Warten wir nicht länger darauf. Hier ist, was als Nächstes kommt.",
        ),
        "ended": ("Das lief nicht wie geplant, und es war das Letzte, was ich Ihnen zeigen wollte.",),
    },
    "fr": {
        "trouble": (
            "Un instant, je cherche le bon endroit.",
            "La page est un peu différente aujourd'hui. J'y suis presque.",
            "Encore un instant. Je préfère regarder deux fois.",
        ),
        "slow": (
            "La page prend son temps.",
            "Encore un petit moment.",
            "Nous attendons toujours la réponse du serveur.",
        ),
        "passed_over": (
            "Cela ne s'est pas passé comme prévu. Je vous montre la suite.",
            "Je garde cela pour plus tard, et je continue.",
            "N'attendons pas davantage. Voici la suite.",
        ),
        "ended": ("Cela ne s'est pas passé comme prévu, et c'était la dernière partie.",),
    },
    "es": {
        "trouble": (
            "Un momento, estoy buscando el lugar correcto.",
            "Hoy se ve un poco distinto. Ya casi está.",
            "Un instante más. Prefiero mirar dos veces.",
        ),
        "slow": (
            "La página se toma su tiempo.",
            "Solo un momento más.",
            "Seguimos esperando la respuesta del servidor.",
        ),
        "passed_over": (
            "Esto no salió como esperaba. Le muestro la siguiente parte.",
            "Lo dejo para más tarde y sigo adelante.",
            "No esperemos más. Esto es lo que sigue.",
        ),
        "ended": ("Esto no salió como esperaba, y era lo último que quería mostrarle.",),
    },
}
