"""Table 2: from text to BLEU and cost, at a size that trains in seconds."""

import pytest
from support.runs.reproduced import (
    SEARCH,
    cells,
    reproduce_command,
    started_stages,
    without_circumstances,
    write_lines,
)

from pipelines.toy.grammar import pairs
from t2t_keras.evaluation.bleu import bleu
from t2t_keras.evaluation.paper_bleu import paper_bleu
from t2t_keras.reproduction import Plan, reproduce
from t2t_keras.reproduction.table2_systems import ENSEMBLES, PAPER
from t2t_keras.runs.text_files import read_lines
from t2t_keras.training.checkpoints import Checkpoints

CONFIG = """
from t2t_keras.experiment import load_experiment


def get_config(variant=""):
    experiment = load_experiment("multi30k")
    model, training, data = experiment.model, experiment.training, experiment.data
    model.num_layers, model.d_model, model.d_ff, model.num_heads = 1, 16, 16, 2
    training.learning_rate = 0.5
    data.vocabulary.size, data.batches.tokens, data.batches.max_length = 400, 512, 64
    return experiment
"""

OVERRIDES = SEARCH | {"training.checkpoint_every": 10}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A small parallel text, `train`, and two test sets, `one` and `two`."""
    folder = tmp_path_factory.mktemp("corpus")
    texts = {"train": pairs(400), "one": pairs(20, "test"), "two": pairs(20, "test", seed=1)}
    for name, text in texts.items():
        for language, lines in zip(("en", "de"), zip(*text, strict=True), strict=True):
            write_lines(folder / f"{name}.{language}", lines)
    (folder / "tiny.py").write_text(CONFIG)
    return folder


@pytest.fixture(scope="module")
def plan(corpus):
    return Plan(
        "table2",
        output=corpus / "out",
        rows=["ende_base"],
        reduced=corpus / "tiny.py",
        steps=100,
        source=corpus / "train.en",
        target=corpus / "train.de",
        test_source=[corpus / "one.en"],
        test_target=[corpus / "one.de"],
        overrides=OVERRIDES,
    )


@pytest.fixture(scope="module")
def results(plan):
    """Interrupts t2t-reproduce while it trains, and resumes it; returns both results."""
    lists = {name: ",".join(value) for name, value in plan.given().items() if type(value) is list}
    settings = plan.given() | lists
    del settings["overrides"]
    flags = [f"--{name}={value}" for name, value in settings.items()]
    stopped = reproduce_command("table2", *flags, overrides=OVERRIDES, at_stage=1)
    steps = Checkpoints(plan.folder / "ende_base" / "run" / "checkpoints").steps()
    return stopped, steps, reproduce_command("table2", *flags, overrides=OVERRIDES)


@pytest.mark.nightly
def test_an_interrupted_training_resumes_and_a_table_has_both_scores(corpus, plan, results, capsys):
    stopped, steps, resumed = results
    assert stopped.returncode == 130
    assert "reproduce.py: interrupted. Run the same command to resume" in stopped.stderr
    assert steps and steps[-1] < 100
    assert resumed.returncode == 0, resumed.stderr
    remaining = ["train", "average", "translate-one"]
    assert started_stages(resumed.stderr) == [f"ende_base: {stage}" for stage in remaining]
    (row,) = cells(plan.folder / "table2.csv")
    assert (row["test set"], row["lines"]) == ("one", "20")
    assert (row["paper BLEU, newstest2014"], row["paper FLOPs"]) == ("27.3", "3.3e+18")
    assert (row["settings"], row["steps"], row["pairs trained on"]) == ("reduced", "100", "400")
    operations = 6 * ((4 + 8) * 16**2 + 4 * 16**2 + 400 * 16)  # of 1 + 1 layers, for two tokens
    assert float(row["FLOPs"]) > 0 and row["longest path"] == "O(1)"
    expected = pytest.approx((operations + (6 * 3 * 2 * 25 * 16)) / 2e6, rel=0.01)
    assert float(row["10⁶ operations per token"]) == expected
    files = plan.folder / "ende_base" / "one.out", corpus / "one.de"
    hypotheses, references = map(read_lines, files)
    assert row["sacreBLEU"] == f"{bleu(hypotheses, references).score:.2f}"
    assert row["BLEU"] == f"{paper_bleu(hypotheses, references, 'de').score:.2f}"
    for note in (
        "model.d_model 16 (paper 512)",
        "data.vocabulary.size 400 (paper 37,000)",
        "the last 5 checkpoints averaged (up to step 100)",
    ):
        assert note in resumed.stdout
    assert (plan.folder / "table2.md").read_text() == resumed.stdout
    again = reproduce(plan)  # from Python: the same table, and no stage runs
    assert without_circumstances(again) == without_circumstances(resumed.stdout)
    (corpus / "tiny.py").write_text(CONFIG.replace("0.5", "0.25"))
    with pytest.raises(ValueError, match=r"run was begun .*training\.learning_rate \(was "):
        reproduce(plan)
    (corpus / "tiny.py").write_text(CONFIG)
    assert capsys.readouterr().err == ""


def test_the_paper_prints_these_figures():
    rows = ["ende_base", "ende_big", "enfr_big", "ende_deepatt", "enfr_gnmt"]
    assert [(PAPER[row].bleu, PAPER[row].flops, PAPER[row].averaged) for row in rows] == [
        (27.3, 3.3e18, 5),
        (28.4, 2.3e19, 20),
        (41.8, 2.3e19, 20),
        (None, None, 5),
        (39.92, 1.4e20, 5),
    ]
    assert len(PAPER) == 13 and len(ENSEMBLES) == 5
    assert ENSEMBLES["ende_gnmt"] == (26.30, 1.8e20)
