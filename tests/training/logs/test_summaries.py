import keras
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator

from t2t_keras.evaluation.held_out import Example
from t2t_keras.training.logs.summaries import Summaries, escaped

LOSS, BLEU = "quality/loss", "quality/BLEU"


def events_in(folder):
    return EventAccumulator(str(folder), tensor_size_guidance={"tensors": 0}).Reload()


def scalars(folder):
    """Returns (step, value) pairs by name, as TensorBoard reads them."""
    events = events_in(folder)
    return {
        name: [
            (event.step, float(tf.make_ndarray(event.tensor_proto)))
            for event in events.Tensors(name)
        ]
        for name in events.Tags()["tensors"]
        if events.SummaryMetadata(name).plugin_data.plugin_name == "scalars"
    }


def texts(folder):
    """Returns (step, rows) of the example translations."""
    return [
        (event.step, tf.make_ndarray(event.tensor_proto).astype(str).tolist())
        for event in events_in(folder).Tensors("example translations")
    ]


def write_steps(folder, first, last, value, sets=("",)):
    """Writes the metrics of some steps and evaluations, all with one value."""
    summaries = Summaries(folder, names=sets)
    model = keras.Sequential()
    model.compile(keras.optimizers.Adam(0.5))
    model.optimizer.iterations.assign(first - 1)
    summaries.set_model(model)
    summaries.on_train_begin()
    for step in range(first, last + 1):
        if step % 2 == 0:
            speed = {"learning_rate": 0.5, "tokens_per_second": 90.0, "tokens": 9, "seconds": 1.0}
            summaries.write_interval({"step": step, "loss": value, "own": value, **speed})
        if step % 4 == 0:
            results = {"step": step, "loss": value + 1, "bleu": 12.5, "tokens": 100, "flops": 1e9}
            results |= {"train_loss": value, "bleu_signature": "x", "passes": {"a": 1.0}}
            for number, name in enumerate(filter(None, sets), 1):
                results[f"{name}/loss"] = value + number
            summaries.write_evaluation(
                results, {name: [Example("a|b", "*c*", f"{value}")] for name in sets}
            )
    summaries.on_train_end()


def test_metrics_have_readable_names_in_named_groups(tmp_path):
    write_steps(tmp_path, 1, 4, 2.0)
    assert scalars(tmp_path / "training") == {
        LOSS: [(2, 2.0), (4, 2.0)],
        "quality/own": [(2, 2.0), (4, 2.0)],
        "schedule/learning rate": [(2, 0.5), (4, 0.5)],
        "speed and cost/tokens per second": [(2, 90.0), (4, 90.0)],
        "speed and cost/FLOPs": [(4, 1e9)],
    }
    assert scalars(tmp_path / "held_out") == {LOSS: [(4, 3.0)], BLEU: [(4, 12.5)]}
    rows = [["source", "reference", "output"], ["a&#124;b", "&#42;c&#42;", "2&#46;0"]]
    assert texts(tmp_path / "held_out") == [(4, rows)]
    description = events_in(tmp_path / "held_out").SummaryMetadata(BLEU).summary_description
    assert "greedy translations of held-out text" in description


@pytest.mark.filterwarnings("ignore:html5lib's sanitizer:DeprecationWarning")
def test_no_text_becomes_markup_in_tensorboard():
    from tensorboard import plugin_util

    text = "a | *b* _c_ `d` # <script>e</script> & [f](g) 中文。"
    assert plugin_util.markdown_to_safe_html(escaped(text)) == f"<p>{escaped(text)}</p>"


@pytest.mark.parametrize("sets", [("",), ("general", "mine")])
def test_tensorboard_replaces_the_metrics_of_steps_that_a_resumed_run_repeats(tmp_path, sets):
    write_steps(tmp_path, 1, 8, 2.0, sets)
    for path in tmp_path.glob("*/events.*"):  # TensorBoard reads files in the order of their names
        path.rename(path.with_name("events.out.tfevents.0.v2"))
    write_steps(tmp_path, 5, 8, 1.0, sets)
    assert scalars(tmp_path / "training")[LOSS] == [(2, 2.0), (4, 2.0), (6, 1.0), (8, 1.0)]
    main = tmp_path / (sets[0] or "held_out")
    assert scalars(main)[LOSS] == [(4, 3.0), (8, 2.0)]
    assert [(step, rows[1][2]) for step, rows in texts(main)] == [(4, "2&#46;0"), (8, "1&#46;0")]
    if len(sets) == 2:
        assert scalars(main).keys() == {LOSS}
        assert scalars(tmp_path / "mine") == {LOSS: [(4, 4.0), (8, 3.0)]}
        assert [step for step, _ in texts(tmp_path / "mine")] == [4, 8]
        assert not (tmp_path / "held_out").exists()
