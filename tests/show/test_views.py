"""What the page asks for is what the model did."""

from __future__ import annotations

import json
import math
from base64 import b64decode

import numpy as np
import pytest
import torch

from regard.show.ask import Ask
from regard.show.asking import Subject
from regard.show.habits import called, habits, is_punctuation
from regard.show.sighting import watched
from regard.show.views import VIEWS
from regard.text.ids import END

TEXT = "one red dog"


def table(found):
    return np.frombuffer(b64decode(found["f32"]), "<f4").reshape(found["shape"])


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_is_json_without_what_json_has_not(either, name):
    json.dumps(VIEWS[name](either, {"text": TEXT}), allow_nan=False)


def test_a_translation_is_what_the_translator_says(either):
    found = VIEWS["translation"](either, {"text": TEXT, "model": "any"})
    result = either([TEXT], attention=True, nbest=2)[0]
    said = found["candidates"][0]
    assert (said["text"], said["tokens"]) == (result.text, list(result.tokens))
    assert "".join(text for text, _ in said["segments"]) == result.text
    assert [tuple(link) for link in said["alignment"]] == list(result.alignment)
    assert len(found["candidates"]) == 2
    assert found["source"] == [["one", 0], [" ", -1], ["red", 1], [" ", -1], ["dog", 2]]


def test_a_watched_pass_sees_what_the_speaker_sees(either):
    about = Subject(either, Ask(text=TEXT))
    across = [one for one in about.watched.sightings if one.place == "cross"]
    seen = torch.stack([one.weights for one in across])
    assert float((seen - about.result.attention).abs().max()) < 1e-6  # there only the last look is read plainly
    assert about.words == tuple(either.speaker.target.encode([about.result.text])[0])


def test_noting_changes_nothing_and_leaves_nothing(either):
    about = Subject(either, Ask(text=TEXT))
    hooks = [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in either.model.modules()]
    with torch.no_grad():
        before = torch.tensor([[2, *about.words]])
        logits = either.model(torch.tensor([about.ids]), torch.tensor([len(about.ids)]), before)[0]
    seen = watched(either.model, about.ids, about.words)
    assert float((seen.logits - logits).abs().max()) < 1e-5
    assert hooks == [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in either.model.modules()]


@pytest.mark.parametrize("place", ["encoder", "decoder", "cross"])
def test_steps_are_the_arithmetic_of_attention(toy, place):
    found = VIEWS["steps"](toy, {"text": TEXT, "place": place, "head": 1})
    q, k, v, weights = (table(found[name]).astype(float) for name in ("q", "k", "v", "weights"))
    raw, scores = q @ k.T, q @ k.T * k.shape[1] ** -0.5
    assert np.abs(table(found["raw"]) - raw).max() < 1e-5
    assert np.abs(table(found["scores"]) - scores).max() < 1e-5
    if found["allowed"] is not None:
        scores = np.where(table(found["allowed"]) > 0, scores, -np.inf)
    exact = np.exp(scores - scores.max(1, keepdims=True))
    assert np.abs(weights - exact / exact.sum(1, keepdims=True)).max() < 1e-6
    assert np.abs(table(found["sum"]) - weights @ v).max() < 1e-6
    assert (found["allowed"] is not None) == (place == "decoder")


def test_the_five_stages_of_a_recurrent_model(either):
    found = VIEWS["film"](either, {"text": TEXT})
    if found["kind"] == "transformer":
        assert found["stages"] is None
        return
    alignment, weighting = (table(found["stages"][name]).astype(float) for name in ("alignment", "weighting"))
    exact = np.exp(alignment - alignment.max(1, keepdims=True))
    assert np.abs(weighting - exact / exact.sum(1, keepdims=True)).max() < 1e-6
    context = table(found["stages"]["context"])
    encoding = table(found["stages"]["encoding"])
    assert np.abs(context - weighting @ encoding)[:, : encoding.shape[1]].max() < 1e-5


def test_a_film_says_what_was_said_and_how_sure(either):
    result = either([TEXT])[0]
    frames = VIEWS["film"](either, {"text": TEXT})["frames"]
    assert [frame["said"] for frame in frames] == list(result.tokens)
    assert [frame["given"] for frame in frames] == ["<s>", *result.tokens[:-1]]
    assert np.abs(np.array([frame["log_prob"] for frame in frames]) - result.scores).max() < 1e-4
    for frame in frames:
        assert frame["best"] == sorted(frame["best"], key=lambda one: -one["logit"])
        assert frame["rank"] == 0
        assert frame["best"][0]["id"] == frame["id"]


