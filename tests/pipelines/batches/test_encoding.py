import numpy as np
import pytest
from support.text.toy_tokenizers import toy_tokenizer

from pipelines.batches import encoding
from pipelines.batches.assembly import batches
from pipelines.batches.batch_plan import BatchConfig, BatchPlan
from pipelines.batches.encoding import encode, encoded
from pipelines.batches.id_store import SIDES
from pipelines.tokenizers import SeparateTokenizers
from pipelines.tokenizers.bpe_dropout import EncodingsConfig
from pipelines.toy.grammar import pairs

PAIRS = pairs(150)
DROPOUT = EncodingsConfig(3, 0.2)
CONFIG = BatchConfig(tokens=1000, max_length=60)


@pytest.fixture(scope="module")
def tokenizer():
    return toy_tokenizer("bpe")


def test_every_encoding_of_a_store_is_decoded_to_the_text(tokenizer, monkeypatch):
    monkeypatch.setattr(encoding, "BLOCK", 7)
    separate = SeparateTokenizers(tokenizer, toy_tokenizer("bpe without bytes"))
    store, plain = encoded(PAIRS, separate, DROPOUT), encoded(PAIRS, separate)
    with pytest.raises(ValueError, match="of kind 'bpe'"):
        encoded(PAIRS, toy_tokenizer("word_pieces"), DROPOUT)
    assert (store.encodings, plain.encodings, len(store)) == (3, 1, 150)
    np.testing.assert_array_equal(store.lengths[:1], plain.lengths)
    width = store.lengths.max()
    for column, side in enumerate(SIDES):
        texts = []
        for index in range(3):
            ids = store.gather(side, range(150), width, index)
            assert (ids > 0).sum() == store.lengths[index, :, column].sum()
            assert getattr(separate, side).decode(ids) == [pair[column] for pair in PAIRS]
            texts.append(ids)
        np.testing.assert_array_equal(texts[0], plain.gather(side, range(150), width))
        assert not np.array_equal(texts[1], texts[2])


def test_batches_hold_the_chosen_encodings(tokenizer):
    store = encoded(PAIRS, tokenizer, DROPOUT)
    plan, seen = BatchPlan(store.lengths + 1, CONFIG, seed=1), set()
    for step, (inputs, labels) in enumerate(batches(store, plan, steps=2 * plan.steps)):
        examples, _, _, encodings = plan.batch(step)
        for ids, column in ((inputs["source"], 0), (inputs["target"], 1), (labels, 1)):
            rows = tokenizer.decode(ids[: len(examples)])
            assert rows == [PAIRS[example][column] for example in examples]
            assert not ids[len(examples) :].any()
        assert (labels > 0).sum() + (inputs["source"] > 0).sum() == plan.tokens(step)
        seen.update(map(tuple, encodings.tolist()))
    assert len(seen) == 9


def test_encodings_depend_on_the_seed_the_shard_and_the_side(tokenizer):
    sources = [source for source, _ in PAIRS[:50]]

    def of(seed=1, index=0):
        return encode([sources] * 2, tokenizer, EncodingsConfig(2, 0.2, seed), index)

    assert of().ids.tolist() == of().ids.tolist()
    assert len({tuple(each.ids.tolist()) for each in (of(), of(seed=2), of(index=1))}) == 3
    assert not np.array_equal(*np.diff(of().ends)[2:])
