import pytest

from t2t_keras.decoding.search_config import SearchConfig


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": 3}, "`method` must be the name of a search method"),
        ({"penalty": "gnm"}, "`penalty` must be one of 'gnmt', 'marian' .did you mean 'gnmt'"),
        ({"alpha": -0.1}, "`alpha` must be a finite number of at least 0"),
        ({"alpha": 10.5}, "`alpha` must be at most 10"),
        ({"beam": 10**9}, "`beam` must be at most 1,000"),
        ({"extra_length": -1}, "`extra_length` must be"),
        ({"n_best": 5}, "`n_best` must be at most the beam width, beam=4"),
        ({"temperature": 0}, "`temperature` must be more than 0"),
        ({"top_p": 1.5}, "`top_p` must be more than 0 and at most 1"),
        ({"banned": (2,)}, "`banned` must be ids other than 2"),
        ({"banned": (" th",)}, "`banned` must be ids from 0 up; pieces are for the flag --banned"),
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
    SearchConfig().validate()
    SearchConfig(method="sample", beam=1, n_best=50).validate()
