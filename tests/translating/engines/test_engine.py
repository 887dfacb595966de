"""A substitute makes the searches that an engine does not support."""

import pytest
from support.models.fake_engine import FakeEngine

from t2t_keras.translating.engines.engine import Unsupported
from t2t_keras.translating.translator import Translator


class Narrow(FakeEngine):
    """Refuses beams of more than 4 as unsupported, and 9 as wrong."""

    def check(self, config, prefix, phrases):
        if config.beam == 9:
            raise ValueError("wrong")
        if config.beam > 4:
            raise Unsupported("`beam` must be at most 4")


def test_another_engine_is_made_once_for_unsupported_searches_and_announced(caplog):
    others, first = [], Narrow(longest=30)

    def make_other():
        others.append(FakeEngine())
        return others[-1]

    first.substitute = make_other
    translator = Translator(first)
    assert translator.translate(["a b"], alignments=True, confidence=True) == ["A B"]
    assert {method for method, *_ in first.calls} == {"search", "attention", "log_p"}
    assert not others and not caplog.text
    first.calls.clear()
    assert [translator.translate(["a b"], beam=6) for _ in range(2)] == [["A B"]] * 2
    assert len(others) == 1 and len(others[0].calls) == 2 and not first.calls
    message = "TensorFlow translates, which takes longer: `beam` must be at most 4"
    assert caplog.text.count(message) == 1
    with pytest.raises(ValueError, match="wrong"):
        translator.translate(["a b"], beam=9)
