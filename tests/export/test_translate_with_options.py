"""Options of a signature that cannot be met are refused. `test_saved_model.py` has the others."""

import re

import pytest
import tensorflow as tf

from t2t_keras.decoding.search import method_of
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.text_signatures import Language, TextSignatures
from t2t_keras.export.translate_with_options import TYPES, TranslateWithOptions, default_options
from t2t_keras.transformer_config import TransformerConfig


class Model:
    longest, config = None, TransformerConfig(vocab_size=9, num_layers=1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam": [4, 5, 5]}, "`beam` must be from 1 to 4. Received: 5"),
        ({"beam": [0]}, "`beam` must be from 1 to 4. Received: 0"),
        ({"beam": [1, 2, 3], "n_best": [2]}, "`n_best` must be at least 1 and at most the beam. "),
        ({"alpha": [-0.5]}, "`alpha` must be finite and at least 0. Received: -0.5"),
        ({"alpha": [float("nan")]}, "`alpha` must be finite and at least 0. Received: nan"),
        (
            {"split": [True, False]},
            "`split` must have a value for each text, or one for all. "
            "Received: 2 values for 3 texts",
        ),
    ],
)
def test_wrong_options_are_refused_before_anything_is_computed(changes, message):
    language, config = Language(None, ["x"] * 9, [True] * 9), SearchConfig()
    signatures = TextSignatures(Model(), method_of(Model(), config), language, language)
    translate = TranslateWithOptions(signatures, None)
    names = [*TYPES][1:]
    options = dict(zip(names, default_options(config, True), strict=True))
    options |= {name: tf.constant(values) for name, values in changes.items()}
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
        translate(tf.constant(["a", "b", "c"]), **options)
