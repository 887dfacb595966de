import pytest

from t2t_keras import TransformerConfig
from t2t_keras.models import MODELS
from t2t_keras.reproduction import table1
from t2t_keras.reproduction.longest_path import longest_path


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_path(name):
    assert longest_path(MODELS[name].config_class()).startswith("O(")


def test_paths_are_those_of_table_1():
    restricted = TransformerConfig(neighbourhood=9)
    assert longest_path(TransformerConfig()) == table1.PAPER["self-attention"].path
    assert longest_path(restricted) == table1.PAPER["restricted self-attention"].path
    for name, layer in (("gnmt", "recurrent"), ("moe", "recurrent"), ("bytenet", "convolutional")):
        assert longest_path(MODELS[name].config_class()) == table1.PAPER[layer].path


def test_contiguous_convolutions_have_the_path_of_section_4():
    assert longest_path(MODELS["convs2s"].config_class()) == "O(n/k)"
