import pytest

from t2t_keras.decoding.search_config import SearchConfig


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": "gnm"}, "`penalty` must be one of 'gnmt', 'marian' .did you mean 'gnmt'"),
        ({"n_best": 5}, "`n_best` must be at most the beam width, beam=4"),
        ({"banned": (2,)}, "`banned` must be ids other than 2"),
        ({"first": (5, 1), "banned": (5,)}, "`first` must be an id that is neither banned nor"),
        ({"constrain": "trees"}, "`constrain` must be one of '', 'tree' .did you mean 'tree'"),
        ({"constrain": "tree", "first": (5,)}, "`first` must be left out if constrain='tree'"),
        ({"constrain": "tree", "no_repeat_ngram": 2}, "`no_repeat_ngram` must be left out"),
    ],
)
def test_an_invalid_setting_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        SearchConfig(**settings).validate()


def test_valid_settings_are_accepted():
    SearchConfig(method="sample", beam=1, n_best=50).validate()
