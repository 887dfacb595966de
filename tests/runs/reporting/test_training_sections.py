"""The training sections of a report state what was recorded."""

import re

import pytest

from pipelines.data_config import DataConfig
from t2t_keras.experiment import Experiment
from t2t_keras.runs.reporting.data_facts import corpus_text, data_facts, held_out_texts
from t2t_keras.runs.reporting.training_sections import (
    HISTORY_ROWS,
    data_and_hardware,
    history,
    learning,
    schedule,
)
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.visualization.document import html_of

SETS = [
    {"step": 1, "loss": 5.0, "train_loss": 6.0},  # before the sets had names
    {"step": 2, "loss": 4.0, "general/loss": 4.0, "general/bleu": 20.0, "my_own/loss": 3.0},
    {"step": 3, "loss": 4.5, "general/loss": 4.5, "general/bleu": 19.0, "my_own/loss": 2.0},
]


def experiment_of(**settings):
    return Experiment(training=TrainingConfig(**settings))


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"steps": 16_000}, "6.99e-04 at step 4,000, 3.49e-04 at step 16,000."),
        ({"steps": 1000}, "4,000 steps. The rate is 1.75e-07 at step 1, 1.75e-04 at step 1,000"),
    ],
)
def test_the_schedule_is_described(settings, text):
    assert text in html_of(schedule(experiment_of(**settings), None))


def test_the_history_is_thinned_and_ends_with_the_last_evaluation():
    html = html_of(history([{"step": step, "loss": 1.0} for step in range(1, 101)]))
    assert html.count("<tr>") - 1 <= HISTORY_ROWS
    assert '<td class="number">100</td>' in html and "bleu" not in html


def test_the_history_has_columns_for_each_named_set():
    cells = re.findall("<t[hd][^>]*>([^<]*)</t[hd]>", html_of(history(SETS)))
    titles = ["step", "train loss", "loss", "general loss", "general bleu", "my_own loss"]
    assert cells[:6] == titles
    assert cells[-6:] == ["3", "–", "–", "4.500", "19.0", "2.000"]


def test_a_run_without_an_evaluation_has_a_picture_of_its_training():
    intervals = [{"step": step, "loss": 6.0 - step, "tokens": 9} for step in (1, 2)]
    text = html_of(learning("run", experiment_of(), [], intervals, None))
    assert "<img" in text and "<table" not in text
    assert "no evaluation yet" in html_of(learning("run", experiment_of(), [], [], None))


@pytest.mark.parametrize(
    ("settings", "counts", "texts"),
    [
        ({"dev_source": "a.en", "dev_target": "a.de"}, {"": 914}, ["914 pairs of a.en and a.de"]),
        (
            {"folder": "x", "dev": ["general=a.en,a.de", "mine=b.en,b.de"]},
            {},
            ["general: a.en and a.de", "mine: b.en and b.de"],
        ),
        ({}, {"": 300}, ["300 pairs with combinations of words that are not in the training text"]),
        ({"folder": "x"}, {}, ["none"]),
    ],
)
def test_the_held_out_files_are_named(settings, counts, texts):
    assert held_out_texts(DataConfig(**settings), counts) == texts


def test_corpora_and_hardware_are_described():
    corpus = {"folder": "data/x", "pairs": 28_997, "words": [1000, 2000], "files": ["a.en"]}
    many = corpus | {"files": [f"{n}.en" for n in range(100)]}
    assert corpus_text(many).endswith("read from 0.en, 1.en, 2.en, 3.en, 4.en, 5.en and 94 more")
    machine = {"processor": "A", "cores": 2, "memory_gib": 8, "accelerators": [], "machines": 1}
    hardware = [{"from_step": 0, **machine}, {"from_step": 400, **machine}]
    record = {"corpora": [corpus, {**corpus, "words": None, "files": []}], "hardware": hardware}
    evaluation = {"passes": {"general": 0.4181, "mine": 12.0}}
    html = html_of(data_and_hardware(data_facts(DataConfig(folder="x"), record, evaluation)))
    for text in (
        "data/x: 28,997 sentence pairs with 1,000 source words and 2,000 target words, read from a",
        "<div>data/x: 28,997 sentence pairs</div>",
        "<dd>each pair on average 0.418 times for general, 12 times for mine</dd>",
        "<div>from step 401 on: ",
    ):
        assert text in html
