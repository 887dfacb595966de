import random

import numpy as np
import pytest
import tensorflow as tf

from pipelines.normalization import Normalization
from pipelines.tokenizers import (
    BEGIN,
    END,
    PADDING,
    UNKNOWN,
    BytePairTokenizer,
    WordPieceTokenizer,
    load_tokenizer,
    lone_pieces,
    save_tokenizer,
    words,
)
from pipelines.toy_grammar import pairs
from pipelines.vocabulary import VocabularyConfig, learn

TEXTS = [side for pair in pairs(2000) for side in pair]
UGLY = [
    "",
    "   ",
    "two  spaces\tand\u00a0more ",
    "NUL \x00 and BEL \x07",
    "e\u0301 is é, o\u0308 is ö",
    "🙂 👨\u200d👩\u200d👧 🏳️\u200d🌈",
    "שלום עולם \u202e und عربي",
    "zero\u200bwidth \ufeffmark",
    "日本語のテキスト、한국어",
    "x" * 10_000,
    "Der Hund. " * 1_000,
    "é" * 10_000,
    "<s> </s> <pad> <unk> <0x41> ▁padding ##▁Hund ## #",
    "line\nbreaks\r\nand\u2028others\u0085",
    "\u2047 ⁇ \ufffd",
    "\U0010ffff\ue000",
    b"not \xff\xfe UTF-8 \xed\xa0\x80 \xf0\x9f",
    *(bytes(random.Random(seed).choices(range(256), k=30)) for seed in range(200)),
    *("".join(map(chr, random.Random(s).choices(range(0x20, 0x2FF), k=20))) for s in range(200)),
]


@pytest.fixture(scope="module", params=["bpe", "bpe without bytes", "word_pieces"])
def tokenizer(request):
    config = VocabularyConfig(kind=request.param.split()[0], size=500)
    config.byte_fallback = request.param == "bpe"
    return learn(map(Normalization(), TEXTS), config)


def as_bytes(texts):
    return [text.encode() if isinstance(text, str) else text for text in texts]


@pytest.mark.parametrize("texts", [UGLY, TEXTS], ids=["ugly", "toy"])
def test_the_same_ids_in_the_graph_and_out_of_it(tokenizer, texts):
    expected = [ids.tolist() for ids in tokenizer.encode(texts)]
    graph = tokenizer.in_graph()
    assert graph.tokenize(tf.constant(as_bytes(texts))).to_list() == expected
    compiled = tf.function(graph.tokenize)
    for first in range(0, len(texts), 100):
        found = compiled(tf.constant(as_bytes(texts[first : first + 100]))).to_list()
        assert found == expected[first : first + 100]


def test_the_same_text_from_the_same_ids(tokenizer):
    choices = random.Random(0)
    sequences = [ids.tolist() for ids in tokenizer.encode(UGLY)]
    sequences += [choices.choices(range(tokenizer.size), k=12) for _ in range(500)]
    expected = tokenizer.decode(sequences)
    graph = tokenizer.in_graph()
    ragged = tf.ragged.constant(sequences, dtype="int32")
    for ids in (ragged, ragged.to_tensor()):
        found = [text.decode() for text in graph.detokenize(ids).numpy()]
        assert found == expected


def test_the_text_comes_back(tokenizer):
    assert tokenizer.decode(tokenizer.encode(TEXTS)) == TEXTS


@pytest.mark.parametrize("tokenizer", ["bpe"], indirect=True)
def test_with_bytes_every_text_comes_back(tokenizer):
    assert tokenizer.decode(tokenizer.encode(UGLY)) == [Normalization()(text) for text in UGLY]


def test_what_was_never_seen_is_unknown_and_nothing_else_is(tokenizer):
    ids = np.concatenate(tokenizer.encode(["日 Hund 日 q§"]))
    if len(tokenizer.byte_ids):
        assert UNKNOWN not in ids
    else:
        assert (ids == UNKNOWN).sum() >= 3
    assert not {PADDING, BEGIN, END} & set(np.concatenate(tokenizer.encode(UGLY)))
    assert UNKNOWN not in np.concatenate(tokenizer.encode(TEXTS))


