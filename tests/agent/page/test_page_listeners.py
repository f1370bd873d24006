"""What hears the events of a page: one object of a kind, whose signature is not worked out with every event."""

from __future__ import annotations

from inspect import signature

from agent.page.page_listeners import listen_once, with_signature


class Addresses:
    def __init__(self):
        self.heard = []

    def note(self, frame):
        self.heard.append(frame.url)


async def test_one_listener_of_a_kind_hears_each_event_of_its_page_once(page):
    heard = [listen_once(page, Addresses, lambda one: {"framenavigated": one.note}) for _ in range(2)]
    await page.goto("data:text/html,Quay")
    assert heard[0] is heard[1]
    assert heard[0].heard == ["data:text/html,Quay"]


def test_what_hears_an_event_tells_its_signature():
    one = Addresses()
    assert signature(with_signature(one.note)) is signature(with_signature(one.note))
    assert list(signature(with_signature(one.note)).parameters) == ["event"]
