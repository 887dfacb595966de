"""Tags: before every source of prepared data, and never in a text."""

import numpy as np
import pytest
from support.text.small_corpus import CORPUS, config

from pipelines.batches.corpora import read_corpora
from pipelines.batches.encoding import encoded
from pipelines.preparation.prepare import prepare
from pipelines.text.sources import Pairs
from pipelines.tokenizers import load_tokenizer, words
from pipelines.tokenizers.bpe_dropout import EncodingsConfig
from pipelines.tokenizers.tags import chosen_tag, tagged
from pipelines.tokenizers.vocabulary import VocabularyConfig, learn

TAGS = ("<2de>", "<2fr>")
TEXTS = ["The dog sleeps.", "<2de> <2fr>", ""]


@pytest.fixture(scope="module")
def tokenizer():
    texts = [text for pair in CORPUS[:200] for text in pair]
    return learn(texts, VocabularyConfig(size=450, tags=TAGS))


def test_a_source_begins_with_its_tag_and_a_text_never_contains_one(tokenizer):
    plain, german = tokenizer.encode(TEXTS), tagged(tokenizer, "<2de>")
    ids = set(tokenizer.tags.values())
    assert len(ids) == 2 and not ids & set(np.concatenate(plain))
    for with_tag, without in zip(german.source.encode(TEXTS), plain, strict=True):
        assert with_tag.tolist() == [tokenizer.tags["<2de>"], *without]
    assert [each.tolist() for each in german.target.encode(TEXTS)] == [x.tolist() for x in plain]
    assert tokenizer.decode(german.source.encode(TEXTS)) == TEXTS
    assert tagged(tokenizer, None) is tokenizer
    found = tokenizer.in_graph().tokenize(TEXTS).to_list()
    assert found == [ids.tolist() for ids in plain], "graphs find no tag in texts either"
    (ids,) = tagged(tokenizer, "<2fr>").source.encode(["The dog"])
    assert [text for text, _ in words(tokenizer, ids)] == ["<2fr>", "The", "dog"]


@pytest.mark.parametrize(
    ("to", "tags", "expected"),
    [
        (None, [], None),
        (None, ["<2de>", "<2de>"], "<2de>"),
        (None, ["<bt>", None], None),
        ("de", ["<2fr>", "<2de>"], "<2de>"),
        ("<bt>", ["<bt>", None], "<bt>"),
        (None, ["<2de>", "<2fr>"], "has several tags: choose --to=de or --to=fr"),
        ("es", ["<2de>", "<2fr>"], "has no tag 'es'. It has de, fr"),
        ("de", [None], "has no tag 'de'. It has none: leave --to out"),
    ],
)
def test_the_tag_is_the_one_asked_for_or_the_only_one(to, tags, expected):
    if expected is None or expected in tags:
        assert chosen_tag(to, tags) == expected
    else:
        with pytest.raises(ValueError, match=expected):
            chosen_tag(to, tags)


def test_the_tag_begins_every_source_in_every_encoding(tokenizer):
    pairs, dropout = [(text, text) for text in TEXTS], EncodingsConfig(3, 0.5)
    store = encoded(pairs, tagged(tokenizer, "<2de>"), dropout)
    plain = encoded(pairs, tokenizer, dropout)
    for encoding in range(3):
        ids, without = (s.gather("source", range(3), 80, encoding) for s in (store, plain))
        assert set(ids[:, 0]) == {tokenizer.tags["<2de>"]}
        np.testing.assert_array_equal(ids[:, 1:], without[:, :-1])
        ids, without = (s.gather("target", range(3), 80, encoding) for s in (store, plain))
        np.testing.assert_array_equal(ids, without)


@pytest.mark.usefixtures("small_parts")
def test_prepared_data_has_its_tag_before_every_source(tmp_path):
    settings = config()
    prepare(Pairs(CORPUS), tmp_path / "plain", settings)
    prepare(Pairs(CORPUS), tmp_path / "tagged", settings, tag="<2de>")
    corpora = read_corpora(f"{tmp_path}/tagged")
    tokenizer = load_tokenizer(corpora.vocabulary)
    rows = corpora.store.gather("source", range(len(corpora.store)), 1)
    assert set(rows.ravel()) == {tokenizer.tags["<2de>"]} and corpora.tags == ["<2de>"]
    targets = corpora.store.gather("target", range(len(corpora.store)), 1)
    assert not set(targets.ravel()) & set(tokenizer.tags.values())
    assert read_corpora(f"{tmp_path}/plain").tags == [None]
    with pytest.raises(ValueError, match="Changed: tag"):
        prepare(Pairs(CORPUS), tmp_path / "tagged", settings)
    with pytest.raises(ValueError, match=r"no tag '<2fr>'\. Its tags are <2de>"):
        prepare(Pairs(CORPUS), tmp_path / "other", settings, tokenizer, tag="<2fr>")
