"""The experiments on the claims: the runs that each trains, and its conclusions."""

import csv
import math

import pytest
from support.runs.claim_runs import UntrainedRuns

from t2t_keras.experiment import differences
from t2t_keras.models import architecture_of
from t2t_keras.reproduction.claims import (
    additive,
    draft,
    heads,
    parts,
    path_length,
    scale,
    sinusoids,
    structure,
    toy_runs,
)
from t2t_keras.reproduction.claims.finding import write_finding
from t2t_keras.reproduction.claims.relation_analysis import DRAWN, ROWS
from t2t_keras.reproduction.texts import EncodedText
from t2t_keras.training.training_config import TrainingConfig

HEADS = 8


class RunsInFolders(UntrainedRuns):
    """`UntrainedRuns` with a folder for each run."""

    def trained(self, name, changes, text=None, config=None):
        run = super().trained(name, changes, text, config)
        run.folder = self.plan.folder / name / "run"
        run.folder.mkdir(parents=True, exist_ok=True)
        run.experiment = lambda: self.recipe(changes).experiment
        return run


def written(folder, experiment, runs):
    """Returns the text of an experiment, whose picture and tables are in a folder."""
    name = experiment.__name__.split(".")[-1]
    text = write_finding(folder, name, experiment.finding(runs))
    assert (folder / f"{name}.png").stat().st_size > 10_000 or experiment is parts
    return text


