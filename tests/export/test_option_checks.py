"""Options of a signature that cannot be met are refused. `test_saved_model.py` has the others."""

import re

import pytest
import tensorflow as tf

from t2t_keras.decoding.search_config import ROW_OPTIONS, SearchConfig
from t2t_keras.export.option_checks import first_of_each, only_where
from t2t_keras.export.text_signatures import Language, TextSignatures, default_options


class Model:
    longest = None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam": [4, 5, 5]}, "`beam` must be from 1 to 4. Received: 5"),
        ({"beam": [0]}, "`beam` must be from 1 to 4. Received: 0"),
        ({"beam": [1, 2, 3], "n_best": [2]}, "`n_best` must be at least 1 and at most the beam. "),
        ({"alpha": [-0.5]}, "`alpha` must be from 0 to 10. Received: -0.5"),
        ({"alpha": [float("nan")]}, "`alpha` must be from 0 to 10. Received: nan"),
        (
            {"prefix": ["a", "b"]},
            "`prefix` must have a value for each text, or one for all. "
            "Received: 2 values for 3 texts",
        ),
    ],
)
def test_wrong_options_are_refused_before_anything_is_computed(changes, message):
    language, config = Language(None, ["x"] * 9, [True] * 9), SearchConfig()
    signatures = TextSignatures(Model(), {}, config, language, language)
    options = dict(zip(("prefix", *ROW_OPTIONS), default_options(config), strict=True))
    options |= {name: tf.constant(values) for name, values in changes.items()}
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
        signatures.translate_with_options(tf.constant(["a", "b", "c"]), *options.values())


def test_only_the_first_part_of_a_text_keeps_its_prefix():
    text_of, prefix = tf.constant([0, 0, 2, 3, 3]), tf.ragged.constant([[5], [5], [], [6, 7], [6]])
    assert first_of_each(text_of).numpy().tolist() == [True, False, True, True, False]
    kept = only_where(first_of_each(text_of), prefix)
    assert kept.to_list() == [[5], [], [], [6, 7], []]
    assert first_of_each(tf.constant([], tf.int32)).shape == [0]
