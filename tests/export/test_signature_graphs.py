"""Signatures of a SavedModel, loaded one by one, equal those of `tf.saved_model.load`."""

import shutil

import pytest
import tensorflow as tf

from t2t_keras.export.loading import load
from t2t_keras.export.signature_graphs import SignatureGraphs


def write(folder, number):
    """Writes a SavedModel with a variable, a table, a nested function and two signatures."""
    module = tf.Module()
    module.number = tf.Variable(number, name="number")
    entries = tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([number]))
    module.table = tf.lookup.StaticHashTable(entries, -1.0)

    @tf.function
    def nested(x):
        return x * module.number

    def product(x, by):
        _, product = tf.while_loop(
            lambda i, _: i < 1, lambda i, x: (i + 1, nested(x)), (tf.constant(0), x)
        )
        return {"product": product * by, "by": by}

    def look_up(key):
        return {"found": module.table.lookup(key)}

    number, text = tf.TensorSpec([None], tf.float32), tf.TensorSpec([None], tf.string)
    signatures = {
        "product": tf.function(product, input_signature=[number, number]),
        "look_up": tf.function(look_up, input_signature=[text]),
    }
    tf.saved_model.save(module, folder, signatures=signatures)
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The folders of two SavedModels whose variables have the same names. No test changes them."""
    folder = tmp_path_factory.mktemp("models")
    return [write(folder / str(number), float(number)) for number in (2, 3)]


def results(signatures):
    numbers = signatures["product"](x=tf.constant([1.0, 5.0]), by=tf.constant([1.0, 7.0]))
    found = signatures["look_up"](key=tf.constant(["a", "b"]))
    return {name: tensor.numpy().tolist() for name, tensor in (numbers | found).items()}


def test_signatures_equal_those_of_tensorflow_also_of_two_models_at_once(models):
    ours = [SignatureGraphs(folder) for folder in models]
    assert list(ours[0]) == ["look_up", "product"]
    expected = [load(folder).signatures for folder in models]
    assert [results(each) for each in ours] == [results(each) for each in expected]
    assert results(ours[1])["product"] == [3.0, 105.0]


def test_only_the_graphs_of_called_signatures_are_imported(models):
    signatures = SignatureGraphs(models[0])
    signature = signatures["look_up"]
    assert signature.function is None and signatures.get("translate") is None
    signature(key=tf.constant(["a"]))
    operations = {operation.type for operation in signature.function.graph.get_operations()}
    assert "HashTableV2" in operations
    assert "VarHandleOp" not in operations, "the other signature's variable"


@pytest.mark.parametrize("name", ["saved_model.pb", "variables/variables.index"])
def test_damage_is_one_error(models, tmp_path, name):
    shutil.copytree(models[0], tmp_path / "copy")
    (tmp_path / "copy" / name).write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"copy is damaged .*t2t-export"):
        SignatureGraphs(tmp_path / "copy")
