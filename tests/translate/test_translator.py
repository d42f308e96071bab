"""The translator: what it says, what it looked at, and what it is not sure of."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
import torch

import regard
from regard.attend.watch import watch
from regard.text.ids import START
from regard.translate.align import words_of
from regard.translate.glossary import Glossary
from regard.translate.result import Part, Result
from regard.translate.translator import Translator
from tests.translate.toys import nasty_text

SOURCE, TARGET = "one red dog two blue cat", "eins rot Hund"


class TestSaying:
    def test_what_it_learned(self, toy: Translator) -> None:
        result = toy(["one red dog"])[0]
        assert (result.text, result.source, result.complete, result.suspect) == (TARGET, "one red dog", True, ())
        assert result.tokens[-1] == "</s>"
        assert "".join(result.tokens[:-1]) == "▁eins▁rot▁Hund"
        assert result.score == pytest.approx(sum(result.scores) / len(result.scores))
        assert len(result.scores) == len(result.tokens)
        assert -0.2 < result.score < 0

    def test_nothing_stays_nothing(self, toy: Translator) -> None:
        found = toy(["", "  ", "\r", "one"])
        assert [one.text for one in found[:3]] == ["", "  ", "\r"]
        assert math.isnan(found[0].score)
        assert found[0].tokens == ()
        assert toy([]) == []

    def test_spaces_at_the_ends_stay(self, toy: Translator) -> None:
        assert toy(["  one red dog \r", "\ttwo blue cat"])[0].text == f"  {TARGET} \r"

    def test_the_answer_for_one_does_not_depend_on_the_others(self, wild: Translator) -> None:
        rng = random.Random(4)
        texts = [nasty_text(rng, 7) for _ in range(5)]
        together = wild(texts, alignment=True)
        for text, one in zip(texts, together, strict=True):
            alone = wild([text], alignment=True, batch_tokens=50)[0]
            assert (alone.text, alone.tokens, alone.alignment) == (one.text, one.tokens, one.alignment)
            assert alone.scores == one.scores

    def test_no_line_break_is_ever_made_up(self, wild: Translator) -> None:
        """The model may say byte 0A; in the text it is a space."""
        feed = wild.speaker.target.encode(["a\nb\u2028c\rd"])[0]
        said = wild(["one red"], prefix=[wild.speaker.target.decode([feed])[0]])[0].text
        assert not set(said) & set("\n\r\u2028")

    def test_from_the_package(self) -> None:
        assert regard.Translator is Translator
        assert "Translator" in dir(regard)


class TestParts:
    def test_short_text_is_one(self, toy: Translator) -> None:
        assert [(part.start, part.end) for part in toy(["one red dog. Two"])[0].parts] == [(0, 16)]

    def test_long_text_is_cut_and_joined(self, toy: Translator) -> None:
        text = "one red dog\ntwo  blue cat\r\n\n house three four"
        result = toy([text])[0]
        assert result.text == f"{TARGET}\nzwei blau Katze\r\n\n Haus drei vier".replace("zwei ", "zwei ")
        assert "".join(text[part.start : part.end] for part in result.parts) == text

    def test_every_character_is_in_one_part(self, wild: Translator) -> None:
        """D5: whatever the text and the limit."""
        rng = random.Random(5)
        texts = [nasty_text(rng, 30) for _ in range(25)]
        for text, one in zip(texts, wild(texts, longest=rng.randint(4, 20), beam=1), strict=True):
            assert "".join(text[part.start : part.end] for part in one.parts) == text
            assert one.text == "".join(part.text for part in one.parts)
            assert all(len(part.source_tokens) <= 20 for part in one.parts)

    def test_a_space_where_the_source_had_none(self, toy: Translator) -> None:
        result = toy(["one red。two blue。"], longest=12)[0]
        assert len(result.parts) == 2
        assert result.parts[0].text.endswith(" ")

    def test_the_limit_of_the_model_is_the_default(self, toy: Translator) -> None:
        assert toy.longest == 256
        text = "one red dog " * 200
        result = toy([text], beam=1)[0]
        assert len(result.parts) > 1
        assert max(len(part.source_tokens) for part in result.parts) <= 256


class TestAttention:
    """D3, and row 3: for greedy, beam, n-best and sampling."""

    @pytest.mark.parametrize("how", [{"beam": 1}, {"beam": 4, "nbest": 3}, {"sample": True, "nbest": 2, "seed": 5}])
    def test_of_what_was_really_said(self, wild: Translator, how: dict[str, int]) -> None:
        plain, seen = wild([SOURCE], **how)[0], wild([SOURCE], attention=True, **how)[0]
        assert [one.tokens for one in plain.nbest] == [one.tokens for one in seen.nbest]
        for quiet, one in zip(plain.nbest, seen.nbest, strict=True):
            assert quiet.attention is None
            assert one.scores == pytest.approx(quiet.scores, abs=2e-6)
            weights = one.attention
            assert weights is not None
            assert weights.shape[2:] == (len(one.tokens), len(one.source_tokens))
            assert torch.allclose(weights.sum(-1), torch.ones(weights.shape[:-1]), atol=1e-5)
            assert torch.allclose(weights, self.stepped(wild, one), atol=1e-5)

    def stepped(self, translator: Translator, result: Result) -> torch.Tensor:
        """The weights of saying it piece by piece."""
        model, pieces = translator.model, translator.speaker.source
        ids = {word: number for number, word in enumerate(pieces.words(range(len(pieces))))}
        source = torch.tensor([[ids[token] for token in result.source_tokens]])
        before = [START, *(ids[token] for token in result.tokens)][: len(result.tokens)]
        layers = []
        for sight in model.sights():
            with torch.no_grad(), watch(sight) as seen:
                state = model.start(source, torch.tensor([source.shape[1]]))
                for word in before:
                    _, state = model.step(state, torch.tensor([word]))
            layers.append(torch.cat([look.weights[0] for look in seen], 1))
        return torch.stack(layers)

    def test_scores_are_those_of_a_forced_pass(self, wild: Translator) -> None:
        for one in wild([SOURCE], nbest=2, beam=3)[0].nbest:
            pieces = wild.speaker.source
            ids = {word: number for number, word in enumerate(pieces.words(range(len(pieces))))}
            said = [ids[token] for token in one.tokens]
            source = torch.tensor([[ids[token] for token in one.source_tokens]])
            with torch.no_grad():
                logits = wild.model(source, torch.tensor([source.shape[1]]), torch.tensor([[START, *said[:-1]]]))
            right = torch.log_softmax(logits[0], -1)[range(len(said)), said]
            assert one.scores == pytest.approx(right.tolist(), abs=1e-4)

    def test_of_several_parts_nothing_sees_another(self, wild: Translator) -> None:
        result = wild(["one red\ndog"], attention=True)[0]
        first, second = (part.attention for part in result.parts)
        assert first is not None and second is not None  # noqa: PT018
        whole = result.attention
        assert whole is not None
        rows, columns = first.shape[2:]
        assert whole.shape[2:] == (rows + second.shape[2], columns + second.shape[3])
        assert torch.equal(whole[:, :, :rows, :columns], first)
        assert torch.equal(whole[:, :, rows:, columns:], second)
        assert not whole[:, :, rows:, :columns].any()
        assert not whole[:, :, :rows, columns:].any()


class TestAlignment:
    def test_words(self, toy: Translator) -> None:
        result = toy(["one red dog"], alignment=True)[0]
        assert result.alignment is not None
        assert [target for _, target in result.alignment] == [0, 1, 2]
        assert result.attention is None
        assert result.source_words == ["one", "red", "dog"]
        assert result.words == ["eins", "rot", "Hund"]
        assert result.source_word_of == words_of(result.source_tokens)[1]
        assert result.word_of == words_of(result.tokens)[1]

    def test_none_if_not_asked_for_and_empty_for_nothing(self, toy: Translator) -> None:
        assert toy(["one"])[0].alignment is None
        assert toy([""], alignment=True)[0].alignment == ()

    def test_words_of_parts_are_counted_on(self, toy: Translator) -> None:
        apart = toy(["one red dog", "two blue cat"], alignment=True)
        joined = toy(["one red dog\ntwo blue cat"], alignment=True)[0]
        first, second = (one.alignment or () for one in apart)
        assert joined.alignment == (*first, *((source + 3, target + 3) for source, target in second))

    def test_what_is_kept_is_linked_with_itself(self, toy: Translator) -> None:
        result = toy(["one {a} dog"], alignment=True, keep_placeholders=True)[0]
        assert result.alignment is not None
        assert (1, result.words.index("{a}")) in result.alignment

    def test_a_layer_that_is_not_there(self, toy: Translator) -> None:
        wrong = Translator(toy.model, toy.speaker.source, toy.speaker.target, toy.search, layer=7)
        with pytest.raises(ValueError, match="there is no layer 7; the model has 1"):
            wrong(["one"], alignment=True)


class TestWishes:
    def test_prefix(self, toy: Translator) -> None:
        found = toy(["one red dog", "two blue cat", "one\ntwo"], prefix=["zwei", "", "drei"])
        assert found[0].text.startswith("zwei")
        assert found[1].text == "zwei blau Katze"
        assert found[2].text.startswith("drei")
        assert found[2].parts[1].text == toy(["two"])[0].text  # only what comes first begins with it

    def test_glossary(self, toy: Translator) -> None:
        result = toy(["one red dog", "two blue cat"], glossary={"dog": "Katze"}, beam=4)
        assert "Katze" in result[0].text
        assert result[1].text == "zwei blau Katze"
        assert result[0].suspect == ()

    def test_a_term_that_could_not_be_had_is_told(self, toy: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Translator, "_wishing", lambda self, place, *_: place)
        assert toy(["one red dog"], glossary={"dog": "Wolf"})[0].suspect == ("glossary",)


class TestGlossary:
    glossary = Glossary(
        {"red dog": "Fuchs", "dog": "Hund", "cat": "Katze", "犬": "Hund", "C++": "C++", "New York": "NY"}
    )

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("a red dog and a dog", ["red dog", "dog"]),
            ("Dog! (cat)", ["dog", "cat"]),
            ("dogs hotdog cat9 DOG", []),
            ("これは犬です", ["犬"]),
            ("C++ in New York.", ["C++", "New York"]),
            ("", []),
        ],
    )
    def test_found(self, text: str, found: list[str]) -> None:
        assert [term for term, _ in self.glossary.found(text)] == found

    def test_file(self, tmp_path: Path) -> None:
        file = tmp_path / "terms.tsv"
        file.write_text("# ours\ndog\tHund\n\n cat \t Katze\ndog\tHund\n", encoding="utf-8")
        assert Glossary.load(file).terms == {"dog": "Hund", "cat": "Katze"}

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("dog Hund\n", "terms.tsv:1: a term, one tab and its translation are expected; got 'dog Hund'"),
            ("a\tb\ndog\t\n", "terms.tsv:2: a term, one tab"),
            ("a\tb\tc\n", "terms.tsv:1: a term, one tab"),
            ("a\tb\na\tc\n", "terms.tsv:2: 'a' has another translation already"),
        ],
    )
    def test_a_file_that_makes_no_sense(self, tmp_path: Path, content: str, told: str) -> None:
        file = tmp_path / "terms.tsv"
        file.write_text(content, encoding="utf-8")
        with pytest.raises(ValueError, match=told):
            Glossary.load(file)

    def test_an_empty_term(self) -> None:
        with pytest.raises(ValueError, match="the glossary has an empty side"):
            Glossary({"dog": " "})


class TestDoubt:
    def test_the_limit_is_told(self, toy: Translator) -> None:
        result = toy(["one red dog two"], beam=1, longest_ratio=0.01, longest_extra=1)[0]
        assert not result.complete
        assert result.suspect == ("limit",)
        assert "</s>" not in result.tokens
        assert len(result.scores) == len(result.tokens) == 1

    def test_the_source_said_again(self) -> None:
        from regard.translate.suspicion import suspicions

        same = Result("a b c d", "a b c d", (Part(0, 7, "a b c d", tokens=("x",)),))
        assert suspicions(same, [], None) == ("copied",)
        assert suspicions(Result("a b", "a b"), [], None) == ()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"texts": "one"}, r"texts is one text; put it in a list: translator\(\[text\]\)"),
        ({"prefix": ["a", "b"]}, "there are 1 texts and 2 prefixes"),
        ({"beam": 0}, "beam: Input should be greater than or equal to 1"),
        ({"bean": 2}, "bean: Extra inputs are not permitted"),
        ({"beam": 2, "nbest": 3}, "nbest: a beam of 2 has no 3"),
        ({"texts": ["\ud800"]}, "half of a surrogate pair"),
    ],
)
def test_what_cannot_be_is_one_sentence(toy: Translator, given: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        toy(**{"texts": ["one"], **given})  # type: ignore[arg-type]
