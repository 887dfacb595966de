import pytest

from t2t_keras import TransformerConfig
from t2t_keras.models import MODELS
from t2t_keras.reproduction import table1
from t2t_keras.reproduction.longest_path import longest_path

LAYERS = {"gnmt": "recurrent", "moe": "recurrent", "bytenet": "convolutional"}


@pytest.mark.parametrize("name", MODELS)
def test_paths_are_those_of_table_1_and_of_contiguous_convolutions_as_in_section_4(name):
    path = table1.PAPER[LAYERS.get(name, "self-attention")].path
    assert longest_path(MODELS[name].config_class()) == ("O(n/k)" if name == "convs2s" else path)


def test_restricted_attention_has_a_path_of_its_own():
    path = table1.PAPER["restricted self-attention"].path
    assert longest_path(TransformerConfig(neighbourhood=9)) == path
