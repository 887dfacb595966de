"""SentencePiece splits, and a table of its own gives each piece its id, also in a graph."""

import itertools

import pytest
import sentencepiece
import tensorflow as tf
from support.importing.small_sentencepiece import TEXTS, unigram_model
from support.text.toy_tokenizers import PLAIN, SPECIAL, mapped_sentencepiece, table_for

from pipelines.tokenizers.mapped_sentencepiece import MappedSentencePiece

# {text: language code before it}
CODED_TEXTS = {
    ">>de<< The dog sleeps.": ">>de<<",
    ">>de<<The dog": ">>de<<",
    ">>de<<": ">>de<<",
    ">>de<< >>zh Hans<< the": ">>de<<",
    ">>de<<>>de<< the": ">>de<<",
    " >>de<< the": ">>de<<",
    ">>de<<< the": ">>de<<",
    ">>zh  Hans<< two spaces become one": ">>zh Hans<<",
    ">>zh\nHans<< the": ">>zh Hans<<",
    ">><<the": ">><<",
    **dict.fromkeys([">>de <<the", ">>fr<< not in the table", ">>>de<< the", ">> de the"], ""),
    **dict.fromkeys(["the >>de<<", ">>", "<<", "", "▁"], ""),
}


def ids_of(tokenizer, *texts):
    return [ids.tolist() for ids in tokenizer.encode(texts)]


def test_pieces_get_the_ids_of_the_table():
    tokenizer = mapped_sentencepiece()
    splits = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    for text, ids in zip(TEXTS, ids_of(tokenizer, *TEXTS), strict=True):
        pieces = splits.encode(text, out_type=str)
        known = [piece if piece in tokenizer.vocabulary else "<unk>" for piece in pieces]
        assert tokenizer.pieces(ids) == known, text
    assert tokenizer.pieces(*ids_of(tokenizer, "the ü")) == ["<unk>", "▁", "<unk>"]
    assert tokenizer.pieces(*ids_of(tokenizer, "der日der本語")) == ["▁", "der", "日", "der", "本語"]
    # A run of unknown characters is one piece.
    assert tokenizer.pieces(*ids_of(tokenizer, "der日日")) == ["▁", "der", "<unk>"]
    written = itertools.chain(*ids_of(tokenizer, *SPECIAL, "der</s>", "▁<s>"))
    assert not {0, 1, 2} & {*written}, "no text has special ids"


@pytest.mark.parametrize("known_to_the_model", [False, True])
@pytest.mark.parametrize("begin", [False, True])
def test_a_code_is_known_before_a_text_and_applies_to_all_of_its_parts(known_to_the_model, begin):
    tokenizer, expected = mapped_sentencepiece(begin=begin), CODED_TEXTS
    if known_to_the_model:
        model = unigram_model(160, user_defined_symbols=">>de<<")
        tokenizer = MappedSentencePiece(model, table_for(model), PLAIN, False, begin)
        expected = {text: code * (code == ">>de<<") for text, code in expected.items()}
    codes, rests = zip(*map(tokenizer.split_code, expected), strict=True)
    assert codes == tuple(expected.values())
    assert rests[:4] == ("The dog sleeps.", "The dog", "", ">>zh Hans<< the")
    assert tokenizer.split_code("the >>de<<") == ("", "the >>de<<")
    assert [*map(len, tokenizer.encode(["", " "]))] == [0, 0], "no begin token before no text"
    encoded = tokenizer.encode(expected)
    leads = [tokenizer.lead(ids) for ids in encoded]
    for code, lead, ids in zip(codes, leads, encoded, strict=True):
        assert tokenizer.decode([ids[:lead]])[0] == code
        assert code or lead == (begin and len(ids) > 0)
    graph = tokenizer.in_graph()
    assert graph.leads(graph.tokenize(tf.constant([*expected]))).numpy().tolist() == leads
    assert {*tokenizer.codes.values()} <= tokenizer.marks.keys(), "a code is not a word"


def test_decoding_joins_the_pieces_and_byte_fallback_keeps_every_character():
    tokenizer, with_bytes = mapped_sentencepiece(), mapped_sentencepiece(byte_fallback=True)
    texts = ["Der Hund schläft nicht", "das Mädchen"]
    assert tokenizer.decode(tokenizer.encode(texts)) == texts
    ids = [1, *tokenizer.encode(["der"])[0], 3, *tokenizer.encode(["Hund"])[0], 2, 0, 0]
    assert tokenizer.decode([ids]) == ["der ⁇  Hund"]
    assert tokenizer.decode([[4, *tokenizer.encode(["der"])[0]]]) == [">>de<< der"]
    texts = ["日本 Ω der 👨", "x\u0301"]
    assert with_bytes.decode(with_bytes.encode(texts)) == texts
    assert len(with_bytes.byte_ids) == 256
    assert with_bytes.pieces(with_bytes.byte_ids[:1])[0] in ("<0x00>", "<0xFF>")


def test_models_and_tables_that_cannot_be_used_are_refused():
    with pytest.raises(ValueError, match="SentencePiece model cannot be read"):
        MappedSentencePiece(b"no model", [*SPECIAL, "a"])
    for vocabulary in (SPECIAL[:3], [*SPECIAL, "a", "a"]):
        with pytest.raises(ValueError, match="distinct"):
            MappedSentencePiece(unigram_model(160), vocabulary)
