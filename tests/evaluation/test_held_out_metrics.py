from t2t_keras.evaluation.held_out_metrics import by_set, joined, without_sets

SETS = {
    "general": {"loss": 1.0, "bleu": 30.0, "bleu_signature": "one"},
    "mine": {"loss": 2.0, "bleu": 20.0, "bleu_signature": "one"},
}


def test_the_metrics_of_a_single_set_without_a_name_keep_their_names():
    metrics = joined({"": SETS["mine"]})
    assert metrics == SETS["mine"]
    assert by_set(metrics) == {} and without_sets(metrics) == metrics


def test_the_metrics_of_the_main_set_appear_with_and_without_its_name():
    metrics = joined(SETS)
    assert metrics == {
        **SETS["general"],
        **{"general/loss": 1.0, "general/bleu": 30.0, "mine/loss": 2.0, "mine/bleu": 20.0},
    }
    assert by_set(metrics) == {
        "general": {"loss": 1.0, "bleu": 30.0},
        "mine": {"loss": 2.0, "bleu": 20.0},
    }
    assert without_sets(metrics | {"step": 3}) == {"bleu_signature": "one", "step": 3}
