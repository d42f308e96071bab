"""Generated text: the same for everyone, right by a solver that does not know how it was made, splits apart."""

from __future__ import annotations

import ast
from itertools import islice

import pytest

from regard.text import arithmetic, questions, trees
from regard.text.generated import GENERATORS, generator, split_of

MADE = {"arithmetic": arithmetic, "questions": questions, "trees": trees}


@pytest.mark.parametrize("name", MADE)
def test_it_depends_on_the_seed_alone_and_splits_share_nothing(name):
    made = generator(name)
    one, same, other = (list(islice(made.pairs("train", seed), 300)) for seed in (1, 1, 2))
    assert one == same != other
    assert [line for line, _, _ in one] == list(range(1, 301))
    held = {source for split in ("valid", *made.TESTS) for _, source, _ in islice(made.pairs(split, 3), 300)}
    assert not held & {source for some in (one, other) for _, source, _ in some}
    assert all(split_of(source) == "train" for _, source, _ in one)


def test_answers_are_what_python_says():
    for _, expression, answer in islice(arithmetic.pairs("train"), 2000):
        first, sign, second = expression.partition("+" if "+" in expression else "-")
        tree = ast.parse(f"{int(first)}{sign}{int(second)}", mode="eval")
        assert str(eval(compile(tree, "", "eval"))) == answer
        assert max(int(first), int(second)) <= arithmetic.LARGEST


def test_the_last_fact_counts():
    text = "anna went to the attic . ben took the cup . anna took the map . "
    text += "anna went to the yard . carla took the cup . "
    assert questions.answer(text + "where is anna ?") == "yard"
    assert questions.answer(text + "who has the cup ?") == "carla"
    assert questions.answer("ben took the cup . who has the cup ?") == "ben"
    with pytest.raises(ValueError, match="nothing is said of felix"):
        questions.answer(text + "where is felix ?")


def test_every_question_has_an_answer_that_the_facts_say():
    for _, text, answer in islice(questions.pairs("test"), 500):
        asked = text.split()[-2]
        lines = [fact.split() for fact in text.split(" . ")[:-1]]
        if asked in questions.PEOPLE:
            right = [words[-1] for words in lines if words[:2] == [asked, "went"]]
        else:
            right = [words[0] for words in lines if words[1] == "took" and words[-1] == asked]
        assert right[-1] == answer


def test_a_sentence_is_read_back_to_its_tree():
    for _, sentence, tree in islice(trees.pairs("train"), 1000):
        assert trees.parse(sentence) == tree
        assert " ".join(word for word in tree.split() if word != ")" and not word.startswith("(")) == sentence
        assert tree.count("(") == tree.split().count(")")
        assert 3 <= len(sentence.split()) <= 20
        assert deepest(tree) <= trees.DEEPEST


def deepest(tree: str) -> int:
    """Noun phrases within each other."""
    opened, most = [], 0
    for word in tree.split():
        if word.startswith("("):
            opened.append(word)
        elif word == ")":
            opened.pop()
        most = max(most, opened.count("(NP"))
    return most


def test_a_tree_by_hand():
    tree = "(S (NP the old man (RC that (VP saw (NP a dog ) ) ) ) (VP slept ) )"
    assert trees.parse("the old man that saw a dog slept") == tree
    with pytest.raises(ValueError, match="'slept' cannot stand at place 2"):
        trees.parse("the slept")
    with pytest.raises(ValueError, match="'dog' follows the end"):
        trees.parse("the man slept dog")


def test_long_sentences_are_a_test_of_their_own():
    found = list(islice(trees.pairs("length=20"), 20))
    assert {len(sentence.split()) for _, sentence, _ in found} == {20}
    assert all(split_of(sentence) == "test" for _, sentence, _ in found)


def test_a_generator_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="there is no generator 'tree'; perhaps you meant trees"):
        generator("tree")
    with pytest.raises(ValueError, match="there are: dates, arithmetic"):
        generator("zzz")
    assert set(MADE) < set(GENERATORS)
