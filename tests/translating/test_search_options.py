import pytest

from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.translating.search_options import search_config


class Letters:
    """A vocabulary of three special ids and seven pieces."""

    size = 10
    target = property(lambda self: self)

    def pieces(self, ids):
        pieces = ["<pad>", "<s>", "</s>", "▁Der", "▁Die", "Hund", "▁e", "e", "n", "▁"]
        return [pieces[id] for id in ids]


def changed(config=None, **changes):
    return search_config(config or SearchConfig(), Letters(), **changes)


def test_a_changed_copy_is_returned_and_none_keeps_a_setting():
    config = SearchConfig(beam=3, alpha=0.9)
    assert changed(config, beam=8, alpha=None) == SearchConfig(beam=8, alpha=0.9)
    assert config == SearchConfig(beam=3, alpha=0.9)
    assert changed(config) == config


def test_pieces_become_ids_and_a_space_begins_a_word():
    config = changed(banned=["Hund", " Die", "▁", " e", "▁e", "e"], first=[" Der", 4 - 1])
    assert config == SearchConfig(banned=(5, 4, 9, 6, 6, 7), first=(3, 3))


def test_ids_of_the_run_that_the_vocabulary_does_not_have_are_refused():
    with pytest.raises(ValueError, match=r"`banned` must contain ids from 0 to 9"):
        changed(SearchConfig(banned=(10,)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"bean": 2},
            r"no search setting 'bean' \(did you mean 'beam'\?\). The settings are method",
        ),
        (
            {"banned": ["Hunde"]},
            r"--banned=Hunde: the vocabulary has no such piece \(did you mean 'Hund'\?\)",
        ),
        ({"first": ["Der"]}, r"--first=Der: .* word begins with ▁ or a space"),
        ({"banned": " Die"}, r"`banned` must be a list of pieces or ids. Received: ' Die'"),
        ({"banned": [10]}, r"`banned` must contain ids from 0 to 9.* Received: 10"),
        ({"first": [5, 12]}, r"`first` must contain ids from 0 to 9.* Received: 12"),
        ({"n_best": 9}, r"`n_best` must be at most the beam width, beam=4"),
        ({"method": "sample", "beam": 4}, r"--beam: not for sampling. Leave it out"),
        ({"seed": 1}, r"--seed: for sampling only. Give --sample too"),
        ({"top_p": 0.9, "temperature": 2.0}, r"--temperature, --top_p: for sampling only"),
    ],
)
def test_wrong_changes_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        changed(**changes)


def test_settings_for_sampling_need_sampling():
    assert changed(method="sample", top_k=3, seed=1).top_k == 3
    assert changed(SearchConfig(method="sample"), top_k=3).top_k == 3
