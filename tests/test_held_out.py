import numpy as np

from pipelines.batch_plan import BatchConfig, BatchPlan
from pipelines.dataset import TrainingData, encoded
from pipelines.toy_grammar import pairs
from pipelines.vocabulary import VocabularyConfig, learn
from t2t_keras.evaluation.held_out import HeldOut


def test_translations_come_back_in_the_order_of_their_sources():
    """A decoder that copies: each sentence must be found beside itself."""
    sources = [source for source, _ in pairs(101)]
    tokenizer = learn(sources, VocabularyConfig(size=400))
    store = encoded([(source, source) for source in sources], tokenizer)
    config = BatchConfig(tokens=400, buckets=3, max_length=50)
    data = TrainingData(store, BatchPlan(store.lengths + 1, config, seed=None))
    seen = []

    def copy(source):
        seen.append(source.shape)
        return np.asarray(source)

    held_out = HeldOut(data, sources, sources, copy, tokenizer.decode, shown=2)
    assert held_out.hypotheses() == sources
    results = held_out.translate()
    assert round(results["bleu"], 3) == 100
    assert "tok:13a" in results["bleu_signature"]
    assert len(results["examples"]) == 6 and sources[1] in results["examples"][5]
    assert len(set(seen)) <= 3
