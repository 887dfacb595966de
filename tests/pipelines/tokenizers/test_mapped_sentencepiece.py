"""SentencePiece splits, and a table of its own gives each piece its id, also in a graph."""

import itertools

import numpy as np
import pytest
import sentencepiece
import tensorflow as tf
from support.importing.small_sentencepiece import TEXTS, pieces_of, unigram_model
from support.text.toy_tokenizers import UGLY_TEXTS

from pipelines.text.normalization import Normalization
from pipelines.tokenizers import load_tokenizer, save_tokenizer
from pipelines.tokenizers.mapped_sentencepiece import MappedSentencePiece

SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
CODES = [">>de<<", ">>zh Hans<<", ">><<"]
MISSING = ["▁the", "ü", "."]
UNKNOWN_TO_MODEL = ["日", "本語", "🙂", "é"]  # in the table only
PLAIN = Normalization(nfc=False, control_characters=False, space_sign=False)
CODED_TEXTS = [
    ">>de<< The dog sleeps.",
    ">>de<<The dog",
    ">>de<<",
    ">>de<< >>zh Hans<< the",
    ">>de<<>>de<< the",
    " >>de<< the",
    ">>de <<the",
    ">>fr<< not in the table",
    ">>zh  Hans<< two spaces become one",
    ">>zh\nHans<< the",
    ">><<the",
    ">>>de<< the",
    ">>de<<< the",
    ">> de the",
    "the >>de<<",
    ">>",
    "<<",
]


def vocabulary_of(model):
    """Returns a table in another order than the model's, with and without some of its pieces."""
    pieces = [piece for piece in reversed(pieces_of(model)) if piece not in MISSING]
    pieces = [piece for piece in pieces if piece not in (*SPECIAL, *CODES)]
    return [*SPECIAL, *CODES, *pieces, *UNKNOWN_TO_MODEL]


def tokenizer_of(byte_fallback=False, normalization=PLAIN, codes=True, begin=False):
    model = unigram_model(420 if byte_fallback else 160, byte_fallback=byte_fallback)
    return MappedSentencePiece(model, vocabulary_of(model), normalization, codes, begin)


def ids_of(tokenizer, *texts):
    return [ids.tolist() for ids in tokenizer.encode(texts)]


def test_pieces_get_the_ids_of_the_table():
    tokenizer = tokenizer_of()
    splits = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    for text, ids in zip(TEXTS, ids_of(tokenizer, *TEXTS), strict=True):
        pieces = splits.encode(text, out_type=str)
        known = [piece if piece in tokenizer.vocabulary else "<unk>" for piece in pieces]
        assert tokenizer.pieces(ids) == known, text


def test_missing_pieces_are_unknown_and_characters_of_the_table_known():
    tokenizer = tokenizer_of()
    assert tokenizer.pieces(*ids_of(tokenizer, "the ü")) == ["<unk>", "▁", "<unk>"]
    assert tokenizer.pieces(*ids_of(tokenizer, "der日der本語")) == ["▁", "der", "日", "der", "本語"]
    # A run of unknown characters is one piece.
    assert tokenizer.pieces(*ids_of(tokenizer, "der日日")) == ["▁", "der", "<unk>"]


def test_special_ids_are_not_to_be_had_by_writing_them():
    tokenizer = tokenizer_of()
    assert not {0, 1, 2} & {*itertools.chain(*ids_of(tokenizer, *SPECIAL, "der</s>", "▁<s>"))}


def test_a_code_at_the_beginning_is_one_token():
    tokenizer = tokenizer_of()
    (plain,) = ids_of(tokenizer_of(codes=False), "der Hund")
    texts = [">>de<< der Hund", ">>de<<der Hund", ">>zh Hans<< der Hund", ">>fr<< der Hund"]
    assert ids_of(tokenizer, *texts) == [[4, *plain], [4, *plain], [5, *plain], [3, *plain]]
    assert ids_of(tokenizer, ">>de<<", ">><< der Hund") == [[4], [6, *plain]]
    assert 4 not in ids_of(tokenizer, "der >>de<<")[0]
    assert 4 not in ids_of(tokenizer_of(codes=False), ">>de<< der")[0]


