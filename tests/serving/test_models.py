"""SavedModels in memory: their signatures, what may be batched, and what cannot be served."""

import shutil

import numpy as np
import pytest
import tensorflow as tf

from t2t_keras.export.signature_names import BATCHABLE_FILE
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.models import ServedSavedModel
from t2t_keras.serving.tensors import Spec


def test_the_savedmodel_says_which_signatures_may_be_batched(
    backwards_model, backwards_export, tmp_path
):
    signatures = backwards_model.signatures
    translating = "serving_default", "translate_n_best", "translate_with_options"
    batchable = dict.fromkeys((*translating, "score"), True) | {"attention": False}
    assert {name: each.batchable for name, each in signatures.items()} == batchable
    assert [name for name, each in signatures.items() if each.answer_grows] == ["attention"]
    shutil.copytree(backwards_export / "1", tmp_path / "1")
    (tmp_path / "1" / BATCHABLE_FILE).unlink()
    unknown = ServedSavedModel(tmp_path / "1").signatures.values()
    assert not any(signature.batchable for signature in unknown)


def test_signatures_take_and_return_arrays(backwards_model):
    backwards_model.warm_up()
    score = backwards_model.signatures["score"]
    assert score.inputs == {"source": Spec("string", (None,)), "target": Spec("string", (None,))}
    inputs = {"source": np.array([b"a", b"bb"], object), "target": np.array([b"c", b"d"], object)}
    np.testing.assert_array_equal(score.run(inputs)["log_probabilities"], [-2, -3])


def test_only_a_failed_assertion_in_the_model_is_reported_to_the_client(backwards_model):
    run = backwards_model.signatures["serving_default"].run
    with pytest.raises(Refusal, match="The model rejects this input: not this word") as error:
        run({"text": np.array([b"refuse"], object)})
    assert error.value.status == 400
    with pytest.raises(tf.errors.InvalidArgumentError):
        run({"text": np.array([b"fail"], object)})


def test_metadata_describes_tensors_and_defaults(backwards_model):
    tensor = backwards_model.metadata["translate_n_best"]["outputs"]["scores"]
    sizes = [axis["size"] for axis in tensor["tensor_shape"]["dim"]]
    assert (tensor["dtype"], sizes) == ("DT_FLOAT", ["-1", "4"])
    assert not tensor["tensor_shape"]["unknown_rank"]
    inputs = backwards_model.signatures["translate_with_options"].inputs
    defaults = {"split": True, "prefix": "", "beam": 4, "n_best": 1, "alpha": 0.5}
    given = {name: spec.default for name, spec in inputs.items()}
    assert given == defaults | {"text": None}
    assert backwards_model.metadata["translate_with_options"]["defaults"] == defaults


def test_a_savedmodel_that_takes_no_ids_has_no_translations(backwards_model):
    assert backwards_model.translations is None
    assert backwards_model.metadata.keys() >= backwards_model.signatures.keys()


def test_a_signature_without_rows_cannot_be_served(tmp_path):
    class Scalar(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def size(self, text):
            return {"size": tf.size(text)}

    module = Scalar()
    tf.saved_model.save(module, str(tmp_path / "1"), signatures={"serving_default": module.size})
    with pytest.raises(ValueError, match=r"'size' must be of unknown size.* Received: shape \(\)"):
        ServedSavedModel(tmp_path / "1")
