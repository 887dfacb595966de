"""SavedModels in memory: their signatures, what may be batched, and what cannot be served."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from t2t_keras.export.batchable import FILE
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.models import Model
from t2t_keras.serving.tensors import Spec


@pytest.fixture(scope="module")
def model(backwards_export):
    return Model(backwards_export / "1")


def test_the_savedmodel_says_which_signatures_may_be_batched(model):
    batchable = {name: signature.batchable for name, signature in model.signatures.items()}
    assert batchable == {
        "serving_default": True,
        "translate_n_best": True,
        "translate_with_options": True,
        "score": True,
        "attention": False,
    }


def test_a_savedmodel_without_that_statement_is_never_batched(backwards_export, tmp_path):
    shutil.copytree(backwards_export / "1", tmp_path / "1")
    (tmp_path / "1" / FILE).unlink()
    signatures = Model(tmp_path / "1").signatures.values()
    assert not any(signature.batchable for signature in signatures)


def test_answers_of_unknown_size_grow_with_the_text(model):
    growing = [name for name, signature in model.signatures.items() if signature.answer_grows]
    assert growing == ["attention"]


def test_signatures_take_and_return_arrays(model):
    score = model.signatures["score"]
    assert score.inputs == {"source": Spec("string", (None,)), "target": Spec("string", (None,))}
    inputs = {"source": np.array([b"a", b"bb"], object), "target": np.array([b"c", b"d"], object)}
    np.testing.assert_array_equal(score.run(inputs)["log_probabilities"], [-2, -3])


def test_every_signature_can_be_warmed_up(model):
    model.warm_up()


def test_a_failed_assertion_in_the_model_is_reported_to_the_client(model):
    with pytest.raises(Refusal, match="The model rejects this input: not this word") as error:
        model.signatures["serving_default"].run({"text": np.array([b"refuse"], object)})
    assert error.value.status == 400


def test_metadata_describes_every_tensor(model):
    tensor = model.metadata["translate_n_best"]["outputs"]["scores"]
    sizes = [axis["size"] for axis in tensor["tensor_shape"]["dim"]]
    assert (tensor["dtype"], sizes) == ("DT_FLOAT", ["-1", "4"])


def test_inputs_with_defaults_are_optional(model):
    inputs = model.signatures["translate_with_options"].inputs
    defaults = {"split": True, "prefix": "", "beam": 4, "n_best": 1, "alpha": 0.5, "text": None}
    assert {name: spec.default for name, spec in inputs.items()} == defaults
    stated = model.metadata["translate_with_options"]["defaults"]
    assert stated == {name: value for name, value in defaults.items() if name != "text"}


def test_metadata_states_the_wishes_that_can_be_fulfilled(backwards_export, model):
    asked, wishes = [], SimpleNamespace(split_code=str.split)

    def wishes_of(folder, names):
        asked.append((folder, set(names)))
        return wishes

    with_wishes = Model(backwards_export / "1", wishes_of=wishes_of)
    assert asked == [(backwards_export / "1", set(model.signatures))]
    stated, before = (each.metadata["translate_with_options"] for each in (with_wishes, model))
    added = {"glossary": "", "markup": "", "alignments": False, "confidence": False}
    assert stated["defaults"] == before["defaults"] | added
    kinds = [stated["inputs"][name]["dtype"] for name in added]
    assert kinds == ["DT_STRING", "DT_STRING", "DT_BOOL", "DT_BOOL"]
    assert stated["outputs"].keys() - before["outputs"].keys() == {
        *("alignments", "confidence", "source_words", "words")
    }
    assert (with_wishes.wishes, with_wishes.split_code) == (wishes, str.split)
    assert (model.wishes, model.split_code) == (None, None)


def test_signatures_that_translate_are_known_by_their_tensors(model):
    translating = [name for name, signature in model.signatures.items() if signature.translates]
    assert translating == ["serving_default", "translate_n_best", "translate_with_options"]


def test_a_signature_without_rows_cannot_be_served(tmp_path):
    class Scalar(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def size(self, text):
            return {"size": tf.size(text)}

    module = Scalar()
    tf.saved_model.save(module, str(tmp_path / "1"), signatures={"serving_default": module.size})
    with pytest.raises(ValueError, match=r"'size' must be of unknown size.* Received: shape \(\)"):
        Model(tmp_path / "1")