def test_padding_begin_and_end_are_no_text(tokenizer):
    ids = tokenizer.encode(["Der Hund schläft."])[0].tolist()
    assert tokenizer.decode([[BEGIN, *ids, END, PADDING]]) == ["Der Hund schläft."]


def test_pieces_say_where_words_begin(tokenizer):
    pieces = tokenizer.pieces(tokenizer.encode(["Der Hund schläft."])[0])
    assert "".join(pieces) == "▁Der▁Hund▁schläft."


def test_pieces_are_joined_to_words(tokenizer):
    text = "Der Hund schläft, glaube ich."
    ids = [BEGIN, *tokenizer.encode([text])[0], END, PADDING]
    found = words(tokenizer, ids)
    assert [word for word, _ in found] == ["<s>", *text.split(), "</s>", "<pad>"]
    assert sum(pieces for _, pieces in found) == len(ids)
    assert max(pieces for _, pieces in found) > 1
    assert [pieces for word, pieces in found if word in ("<s>", "</s>", "<pad>")] == [1, 1, 1]


def test_lone_pieces_are_shown_as_they_are(tokenizer):
    ids = [*tokenizer.encode(["Der Hund schläft."])[0], END]
    found = lone_pieces(tokenizer, ids)
    assert "".join(piece for piece, _ in found) == "▁Der▁Hund▁schläft.</s>"
    assert [pieces for _, pieces in found] == [1] * len(ids)


@pytest.mark.parametrize("tokenizer", ["bpe"], indirect=True)
def test_bytes_are_joined_to_their_character(tokenizer):
    ids = tokenizer.encode(["Hund 日本 €"])[0]
    assert [word for word, _ in words(tokenizer, ids)] == ["Hund", "日本", "€"]
    assert [word for word, _ in lone_pieces(tokenizer, ids)][-3:] == ["<0xE2>", "<0x82>", "<0xAC>"]
    half = ids[:-1]  # a model may write a part of a character
    assert words(tokenizer, half)[-1][0].strip("\ufffd") == ""


def test_a_word_without_text_has_a_sign(tokenizer):
    assert words(tokenizer, []) == []
    assert all(text for text, _ in words(tokenizer, range(tokenizer.size)))


def test_saved_and_loaded_it_is_the_same(tokenizer, tmp_path):
    save_tokenizer(tokenizer, tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert type(loaded) is type(tokenizer) and loaded.size == tokenizer.size
    assert loaded.normalization == tokenizer.normalization
    for found, expected in zip(loaded.encode(UGLY), tokenizer.encode(UGLY), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_an_exported_graph_tokenises_without_this_package(tokenizer, tmp_path):
    graph = tokenizer.in_graph()
    module = tf.Module()
    module.graph = graph
    module.ids = tf.function(
        lambda texts: graph.tokenize(texts).to_tensor(),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    tf.saved_model.save(module, str(tmp_path))
    found = tf.saved_model.load(str(tmp_path)).ids(tf.constant(TEXTS[:5]))
    np.testing.assert_array_equal(found, graph.tokenize(tf.constant(TEXTS[:5])).to_tensor())


def test_one_text_is_not_taken_for_many(tokenizer):
    with pytest.raises(ValueError, match=r"`texts` must be a list of texts. Received: texts='ab'"):
        tokenizer.encode("ab")


def test_a_folder_without_a_vocabulary_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"holds no readable vocabulary .* t2t-prepare wrote"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text('{"kind": "bpe", "normalization": {}}')
    (tmp_path / "bpe.model").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="holds no readable vocabulary"):
        load_tokenizer(tmp_path)


def test_foreign_models_must_number_as_ours_do(tmp_path):
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_prefix=f"{tmp_path}/m", vocab_size=200, minloglevel=2
    )
    with pytest.raises(ValueError, match=r"pad_id=0, bos_id=1.*Received: \[-1, 1, 2, 0\]"):
        BytePairTokenizer((tmp_path / "m.model").read_bytes())
    with pytest.raises(ValueError, match="The first word pieces must be"):
        WordPieceTokenizer(["a", "b"])
