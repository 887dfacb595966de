import numpy as np
import pytest
from helpers import array, compiled
from keras import ops
from searches import SOURCE, model_that_ends
from table_model import TableModel

from t2t_keras.decoding.ensemble import Ensemble
from t2t_keras.decoding.prepared_model import PreparedModel, prepared
from t2t_keras.decoding.search import search
from t2t_keras.decoding.search_config import SearchConfig


def ensemble():
    restricted = model_that_ends(2, num_layers=1, neighbourhood=3, decoder_neighbourhood=4)
    return Ensemble([model_that_ends(1, num_layers=1), restricted])


@pytest.mark.long
@pytest.mark.parametrize("make", [model_that_ends, ensemble])
def test_a_prepared_model_finds_the_same(make):
    model, config = make(), SearchConfig(beam=2)

    def found(prepare):
        run = compiled(lambda source: tuple(search(prepare(model), source, 12, config)))
        return map(array, run(ops.convert_to_tensor(SOURCE, "int32")))

    (tokens, scores), (expected_tokens, expected_scores) = found(prepared), found(lambda x: x)
    np.testing.assert_array_equal(tokens, expected_tokens)
    np.testing.assert_allclose(scores, expected_scores, atol=1e-4)


def test_each_model_of_an_ensemble_is_prepared():
    assert all(isinstance(model, PreparedModel) for model in prepared(ensemble()).models)


def test_a_model_without_kernels_remains_as_it_is():
    model = TableModel(seed=0)
    assert prepared(model) is model
