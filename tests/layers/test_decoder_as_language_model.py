"""The language model of how_to_train_a_language_model.md."""

import re

import keras
import numpy as np
import pytest
from support.models.helpers import array
from support.processes.commands import ROOT

PAGE = ROOT / "t2t_keras" / "layers" / "how_to_train_a_language_model.md"


@pytest.mark.long
def test_it_learns_more_than_frequencies_and_is_saved(tmp_path):
    keras.utils.set_random_seed(0)
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    names = {}
    for long, short in {"pairs(3000)": "pairs(1000)", "num_layers=2": "num_layers=1"}.items():
        assert long in program
        program = program.replace(long, short)
    program = program.replace("metrics=", "jit_compile=False, metrics=")  # XLA takes longer
    exec(compile(program, PAGE, "exec"), names)

    labels = [names[part][:, 1:][names[part][:, 1:] > 0] for part in ("train", "test")]
    counts = 1 + np.bincount(labels[0], minlength=len(names["words"]))
    unigram = np.exp(-np.log(counts[labels[1]] / counts[1:].sum()).mean())
    assert names["perplexity"] < unigram / 2

    tokens = names["test"][:5, :8]
    names["model"].save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(array(loaded(tokens)), array(names["model"](tokens)))