def rows(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.long
def test_additive_attention_is_compared_with_dot_products(tmp_path, monkeypatch):
    def measure():
        return {
            name: [
                {"forward": factor * n / 1e3, "training": factor * n / 1e3, "memory": factor * n}
                for n in additive.LENGTHS
            ]
            for name, factor in {"scaled": 1, "unscaled": 1, "additive": 20}.items()
        }

    monkeypatch.setattr(additive, "measure", measure)
    runs = UntrainedRuns(tmp_path)
    written(tmp_path, additive, runs)
    last = rows(tmp_path / "additive.csv")[-1]
    assert (last["forward, ms, scaled"], last["forward, ms, additive"]) == ("512.0", "10,240.0")
    assert len(runs.changes) == 9


@pytest.mark.long
def test_many_heads_and_one_head_are_each_analysed_once(tmp_path, monkeypatch):
    def analysis(function, folder, step):
        """The n-th head of cross-attention costs n + 1 BLEU."""
        count, bleu = analyses.pop(0)
        return {
            "bleu": bleu,
            "heads": {
                f"decoder/0/{kind}_attention": [
                    {
                        "entropy": 1.5 + head,
                        "distance": 2.0 if kind == "self" else None,
                        "agreement": 0.5 + head / 20 if kind == "cross" else None,
                        "bleu": bleu - (1 + head) * (kind == "cross"),
                    }
                    for head in range(count)
                ]
                for kind in ("self", "cross")
            },
        }

    analyses = [(8, 60.0), (1, 50.0)]
    monkeypatch.setattr(toy_runs, "call_in_child", analysis)
    texts = [written(tmp_path, heads, RunsInFolders(tmp_path)) for _ in range(2)]
    assert texts[0] == texts[1]
    last = rows(tmp_path / "heads.csv")[-1]
    assert list(last.values()) == ["one head", "50.0", "cross 1", "1.50", "", "0.50", "49.0"]


@pytest.mark.long
def test_a_draft_is_compared_with_greedy_search(tmp_path, monkeypatch):
    dev = tmp_path / "dev.en"
    dev.write_text("The old horse sleeps.\n")
    seen = {0: [], 1: [[1, 1]] * 4 + [[1, 0]] * 2, 2: [[2, 2]] * 3 + [[2, 1]]}
    measured = [
        {"proposals": k, "equal": 1, "tokens": 10, "seen": of_k, "milliseconds": 8.0 / (k + 1)}
        for k, of_k in seen.items()
    ]
    monkeypatch.setattr(toy_runs, "call_in_child", lambda *arguments: measured)
    runs = RunsInFolders(tmp_path)
    runs.text = EncodedText(tmp_path, None, (dev, dev))
    written(tmp_path, draft, runs)
    _, one, two = (list(row.values())[1:5] for row in rows(tmp_path / "draft.csv"))
    assert one == ["66.7%", "1.67", "4.00", "2.00"]
    assert two == ["87.5%", "2.50", "2.67", "3.00"]
    assert draft.expected(measured[2]) == pytest.approx(1 + 7 / 8 + 49 / 64)


def analysis_of_structure():
    """Returns an analysis in which head 2 of layer 3 is the best for everything."""
    found = {"cases": 50, "distance": 3.0, "chance": 0.04, "offset": -1, "fixed": 0.6}
    found |= {"untrained": 0.05, "head": [2, 1], "share": 0.7, "largest": 0.9}
    found["shares"] = [0.1] * (structure.LAYERS * HEADS)
    without = {
        f"{name}_attention": [0.9] * HEADS
        for layer in range(structure.LAYERS)
        for name in (f"encoder/{layer}/self", f"decoder/{layer}/self", f"decoder/{layer}/cross")
    }
    without["encoder/2/self_attention"][1] = 0.6
    without["decoder/1/self_attention"][4] = 0.4
    return {
        "rows": dict.fromkeys(ROWS, found),
        "distances": {kind: {"1": 0.5, "2": 0.7} for kind, _ in ROWS.values()},
        "pronouns": {"cases": 100, "right": 0.95, "without": without},
        "example": {
            "words": ["It.", "end"],
            "links": {name: [[1, 0]] for name in DRAWN},
            "weights": {name: [[0.5, 0.5], [1.0, 0.0]] for name in DRAWN},
        },
    }


@pytest.mark.long
def test_heads_that_follow_structure_and_their_use_for_pronouns(tmp_path, monkeypatch):
    monkeypatch.setattr(structure, "encoded_toy_documents", lambda *_: object())
    monkeypatch.setattr(structure, "analysed", lambda *_: analysis_of_structure())
    runs = RunsInFolders(tmp_path)
    text = written(tmp_path, structure, runs)
    assert runs.changes["structure"]["training.steps"] == 4000
    (pronouns,) = rows(tmp_path / "structure-pronouns.csv")
    assert [*pronouns.values()] == ["100", "95%", "39%", "60%", "40% (decoder 2, head 5)"]
    assert "| 3.2" in text and "60% (-1)" in text
    assert (tmp_path / "structure-heads.png").exists()


@pytest.mark.long
def test_runs_with_and_without_the_division_are_compared_at_two_widths(tmp_path):
    runs = UntrainedRuns(tmp_path)
    text = written(tmp_path, scale, runs)
    assert list(runs.changes.values()) == [
        {"model.attention": attention, "model.num_heads": heads}
        for heads in (8, 1)
        for attention in ("scaled", "unscaled")
    ]
    assert "| 1024 |" in text
    assert "not divided,1,128,5.000,20.0" in (tmp_path / "scale-runs.csv").read_text()


@pytest.mark.long
def test_the_wavelengths_of_the_layer_are_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(sinusoids, "call_in_child", lambda function, *args: function(*args))
    for name, value in {
        "POSITIONS": 1100,
        "STARTS": (0, 200),
        "D_MODEL": 64,
        "PAIRS": (0, 31),
    }.items():
        monkeypatch.setattr(sinusoids, name, value)
    written(tmp_path, sinusoids, UntrainedRuns(tmp_path))
    assert '"62, 63"' in (tmp_path / "sinusoids-wavelengths.csv").read_text()


def test_each_variant_leaves_out_one_part(tmp_path):
    runs = UntrainedRuns(tmp_path)
    written(tmp_path, parts, runs)
    complete, *others = (runs.recipe(changes).experiment for changes in runs.changes.values())
    assert [differences(complete, other) for other in others][:3] == [
        {"model.residual": (True, False)},
        {"model.layer_norm": (True, False)},
        {"training.label_smoothing": (0.1, 0.0)},
    ]
    assert differences(others[3], others[4]) == {"training.warmup_steps": (200, 1)}
    assert "without residuals,3.000,+1.000,33.3,-16.7" in (tmp_path / "parts.csv").read_text()
    end = complete.training.warmup_steps - 1  # steps count from 0
    highest, constant = (float(each.schedule()(end)) for each in (complete, others[3]))
    assert constant == pytest.approx(highest, rel=1e-5)
    training = TrainingConfig(schedule="linear", learning_rate=1e-3)
    assert parts.highest_rate(training, d_model=128) == 1e-3


@pytest.mark.long
def test_kinds_of_encoders_are_trained_on_the_same_lines_and_compared_by_distance(
    tmp_path, monkeypatch
):
    text, reaching = object(), {"path-restricted": 39, "path-convolutional": 4}
    monkeypatch.setattr(path_length, "encoded_chains", lambda *_: text)
    monkeypatch.setattr(path_length, "read_lines", lambda _: ["a line"])

    def gradients(run, *_):
        far, layers = reaching.get(run.name, 60), path_length.LAYERS
        return [
            [2 / (1 + d) if d <= far / (layers - k) else 0 for d in range(60)]
            for k in range(layers)
        ]

    monkeypatch.setattr(path_length, "analysed", gradients)
    runs = UntrainedRuns(tmp_path)
    written(tmp_path, path_length, runs)
    assert set(runs.texts.values()) == {text}
    kinds = [
        architecture_of(runs.recipe(changes, runs.configs[name]).experiment.model)
        for name, changes in runs.changes.items()
    ]
    assert kinds == ["transformer", "transformer", "gnmt", "convs2s", "bytenet"]
    table = {row["layers of the encoder"]: row for row in rows(tmp_path / "path_length.csv")}
    row = table["convolutional, k = 3 (ConvS2S)"]
    assert (row["farthest after 1 layer"], row[f"after {path_length.LAYERS}"]) == ("1", "4")
    assert (row["gradient over 4"], row["gradient over 16"]) == ("0.2", "0")


def test_the_learning_rate_is_a_share_of_any_schedules(tmp_path):
    """A rate that suits the paper's schedule only would be refused after the other experiments."""
    linear = {"training.schedule": "linear", "training.learning_rate": 2.4e-3}
    for overrides, rate in ((None, 0.25), (linear, 1e-3)):
        runs = UntrainedRuns(tmp_path, overrides)
        training = runs.recipe(path_length.shared_changes(runs)).experiment.training
        assert math.isclose(training.learning_rate, rate)


def test_a_training_that_diverged_has_gradients_without_value():
    layers = path_length.relative([[math.nan, math.nan], [0.0, 0.0], [2.0, 1.0]])
    assert [path_length.farthest(layer) for layer in layers] == [0, 0, 1]
    assert layers[2] == [1.0, 0.5]
