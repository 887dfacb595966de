"""The report says what a run was trained on, and what is not recorded."""

import pytest

from pipelines.data_config import DataConfig
from t2t_keras.visualization.data_report import (
    corpus_text,
    hardware_course,
    held_out_texts,
    list_of_files,
    passes_text,
)
from t2t_keras.visualization.document import html_of

CORPUS = {"folder": "data/x", "pairs": 28_997, "words": [1000, 2000], "files": []}


def test_a_corpus_is_described_by_what_is_known_of_it():
    assert corpus_text(CORPUS) == (
        "data/x: 28,997 sentence pairs with 1,000 source words and 2,000 target words"
    )
    assert corpus_text(CORPUS | {"words": None}) == "data/x: 28,997 sentence pairs"


def test_many_files_are_not_all_named():
    html = html_of(list_of_files([f"{n}.en" for n in range(100)]))
    assert html.count("<code>") == 6 and "and 94 more" in html
    assert "more" not in html_of(list_of_files(["a.en", "a.de"]))


@pytest.mark.parametrize(
    ("settings", "counts", "texts"),
    [
        (
            {"dev_source": "a.en", "dev_target": "a.de"},
            {"": 1014},
            ["1,014 pairs of a.en and a.de"],
        ),
        (
            {"folder": "x", "dev": ["general=a.en,a.de", "mine=b.en,b.de"]},
            {},
            ["general: a.en and a.de", "mine: b.en and b.de"],
        ),
        ({}, {"": 300}, ["300 pairs with combinations of words that are not in the training text"]),
    ],
)
def test_the_held_out_files_are_named(settings, counts, texts):
    assert list(held_out_texts(DataConfig(**settings), counts)) == texts


def test_a_report_says_how_often_each_corpus_was_seen():
    text = passes_text({"step": 4, "passes": {"general": 0.4181, "mine": 12.0}})
    assert text == "each pair on average 0.418 times for general, 12 times for mine"
    assert passes_text({"step": 4}) == ""


def test_a_run_that_changed_machines_says_from_which_step():
    html = html_of(hardware_course([(0, "2 cores of A"), (400, "1 × B")]))
    assert html == "<div><div>2 cores of A</div><div>from step 401 on: 1 × B</div></div>"
