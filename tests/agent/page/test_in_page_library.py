"""The in-page library throws nothing into the page: verification would blame the application for it."""

from __future__ import annotations

from tests.support.pages import show

PAGE = """<title>Quay</title>
<a id=link href="#bay">Bay</a> <p id=text>Words</p> <button id=button>Press</button>
<form id=form onsubmit="return false"><input id=field name=title required>
<select id=choice><option>A<option>B</select><button id=send>Send</button></form>
<div id=host></div><svg id=drawing width=20 height=20><circle id=circle cx=10 cy=10 r=9></circle></svg>
<div id=editor contenteditable>Type</div>
<iframe id=frame srcdoc="<a id=inner href='#x'>Inside</a>"></iframe>
<script>host.attachShadow({mode:'open'}).innerHTML='<a id=deep href="#deep">Deep</a>'</script>"""
TARGETS = ("#link", "#text", "#button", "#field", "#send", "#host #deep", "#circle", "#editor", "html")


async def test_what_people_do_on_a_page_throws_nothing_into_it(page):
    thrown: list[str] = []
    page.on("pageerror", lambda error: thrown.append(f"{error.message} {error.stack}"))
    await show(page, PAGE, "/quay")
    for target in TARGETS:
        await page.click(target)
        await page.dblclick(target)
        await page.click(target, button="right")
        await page.keyboard.press("Enter")
        await page.keyboard.press("Escape")
    await page.fill("#field", "Tern")
    await page.select_option("#choice", "B")
    await page.drag_and_drop("#text", "#button")
    await page.mouse.wheel(0, 50)
    await page.frame_locator("#frame").locator("#inner").click()
    assert thrown == []


async def test_lines_on_the_console_are_limited_in_number_and_length(page):
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    await show(page, "<p>writes</p>")
    await page.evaluate(
        """() => { const end = Date.now() + 50; console.log("x".repeat(50000), 7);
        while (Date.now() < end) console.info("more"); }"""
    )
    await page.evaluate("setTimeout(() => console.warn('later'), 1100)")
    await page.wait_for_event("console", lambda message: message.text == "later")
    assert heard[0] == "x" * 10_000 + " 7"
    assert 10 < len(heard) <= 2 * 100 + 1, "two seconds can begin while it writes"
