from types import SimpleNamespace

import pytest
from support.models.fake_engine import FakeEngine
from support.text.toy_tokenizers import toy_tokenizer

from pipelines.glossaries.glossary import Glossary
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.translating.required_phrases import PhraseEncoder, loaded_glossary


def encoder(kind="bpe", longest=None, room=None, **settings):
    tokenizer, config = SimpleNamespace(target=toy_tokenizer(kind)), SearchConfig(**settings)
    limits = {"longest": longest, "phrase_room": room}
    return PhraseEncoder(SimpleNamespace(tokenizer=tokenizer, config=config, **limits))


def test_a_glossary_is_a_dictionary_a_file_or_an_object(tmp_path):
    path, engine = tmp_path / "terms.tsv", FakeEngine()
    path.write_text("dog\tguter  Hund\n")
    entries = {"dog": "guter  Hund"}
    for given in (entries, str(path), path, Glossary(entries)):
        assert loaded_glossary(given, engine).targets == {"dog": "guter Hund"}
    assert loaded_glossary(None, engine) is None


def test_a_phrase_is_encoded_as_it_stands_between_spaces():
    tokenizer = toy_tokenizer("bpe")
    (ids,) = encoder().ids_of(["  rote \u0048und"], [])
    assert tokenizer.decode([ids]) == ["rote Hund"] and tokenizer.begins_word[ids[0]]


@pytest.mark.parametrize(
    ("kind", "phrase", "settings", "message"),
    [
        ("word_pieces", "日本", {}, "the vocabulary can only write '⁇"),
        ("bpe", " ", {}, "no translation can contain the phrase ' '"),
        ("bpe", "Hund", {"banned": tuple(range(4, 500))}, "'Hund' contains the banned piece"),
        ("bpe", "Hund", {"method": "sample"}, "from beam search only, not from samples"),
        ("bpe", "Hund " * 30, {}, "pieces together, but the model writes at most 20"),
    ],
)
def test_phrases_that_cannot_be_required_are_refused(kind, phrase, settings, message):
    with pytest.raises(ValueError, match=message):
        encoder(kind, longest=20, **settings).ids_of([phrase], [])


def test_phrases_have_as_much_room_as_an_output_and_an_exported_model_have():
    def ids_of(phrases, prefix, **limits):
        return encoder(**limits).ids_of(phrases, [5] * prefix)

    (ids,) = ids_of(["Hund"], 10, longest=20)
    with pytest.raises(ValueError, match=f"have {20 + len(ids)} pieces together"):
        ids_of(["Hund"], 20, longest=20)
    assert len(ids) <= 2
    assert ids_of(["Hund"], 9, room=2) == [ids], "a prefix takes no room"
    with pytest.raises(ValueError, match="an exported model takes at most 2"):
        ids_of(["Hund"] * 3, 0, room=2)


def test_a_piece_that_continues_the_word_does_not_end_a_phrase():
    tokenizer = toy_tokenizer("bpe")
    ends = tokenizer.ends_phrase()
    for piece, end in zip(tokenizer.pieces(range(tokenizer.size)), ends, strict=True):
        if piece[0].isalnum() or piece.startswith("<0x"):
            assert not end, piece
        if piece[0] in "▁.,":
            assert end, piece
