"""SavedModels in memory: their signatures, what may be batched, and what cannot be served."""

import shutil

import numpy as np
import pytest
import tensorflow as tf

from t2t_keras.export.formats import versions_in
from t2t_keras.export.signature_names import BATCHABLE_FILE
from t2t_keras.serving import models as module
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.models import ServedSavedModel
from t2t_keras.serving.tensors import Spec


@pytest.fixture(scope="module")
def model(backwards_export):
    return ServedSavedModel(backwards_export / "1")


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
    (tmp_path / "1" / BATCHABLE_FILE).unlink()
    signatures = ServedSavedModel(tmp_path / "1").signatures.values()
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


def test_a_savedmodel_that_takes_no_ids_has_no_translations(model):
    """Its signatures are called as they are."""
    assert model.translations is None and model.shapes is None
    assert model.metadata.keys() >= model.signatures.keys()


def test_a_signature_without_rows_cannot_be_served(tmp_path):
    class Scalar(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def size(self, text):
            return {"size": tf.size(text)}

    module = Scalar()
    tf.saved_model.save(module, str(tmp_path / "1"), signatures={"serving_default": module.size})
    with pytest.raises(ValueError, match=r"'size' must be of unknown size.* Received: shape \(\)"):
        ServedSavedModel(tmp_path / "1")


@pytest.fixture(scope="module")
def own(exported_toy_run):
    """The model of an export that t2t-export wrote."""
    (version,) = versions_in(exported_toy_run[1] / "export").values()
    return ServedSavedModel(version, compile_shapes=False)


@pytest.mark.long
def test_the_signatures_of_an_export_that_translate_are_those_of_its_engine(own):
    translating = {"serving_default", "translate_n_best", "translate_with_options"}
    assert own.translations.signatures.keys() == translating
    assert own.signatures.keys() >= {"score", "attention"}
    assert not own.signatures.keys() & translating
    assert own.metadata.keys() >= translating | own.signatures.keys()
    for name in translating:
        assert (
            own.metadata[name]["inputs"].keys() == own.translations.signatures[name].inputs.keys()
        )
        outputs = own.metadata[name]["outputs"]
        assert outputs.keys() == own.translations.signatures[name].outputs.keys()
        for key, spec in own.translations.signatures[name].outputs.items():
            sizes = [int(axis["size"]) for axis in outputs[key]["tensor_shape"]["dim"]]
            assert sizes == [-1 if size is None else size for size in spec.shape]
    own.warm_up()


@pytest.mark.long
def test_an_export_without_its_ids_is_served_by_its_signatures_alone(exported_toy_run, monkeypatch):
    (version,) = versions_in(exported_toy_run[1] / "export").values()
    monkeypatch.setattr(module, "IDS_SEARCH", "not in this version")
    earlier = ServedSavedModel(version)
    assert earlier.translations is None
    assert {"serving_default", "translate_with_options", "score"} <= earlier.signatures.keys()
    inputs = {"text": np.array([b"The dog sleeps."], object)}
    assert earlier.signatures["serving_default"].run(inputs)["translations"].shape == (1,)
