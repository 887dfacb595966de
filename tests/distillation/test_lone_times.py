"""Times of single sentences: which are timed, the protocol of the processes, and failures."""

import pytest

from t2t_keras.distillation import lone_times as module
from t2t_keras.distillation.lone_times import SENTENCES, TURN, WARM_UP, lone_times, spread
from t2t_keras.distillation.systems import Form, System


class Recorded:
    """A translator that records its calls."""

    def __init__(self):
        self.calls = []

    def translate(self, texts, **options):
        self.calls.append((texts, options))


def test_each_sentence_is_translated_alone_and_timed(monkeypatch):
    monkeypatch.setattr(module, "TRANSLATOR", Recorded())
    times = module.seconds(["a", "b"], 4)
    assert len(times) == 2 and min(times) >= 0 and module.seconds([], 4) == []
    assert module.TRANSLATOR.calls == [([text], {"beam": 4, "split": "off"}) for text in "ab"]


def test_a_system_that_cannot_be_loaded_is_named_with_its_log(tmp_path):
    message = r"none cannot be timed: its process has ended\. See .*log"
    with pytest.raises(ValueError, match=message):
        module.TimedSystem([str(tmp_path / "none")], None, 1, tmp_path / "log")
    assert "none" in (tmp_path / "log").read_text()


def test_sentences_are_evenly_spread_without_empty_ones():
    assert spread(["a", "", " ", "b"]) == ["a", "b"]
    found = spread([str(index) for index in range(10 * SENTENCES)])
    assert found == [str(index) for index in range(0, 10 * SENTENCES, 10)]


def test_systems_take_turns_and_the_median_counts(monkeypatch, tmp_path):
    calls = []

    class Fake:
        def __init__(self, folders, to, cores, log):
            self.name = folders[0]
            calls.append((self.name, "loaded"))

        def seconds(self, texts, beam):
            calls.append((self.name, beam, len(texts)))
            return [beam / 1000] * (len(texts) - 1) + [9]

        def __enter__(self):
            return self

        def __exit__(self, *_):
            calls.append((self.name, "closed"))

    monkeypatch.setattr(module, "TimedSystem", Fake)
    forms = [
        Form(System(name, name, [name]), [name], "litert", "float32", beam, beam > 1, 1)
        for name in "ab"
        for beam in (4, 1)
    ]
    sentences = [f"sentence {index}" for index in range(2 * TURN)]
    times = lone_times(forms, {"test": sentences}, 1, tmp_path / "log")
    assert {label: of["test"] for label, of in times.items()} == {
        form.label: form.beam for form in forms
    }
    turns = [(form.system.name, form.beam) for form in forms]
    warm_up = [(*turn, WARM_UP) for turn in turns]
    timed = 2 * [(*turn, TURN) for turn in turns]
    loaded, closed = ([(name, each) for name in "ab"] for each in ("loaded", "closed"))
    assert calls == [*loaded, *warm_up, *timed, *closed[::-1]], "one process for all beam widths"
