"""A few texts, which need no threads, have the same ids and texts as in a long list."""

import numpy as np
from support.text.toy_tokenizers import TOY_TEXTS, UGLY_TEXTS, toy_tokenizer

from pipelines.special_ids import END, PADDING
from pipelines.tokenizers.few_texts import FEW, decoded, encoded

TEXTS = ["", " ", *UGLY_TEXTS, *TOY_TEXTS]


def test_company_changes_nothing():
    tokenizer = toy_tokenizer("bpe")
    texts = (TEXTS * (FEW // len(TEXTS) + 1))[: FEW + 1]
    together = tokenizer.encode(texts)
    for text, ids in zip(texts, together, strict=True):
        np.testing.assert_array_equal(tokenizer.encode([text])[0], ids)
    sequences = [*together, [], [PADDING], [END, END]]
    expected = tokenizer.decode(sequences)
    assert [tokenizer.decode([ids])[0] for ids in sequences] == expected
    processor, texts = tokenizer.processor, list(map(tokenizer.normalization, texts))
    assert encoded(processor, texts, str) == [encoded(processor, [x], str)[0] for x in texts]
    assert decoded(processor, []) == encoded(processor, []) == []
