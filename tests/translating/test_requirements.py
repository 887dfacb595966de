import pytest
from untrained import QUICK, learned_tokenizer, toy_tokenizer, untrained_run

from pipelines.glossary import Glossary
from t2t_keras.translating.requirements import requirements_of

TEXTS = ["The dog sleeps.", "A cat."]


@pytest.mark.parametrize("kind", ["dictionary", "file", "glossary"])
def test_a_glossary_is_a_dictionary_a_file_or_an_object(kind, tmp_path):
    (tmp_path / "terms.tsv").write_text("dog\tguter Hund\n")
    glossary = {"dog": "guter Hund"}
    given = {"dictionary": glossary, "file": tmp_path / "terms.tsv", "glossary": Glossary(glossary)}
    requirements = requirements_of(learned_tokenizer(), TEXTS, given[kind])
    assert requirements.of_sentence(TEXTS[0], 0) == ["guter Hund"]
    assert requirements.of_sentence(TEXTS[1], 1) == requirements.of_text(0) == []


def test_texts_have_phrases_of_their_own_and_without_any_there_are_no_requirements():
    requirements = requirements_of(learned_tokenizer(), TEXTS, require=[["Haus"], ()])
    assert requirements.of_text(0) == ["Haus"] and requirements.of_text(1) == []
    assert requirements_of(learned_tokenizer(), TEXTS) is None


@pytest.mark.parametrize(
    ("require", "message"),
    [
        ([["Haus"]], "a list of phrases for each text. Received: 1 lists for 2 texts"),
        (["Haus", ["Tag"]], "lists of phrases. Received: 'Haus'"),
        ([[3], []], r"lists of phrases. Received: \[3\]"),
    ],
)
def test_wrong_phrases_are_refused(require, message):
    with pytest.raises(ValueError, match=message):
        requirements_of(learned_tokenizer(), TEXTS, require=require)


@pytest.mark.long
def test_a_line_with_many_phrases_is_divided_and_contains_all_of_them(tmp_path):
    tokenizer = toy_tokenizer(tmp_path / "vocabulary")
    settings = {"positions": "learned", "max_length": 64}
    run = untrained_run(tmp_path / "run", tmp_path / "vocabulary", tokenizer, **settings)
    text = "The dog sleeps, " * 12
    found = run.translate([text, "The cat."], glossary={"dog": "guter Hund"}, **QUICK)
    assert found[0].count("guter Hund") == 12
    assert found[1] == run.translate(["The cat."], **QUICK)[0]