@pytest.mark.parametrize("known_to_the_model", [False, True])
@pytest.mark.parametrize("begin", [False, True])
def test_a_code_is_known_before_a_text_and_applies_to_all_of_its_parts(known_to_the_model, begin):
    tokenizer = tokenizer_of(begin=begin)
    if known_to_the_model:
        model = unigram_model(160, user_defined_symbols=">>de<<")
        tokenizer = MappedSentencePiece(model, vocabulary_of(model), PLAIN, False, begin)
    graph = tokenizer.in_graph()
    codes, rests = zip(*map(tokenizer.split_code, CODED_TEXTS), strict=True)
    expected = {text: ">>de<<" for text in CODED_TEXTS if text.lstrip().startswith(">>de<<")}
    if not known_to_the_model:
        expected |= {">>zh  Hans<< two spaces become one": ">>zh Hans<<", ">><<the": ">><<"}
        expected |= {">>zh\nHans<< the": ">>zh Hans<<"}
    assert codes == tuple(expected.get(text, "") for text in CODED_TEXTS)
    assert rests[:4] == ("The dog sleeps.", "The dog", "", ">>zh Hans<< the")
    assert tokenizer.split_code("the >>de<<") == ("", "the >>de<<")
    raw = tf.constant([text.encode() for text in CODED_TEXTS])
    encoded = tokenizer.encode([*CODED_TEXTS, "", "▁"])
    leads = [tokenizer.lead(ids) for ids in encoded]
    before = zip(codes, leads, encoded, strict=False)
    assert all(tokenizer.decode([ids[:lead]])[0] == code for code, lead, ids in before if code)
    plain = zip(codes, leads, strict=False)
    assert all(lead == begin for code, lead in plain if not code) and leads[-2] == 0
    ids = graph.tokenize(tf.concat([raw, ["", "▁"]], 0))
    assert graph.leads(ids).numpy().tolist() == leads
    assert {*tokenizer.codes.values()} <= tokenizer.marks.keys(), "a code is not a word"


def test_begin_is_before_every_text_that_is_not_empty():
    tokenizer = tokenizer_of(begin=True)
    texts = ["", " ", "der Hund", ">>de<<"]
    without = ids_of(tokenizer_of(), *texts)
    assert ids_of(tokenizer, *texts) == [[], [], *([1, *ids] for ids in without[2:])]


def test_byte_fallback_keeps_every_character():
    tokenizer = tokenizer_of(byte_fallback=True)
    texts = ["日本 Ω der 👨", "x\u0301"]
    assert tokenizer.decode(tokenizer.encode(texts)) == texts
    assert len(tokenizer.byte_ids) == 256
    assert tokenizer.pieces(tokenizer.byte_ids[:1])[0] in ("<0x00>", "<0xFF>")


def test_decoding_joins_the_pieces():
    tokenizer = tokenizer_of()
    texts = ["Der Hund schläft nicht", "das Mädchen"]
    assert tokenizer.decode(tokenizer.encode(texts)) == texts
    ids = [1, *tokenizer.encode(["der"])[0], 3, *tokenizer.encode(["Hund"])[0], 2, 0, 0]
    assert tokenizer.decode([ids]) == ["der ⁇  Hund"]
    assert tokenizer.decode([[4, *tokenizer.encode(["der"])[0]]]) == [">>de<< der"]


@pytest.mark.parametrize(
    ("byte_fallback", "normalization", "codes", "begin"),
    [
        (False, PLAIN, True, True),
        (True, PLAIN, False, False),
        (False, Normalization(), True, False),
        (True, Normalization(), False, True),
    ],
)
def test_the_graph_gives_the_same_ids_and_texts(byte_fallback, normalization, codes, begin):
    tokenizer = tokenizer_of(byte_fallback, normalization, codes, begin)
    graph = tokenizer.in_graph()
    texts = [*CODED_TEXTS, *UGLY_TEXTS, *(f">>de<<{x}" for x in UGLY_TEXTS if isinstance(x, str))]
    texts += ["der日der本語", "der日日", *TEXTS[:100]]
    raw = [text if isinstance(text, bytes) else text.encode() for text in texts]
    expected = tokenizer.encode(texts)
    ids = graph.tokenize(tf.constant(raw))
    for text, ours, graphs in zip(texts, expected, ids.to_list(), strict=True):
        assert ours.tolist() == graphs, text[:100]
    decoded = [text.decode() for text in graph.detokenize(ids).numpy()]
    assert decoded == tokenizer.decode(expected)
    padded = graph.detokenize(ids[:9].to_tensor()).numpy()
    assert [text.decode() for text in padded] == decoded[:9]


def test_any_sequence_of_ids_is_decoded_alike_in_a_graph():
    for byte_fallback in (False, True):
        tokenizer = tokenizer_of(byte_fallback)
        ids = np.random.default_rng(0).integers(0, tokenizer.size, (300, 20))
        decoded = tokenizer.in_graph().detokenize(tf.constant(ids, tf.int32)).numpy()
        assert [text.decode() for text in decoded] == tokenizer.decode(ids)


def test_a_saved_tokenizer_is_the_same(tmp_path):
    tokenizer = tokenizer_of(begin=True)
    save_tokenizer(tokenizer, tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert loaded.contents() == tokenizer.contents()
    assert ids_of(loaded, *CODED_TEXTS) == ids_of(tokenizer, *CODED_TEXTS)
    assert loaded.normalization == PLAIN


def test_a_model_that_cannot_be_read_is_one_error():
    with pytest.raises(ValueError, match="SentencePiece model cannot be read"):
        MappedSentencePiece(b"no model", [*SPECIAL, "a"])


@pytest.mark.parametrize("vocabulary", [SPECIAL[:3], [*SPECIAL, "a", "a"]])
def test_pieces_must_be_distinct_and_include_the_special_ones(vocabulary):
    with pytest.raises(ValueError, match="distinct"):
        MappedSentencePiece(unigram_model(160), vocabulary)
