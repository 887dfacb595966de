"""`search` itself: its optional inputs, and its compilation."""

import pytest
from keras import ops
from support.models.helpers import compiled
from support.models.searches import SOURCE
from support.models.table_model import TableModel, found

from t2t_keras.decoding.numpy_search import numpy_search
from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search import method_of, search
from t2t_keras.decoding.search_config import SearchConfig


def test_prefixes_and_indices_are_optional_inputs():
    model, config = TableModel(0, 40), SearchConfig(method="sample", n_best=2, seed=4)
    source, prefix = SOURCE[:2], SOURCE[:2, :1]
    results = found(*search(model, ops.array(source), 5, config, prefix=prefix, indices=[7, 3]))
    extras = {"prefix": prefix, "draws": draws_of([7, 3], 5, config)}
    expected = found(*numpy_search(method_of(model, config), source, 5, extras))
    for ours, theirs in zip(results, expected, strict=True):
        assert [tokens for _, tokens in ours] == [tokens for _, tokens in theirs]


@pytest.mark.long
def test_xla_compiles_a_search():
    model, config = TableModel(0, 40), SearchConfig(n_best=2)
    results = found(*compiled(lambda source: search(model, source, 12, config))(ops.array(SOURCE)))
    expected = found(*numpy_search(method_of(model, config), SOURCE, 12))
    for ours, theirs in zip(results, expected, strict=True):
        assert [tokens for _, tokens in ours] == [tokens for _, tokens in theirs]
