"""The signatures that take ids. `test_contract.py` compares their results with those of a run."""

import numpy as np
import pytest
from support.text.tree_tokenizer import TOKENIZER

from t2t_keras.decoding.alignment import AlignmentHead
from t2t_keras.decoding.batches import padded
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.decoding.tree_constraint import TreeConstraint
from t2t_keras.export.id_signatures import id_signatures
from t2t_keras.export.signature_names import Ids
from t2t_keras.runs.tree_search import tree_vocabulary
from t2t_keras.translating.engines.model import ModelEngine

TEXTS = ["The dog sleeps.", "A cat drinks water.", "No.", "The old horses waited for my sister."]
HEAD = AlignmentHead(0, 1)


def uncompiled(function):
    return function


@pytest.fixture(scope="module")
def engine(run):
    """The engine of a run with lists of three hypotheses."""
    config = run.search(beam=3, n_best=3, extra_length=12)
    return ModelEngine(run.loaded(None), run.vocabulary(), config, alignment=HEAD)


@pytest.fixture(scope="module")
def signatures(engine):
    follows = engine.tokenizer.target.ends_phrase()
    return id_signatures(engine.model, engine.config, uncompiled, follows=follows, alignment=HEAD)


@pytest.mark.long
def test_searches_that_xla_compiles_find_the_same(signatures, engine):
    source = padded([[*ids, 2] for ids in engine.tokenizer.source.encode(TEXTS)])
    expected = {name: np.array(each) for name, each in signatures[Ids.SEARCH](source).items()}
    small = signatures[Ids.SMALL](source)
    assert small["finished"]
    found = np.array(small["tokens"])
    width = min(found.shape[2], expected["tokens"].shape[2])
    np.testing.assert_array_equal(found[..., :width], expected["tokens"][..., :width])
    np.testing.assert_allclose(small["scores"], expected["scores"], rtol=1e-5)


def test_only_signatures_that_the_model_can_compute_exist(run, signatures):
    always = {Ids.SEARCH, Ids.OPTIONS, Ids.LOG_P, Ids.SMALL, Ids.ATTENTION, Ids.ALL_ATTENTION}
    assert signatures.keys() == always | {Ids.PHRASES}
    model, config = run.loaded(None), SearchConfig(constrain="tree")
    assert id_signatures(model, SearchConfig(), uncompiled).keys() == always
    trees = TreeConstraint(tree_vocabulary(TOKENIZER, "XX"))
    of_trees = id_signatures(model, config, uncompiled, trees, follows=[True] * 400)
    assert Ids.PHRASES not in of_trees, "a tree takes no phrases"
