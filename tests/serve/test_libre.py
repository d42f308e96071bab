"""LibreTranslate's paths: its shapes, its errors, and a client that was written for it."""

from __future__ import annotations

import json
from urllib.error import HTTPError

import pytest
from libretranslatepy import LibreTranslateAPI

from regard.serve.languages import Languages
from regard.serve.settings import Pair
from regard.translate.translator import Translator
from tests.serve.running import TOY, Running
from tests.serve.stubs import said
from tests.translate.toys import RUN


def test_a_client_that_nobody_here_wrote(real: Running) -> None:
    offline = Translator.load(RUN)
    client = LibreTranslateAPI(real.url)
    for text in ("one red dog", "two cats, a house", "", "%1$s & <b>dog</b>\n\nred"):
        assert client.translate(text, "en", "de") == offline([text])[0].text
    assert {"code": "en", "name": "English", "targets": ["de", "en"]} in client.languages()
    assert client.detect("the dog and the cat are in this house with you")[0]["language"] == "en"
    with pytest.raises(HTTPError) as refused:
        client.translate("one", "en", "fr")
    assert refused.value.code == 400
    assert "there is no model from en to fr" in json.loads(refused.value.read())["error"]


def test_one_text_or_several_with_others_beside(fake: Running) -> None:
    assert fake.translate("a").json() == {"translatedText": said("a")}
    assert fake.translate(["a", "b"]).json() == {"translatedText": [said("a"), said("b")]}
    assert fake.translate([]).json() == {"translatedText": []}
    assert fake.translate("a", alternatives=2).json()["alternatives"] == [said("a") + "'", said("a") + "''"]
    assert fake.translate(["a"], alternatives=1).json()["alternatives"] == [[said("a") + "'"]]


def test_the_language_is_guessed(fake: Running) -> None:
    told = fake.post("/translate", q="the dog and the cat are in this house", source="auto", target="de").json()
    assert told["translatedText"] == said("the dog and the cat are in this house")
    assert told["detectedLanguage"]["language"] == "en"
    several = fake.post("/translate", q=["x", "y"], source="auto", target="de").json()
    assert len(several["detectedLanguage"]) == 2


def test_to_the_same_language_nothing_changes(fake: Running) -> None:
    told = fake.post("/translate", q=["a", "b"], source="de", target="de", alternatives=1).json()
    assert told == {"translatedText": ["a", "b"], "alternatives": [[], []]}


@pytest.mark.parametrize("kind", ["urlencoded", "multipart"])
def test_forms_are_read_like_json(fake: Running, kind: str) -> None:
    fields = {"q": "ü & ö", "source": "en", "target": "de", "alternatives": "1", "format": "text"}
    if kind == "urlencoded":
        told = fake.client.post("/translate", data=fields)
    else:
        told = fake.client.post("/translate", files={name: (None, value) for name, value in fields.items()})
    assert told.json() == {"translatedText": said("ü & ö"), "alternatives": [said("ü & ö") + "'"]}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"source": "en", "target": "de"}, "q: Field required"),
        ({"q": 1, "source": "en", "target": "de"}, "q: Input should be"),
        ({"q": "a", "source": "en", "target": "de", "format": "odt"}, "format: "),
        ({"q": "a", "source": "xx", "target": "de"}, "there is no model from xx to de; there is en to de"),
        ({"q": "a", "source": "auto", "target": "xx"}, "nothing is translated to xx here"),
        ({"q": "a", "source": "en", "target": "de", "alternatives": -1}, "alternatives: "),
        ({"q": ["a", 1], "source": "en", "target": "de"}, "q"),
    ],
)
def test_errors_have_its_shape_and_one_sentence(fake: Running, body: dict[str, object], told: str) -> None:
    answer = fake.post("/translate", **body)
    assert answer.status_code == 400
    assert set(answer.json()) == {"error", "id"}
    assert answer.json()["error"].startswith(told)


def test_what_pages_in_front_ask_for(fake: Running) -> None:
    assert fake.client.get("/health").json() == {"status": "ok"}
    settings = fake.client.get("/frontend/settings").json()
    assert settings["charLimit"] == 10_000
    assert settings["keyRequired"] is False
    assert settings["language"]["source"] == {"code": "en", "name": "English"}


def test_tags_are_kept_where_html_is_asked_for(real: Running) -> None:
    text = '<p>one <b class="x">red</b> dog</p> &amp; <br/>'
    told = real.translate(text, format="html").json()["translatedText"]
    for tag in ("<p>", '<b class="x">', "</b>", "</p>", "&amp;", "<br/>"):
        assert told.count(tag) == 1


def test_guesses_are_by_small_words_then_by_script() -> None:
    two = Languages([TOY, Pair("de-en", "de", "en", "x", RUN), Pair("ru-en", "ru", "en", "x", RUN)])
    assert two.guesses("der Hund ist nicht das Haus", ("en", "de"))[0].language == "de"
    assert two.guesses("ein Hund", ("en", "de"))[0].language == "de"
    assert two.guesses("собака", ("en", "de", "ru"))[0].language == "ru"
    assert two.guesses("1234", ("en", "de"))[0].confidence == 0
    assert 0 < two.guesses("Hund", ("en", "de"))[0].confidence <= 50
