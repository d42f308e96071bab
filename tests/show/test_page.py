"""A page of its own: small, whole, and deaf to the network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files

import pytest

from regard.show.ask import Ask
from regard.show.page import Shown, answers, bundle, embedded, page
from regard.show.pages import thinking
from tests.show.hostile import CORPUS

STATIC = files("regard.show") / "static"


def made(translator, text):
    model = {"id": "toy", "name": "toy", "source": "en", "target": "de"}
    return page(Shown([model], {"toy": answers(translator, Ask(text=text))}, text, text=text))


def inside(html):
    return json.loads(re.search(r'id="regard-data">(.*?)</script>', html, re.S)[1])


def test_a_large_page_is_under_a_megabyte(large):
    """Thirty words are some forty pieces; the toy's are short, so it takes fewer words."""
    html = made(large, "five red dog two blue cat house three one four blue dog red")
    found = inside(html)["views"]["toy"]["heads"]
    assert len(found["traces"]) == 18 * 8
    assert max(map(len, found["labels"])) >= 40
    assert len(html.encode()) < 1_000_000


def test_nothing_points_elsewhere(toy):
    html = made(toy, "one red dog")
    assert not re.findall(r'(?:src|href|action)="(?!data:|#)[^"]*"', html)
    for name in STATIC.iterdir():
        told = name.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        found = [word for word in ("http://", "https://", "innerHTML", "insertAdjacentHTML", "eval(") if word in told]
        assert not found, f"{name.name} has {found}"


def test_only_its_own_script_and_style_may_run(toy):
    html = made(toy, "one red dog")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert policy.startswith("default-src 'none'")
    for element in ("script", "style"):
        text = re.search(rf"<{element}>(.*?)</{element}>", html, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("text", CORPUS)
def test_no_text_ends_the_data(text):
    told = embedded({"text": text})
    assert json.loads(told) == {"text": text}
    assert not set("<>&\u2028\u2029") & set(told)


def test_a_title_is_text():
    html = page(Shown([], {}, "</title><script>alert(1)</script>"))
    assert "<title>&lt;/title&gt;&lt;script&gt;" in html


def test_all_modules_are_in_the_bundle_and_each_after_what_it_needs():
    script = bundle()
    order = re.findall(r"^const _(\w+) = \(\(\) =>", script, re.M)
    assert sorted(order) == sorted(name.name[:-3] for name in STATIC.iterdir() if name.name.endswith(".js"))
    assert order[-1] == "main"
    for name in order:
        for needed in re.findall(r'from "\./(\w+)\.js"', (STATIC / f"{name}.js").read_text(encoding="utf-8")):
            assert order.index(needed) < order.index(name)
    assert "</script" not in script


def test_the_worked_example_has_the_numbers_every_lecture_prints():
    told = thinking().views["k1"]["steps"]["encoder.0.0"]
    read = {
        name: memoryview(base64.b64decode(told[name]["f32"])).cast("f").tolist()
        for name in ("raw", "scores", "weights")
    }
    assert [round(x, 4) for x in read["raw"]] == [112, 96]
    assert [round(x, 4) for x in read["scores"]] == [14, 12]
    assert [round(x, 2) for x in read["weights"]] == [0.88, 0.12]
