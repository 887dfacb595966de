"""The language model of how_to_train_a_language_model.md."""

import re

import keras
import numpy as np
import pytest
from support.models.helpers import array
from support.processes.commands import ROOT

from t2t_keras.decoding_cache import decoding_step

PAGE = ROOT / "t2t_keras" / "layers" / "how_to_train_a_language_model.md"


@pytest.mark.long
def test_it_learns_more_than_frequencies_and_decodes_with_a_cache(tmp_path):
    keras.utils.set_random_seed(0)
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    assert len([line for line in program.splitlines() if line]) <= 30
    names = {}
    exec(compile(program, PAGE, "exec"), names)

    labels = [names[part][:, 1:][names[part][:, 1:] > 0] for part in ("train", "test")]
    counts = 1 + np.bincount(labels[0], minlength=len(names["words"]))
    unigram = np.exp(-np.log(counts[labels[1]] / counts[1:].sum()).mean())
    assert names["perplexity"] < unigram / 4

    tokens, decoder = names["test"][:5, :8], names["decoder"]
    expected = array(names["model"](tokens))
    cache = decoder.empty_cache(5, 8)
    for position in range(8):
        x = names["positions"](
            names["embedding"](tokens[:, position : position + 1]), start=position
        )
        x, cache = decoder.decode_step(x[:, 0], decoding_step(cache[0], position, beams=1), cache)
        logits = array(names["embedding"].project(x))
        real = tokens[:, position] > 0
        np.testing.assert_allclose(logits[real], expected[real, position], atol=1e-3)

    names["model"].save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(array(loaded(tokens)), expected)
