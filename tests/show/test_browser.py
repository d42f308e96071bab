"""The page as people meet it: in a real browser, from a file and from a server, with nothing but this machine."""

from __future__ import annotations

import math
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.show.ask import Ask
from regard.show.page import Shown, answers, page
from regard.show.pages import thinking
from regard.show.trace import Trace, packed
from regard.show.views import VIEWS
from regard.translate.align import by_word, chosen
from regard.translate.translator import Translator
from tests.show.browsing import Page
from tests.show.hostile import CORPUS

pytest.importorskip("selenium", reason="no selenium: pip install selenium")
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

TEXT = "one red dog"


@pytest.fixture(scope="session")
def saved(toy: Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    model = {"id": "toy", "name": "toy", "source": "en", "target": "de"}
    shown = Shown([model], {"toy": answers(toy, Ask(text=TEXT))}, TEXT, text=TEXT)
    path.write_text(page(shown), encoding="utf-8")
    return path


def looked_at(translator: Translator) -> tuple[list[str], list[str]]:
    """For each word of the translation the source word it looked at most, and the other way round."""
    result = translator([TEXT], attention=True)[0]
    found = by_word(chosen(result.attention.numpy()), result.source_word_of, result.word_of)
    return [result.source_words[at] for at in found.argmax(1)], [result.words[at] for at in found.argmax(0)]


def numbers(page: Page, row: str) -> list[float]:
    return [float(cell.get_attribute("data-value")) for cell in page.all(f'tr[data-row="{row}"] td[data-value]')]


def table(found: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(b64decode(found["f32"]), "<f4").reshape(found["shape"])


def test_a_saved_page_shows_everything_and_asks_for_nothing(browser: Any, saved: Path, toy: Translator) -> None:
    shown = Page(browser).open(saved.as_uri())
    words = toy([TEXT])[0].words
    shown.one("#target .w")
    assert [node.text for node in shown.all("#target .w")] == words
    # a word lights the one it came from
    sources, targets = looked_at(toy)
    for at in range(3):
        shown.point(shown.all("#target .w")[at])
        assert [node.text for node in shown.all("#source .w.lit")] == [sources[at]]
        shown.point(shown.all("#source .w")[at])
        assert [node.text for node in shown.all("#target .w.lit")] == [targets[at]]
    # a head enlarges
    shown.tab("heads")
    shown.all(".head-button")[-1].click()
    assert shown.one(".large h2").text == "Layer 1, head 2"
    assert shown.one(".large .matrix")
    shown.run("document.querySelector(\"input[value='lines']\").click()")
    assert shown.one(".large .lines .look")
    # its numbers are Python's
    shown.tab("steps")
    found = VIEWS["steps"](toy, {"text": TEXT, "place": "cross", "head": 1})
    for row in ("raw", "scores", "weights"):
        assert np.abs(np.array(numbers(shown, row)) - table(found[row])[0]).max() < 1e-6
    z = shown.one('tr[data-row="sum"] .vector').get_attribute("data-values").split()
    assert np.abs(np.array(z, float) - table(found["sum"])[0]).max() < 1e-6
    for name in ("beam", "compare"):
        shown.tab(name)
        assert not shown.all("#panel .warn")
    assert shown.asked_for() == [saved.as_uri()]
    assert shown.complaints() == []


def test_the_film_and_the_places(browser: Any, saved: Path, toy: Translator) -> None:
    shown = Page(browser).open(saved.as_uri())
    shown.tab("steps")
    shown.run("document.querySelector(\"input[value='film']\").click()")
    frames = VIEWS["film"](toy, {"text": TEXT})["frames"]
    for frame in frames[:2]:
        shown.one(".best .chosen")
        logits = [float(cell.get_attribute("data-value")) for cell in shown.all(".best td:nth-child(2)")]
        assert logits == pytest.approx([one["logit"] for one in frame["best"]], abs=1e-6)
        assert shown.one(".best .chosen th").text == frame["said"].replace("▁", "·")
        shown.one("[aria-label='Step on']").click()
    shown.run("document.querySelector(\"input[value='places']\").click()")
    assert shown.one(".sheet")
    assert shown.complaints() == []


def test_112_and_96(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "k1.html").write_text(page(thinking()), encoding="utf-8")
    shown = Page(browser).open((tmp_path / "k1.html").as_uri())
    shown.one('tr[data-row="weights"]')
    assert numbers(shown, "raw") == pytest.approx([112, 96])
    assert numbers(shown, "scores") == pytest.approx([14, 12])
    assert numbers(shown, "weights") == pytest.approx([1 / (1 + math.exp(-2)), 1 / (1 + math.exp(2))], abs=1e-6)
    texts = [cell.text for cell in shown.all('tr[data-row="weights"] td')]
    assert [text[:4] for text in texts] == ["0.88", "0.11"]


def test_the_live_page_translates_as_one_types(browser: Any, site: str, toy: Translator) -> None:
    shown = Page(browser).open(site)
    box = shown.one("#text")
    box.send_keys(TEXT)
    target = shown.one("#target .w")
    assert target.text == "eins"
    shown.point(shown.all("#target .w")[2])
    assert [node.text for node in shown.all("#source .w.lit")] == [looked_at(toy)[0][2]]
    assert len(shown.all(".alternatives button")) == 2
    shown.all(".alternatives button")[1].click()
    WebDriverWait(browser, 30).until(
        lambda _: shown.all(".alternatives button")[1].get_attribute("aria-pressed") == "true"
    )
    for name in ("heads", "steps", "beam", "compare"):
        shown.tab(name)
        assert not shown.all("#panel .warn"), name
    # only letters and arrows: the tabs turn, the words are walked along
    shown.one("#tab-compare").send_keys(Keys.ARROW_RIGHT)
    shown.one("#tab-beam[aria-selected='true']")
    shown.tab("translate")
    shown.one("#target .w").send_keys(Keys.ARROW_RIGHT)
    assert shown.run("return document.activeElement.textContent") == "rot"
    assert [node.text for node in shown.all("#source .w.lit")] == [looked_at(toy)[0][1]]
    asked = shown.asked_for()
    assert asked
    assert all(address.startswith(site) for address in asked)
    assert shown.complaints() == []


def test_trouble_is_told_where_it_is_seen(browser: Any, site: str) -> None:
    shown = Page(browser).open(site)
    shown.one("#text")
    shown.run(
        "const box = document.getElementById('text'); box.removeAttribute('maxlength'); box.value = arguments[0];"
        "box.dispatchEvent(new Event('input'))",
        "a" * 5001,
    )
    assert "at most 5000" in shown.one("#panel [role=alert]").text


def test_a_hundred_hostile_texts_stay_text(browser: Any, tmp_path: Path) -> None:
    """Each stands in every place where text can: both sides, alternatives, labels, notes, titles, names."""
    many = len(CORPUS)
    labels = packed([
        Trace(text, torch.eye(many), CORPUS, CORPUS, about={"title": text, "note": text}) for text in CORPUS[:3]
    ])  # fmt: skip
    said = {
        "segments": [[text, at] for at, text in enumerate(CORPUS)], "score": -0.5, "complete": True,
        "suspect": CORPUS, "words": CORPUS, "tokens": CORPUS, "scores": [-0.1] * many, "word_of": list(range(many)),
        "alignment": [],
        "pieces": labels, "by_words": labels,
    }  # fmt: skip
    translation = {
        "source": said["segments"], "source_words": CORPUS, "source_tokens": CORPUS,
        "source_word_of": said["word_of"],
        "layer": 0, "heads": None, "looks": [2, 2], "parts": 1, "beam": 2,
        "candidates": [{**said, "text": text} for text in CORPUS],
    }  # fmt: skip
    models = [{"id": text, "name": text, "source": text, "target": text} for text in CORPUS]
    views = {CORPUS[0]: {"translation": translation, "looks": labels}}
    shown = Page(browser)
    path = tmp_path / "x.html"
    path.write_text(page(Shown(models, views, CORPUS[2], CORPUS[2])), encoding="utf-8")
    shown.open(path.as_uri())
    shown.one("#target .w")
    texts = "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)"
    for places in ("#source .w", "#target .w", ".matrix text.row", ".matrix text.column", "#controls option",
                   ".facts .warn", ".alternatives li span:first-child"):  # fmt: skip
        assert shown.run(texts, places) == CORPUS, places
    shown.tab("looks")
    assert shown.run(texts, ".card h2") == CORPUS[:3]
    strangers = "#panel script, #panel img, #panel iframe, #controls script, #ask script, #ask img"
    assert shown.run("return [window.hurt ?? null, document.querySelectorAll(arguments[0]).length]", strangers) == [
        None,
        0,
    ]
    assert shown.run("return document.title").startswith(CORPUS[2])
    assert shown.asked_for() == [path.as_uri()]
    assert shown.complaints() == []


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_is_wider_than_the_screen(browser: Any, saved: Path, width: int) -> None:
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        shown = Page(browser).open(saved.as_uri())
        for name in ("translate", "heads", "steps", "compare", "beam"):
            shown.tab(name)
            assert shown.run("return document.documentElement.scrollWidth") <= width, name
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_it_can_be_read_in_the_dark_and_by_those_who_listen(browser: Any, saved: Path) -> None:
    shown = Page(browser).open(saved.as_uri())
    shown.one("#target .w")
    before = shown.run("return getComputedStyle(document.documentElement).backgroundColor")
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    try:
        assert shown.run("return getComputedStyle(document.documentElement).backgroundColor") != before
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    # what can be pressed has a name, what is drawn has a description
    unnamed = (
        "return [...document.querySelectorAll('button, select, textarea, input, [role=img]')].filter((n) => "
        "!(n.textContent.trim() || n.getAttribute('aria-label') || n.labels?.[0]?.textContent)).length"
    )
    for name in ("translate", "heads", "steps", "beam", "compare"):
        shown.tab(name)
        assert shown.run(unnamed) == 0, name
    shown.tab("translate")
    shown.one(".matrix").send_keys(Keys.ARROW_RIGHT)
    assert "→" in shown.one("#readout").text