def test_the_tree_leads_to_the_translation(either):
    found = VIEWS["beam"](either, {"text": TEXT, "beam": 3})
    nodes = found["nodes"]
    best = next(node for node in nodes if node.get("rank") == 0)
    said, total, node = [], 0.0, best
    while True:
        said.insert(0, node["piece"])
        total += node["said"]
        if node["parent"] < 0:
            break
        assert nodes[node["parent"]]["step"] == node["step"] - 1
        assert nodes[node["parent"]]["state"] == "kept"
        node = nodes[node["parent"]]
    assert said == list(either([TEXT], beam=3)[0].tokens)
    assert math.isclose(total, best["log_prob"], abs_tol=1e-4)
    assert best["id"] == END
    for step in range(1, found["steps"] + 1):
        assert 1 <= sum(node["state"] != "pruned" for node in nodes if node["step"] == step) <= 6
        assert sum(node["state"] == "kept" for node in nodes if node["step"] == step) <= 3


def test_places_are_waves(toy):
    found = VIEWS["positions"](toy, {"text": TEXT})
    waves = table(found["table"])
    assert np.abs(waves[0] - np.tile([0.0, 1.0], waves.shape[1] // 2)).max() < 1e-6
    assert np.abs(waves[1, :2] - [math.sin(1), math.cos(1)]).max() < 1e-6
    assert np.abs(table(found["embedding"]) + table(found["place"]) - table(found["sum"])).max() < 1e-5


def test_a_text_in_parts_is_looked_into_part_by_part(toy):
    cut = Subject(toy, Ask(text="one dog.\ntwo cat."))
    assert VIEWS["translation"](toy, {"text": "one dog.\ntwo cat."})["parts"] == 2
    second = Subject(toy, Ask(text="one dog.\ntwo cat.", part=1))
    assert cut.part.source_tokens != second.part.source_tokens
    assert second.watched.logits.shape[0] == len(second.part.tokens)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "text: Field required"),
        ({"text": 3}, "text: Input should be a valid string"),
        ({"text": "a", "wrong": 1}, "wrong: Extra inputs"),
        ({"text": "a" * 5001}, "text: String should have at most 5000"),
        ({"text": "one", "place": "cellar"}, "place: "),
        ({"text": "one", "layer": 7}, "there is no layer 7"),
        ({"text": "one", "head": 9}, "there is no head 9"),
        ({"text": "one", "candidate": 8}, "there is no alternative 8"),
        ({"text": "one", "part": 3}, "there is no part 3"),
        ({"text": " "}, "nothing was translated here"),
    ],
)
def test_what_cannot_be_asked_is_told(toy, body, message):
    with pytest.raises(ValueError, match=message):
        VIEWS["steps"](toy, body)


def test_more_alternatives_than_the_beam_widen_it(toy):
    found = VIEWS["translation"](toy, {"text": "one red dog", "beam": 2, "nbest": 7})
    assert found["beam"] == 7
    assert 2 < len(found["candidates"]) <= 7


def test_habits_tell_heads_apart():
    eye, before = torch.eye(6), torch.diag(torch.ones(5), -1)
    before[0, 0] = 1
    words = ["▁a", "▁b", ",", "▁c", "d", "</s>"]
    assert called(habits(eye, words), 6) == "diagonal"
    assert called(habits(before, words), 6) == "the word before"
    assert called(habits(torch.full((6, 6), 1 / 6), words), 6) == "broad"
    comma = torch.zeros(6, 6)
    comma[:, 2] = 1
    found = habits(comma, words)
    assert (called(found, 6), found["punctuation"], round(found["reach"], 6)) == ("punctuation", 1.0, 1.0)
    assert habits(torch.zeros(2, 3), ["a", "b", "c"])["reach"] == 0
    across = habits(torch.eye(4).repeat_interleave(2, 0), ["a", "b", "c", "d"], across=True)
    assert across["diagonal"] == 1.0
    assert [word for word in ("▁,", "…", "a.", "▁", "<s>", "$") if is_punctuation(word)] == ["▁,", "…", "<s>", "$"]
