"""The bounds of all settings: each field refuses what is outside, and allows what is inside."""

import copy
import dataclasses
import math

import pytest

from pipelines.batches.batch_plan import BatchConfig
from pipelines.checks import allowed_values, is_allowed, types_of_fields
from pipelines.data_config import DataConfig
from pipelines.text.cleaning_rules import CleaningConfig
from pipelines.tokenizers.bpe_dropout import EncodingsConfig
from pipelines.tokenizers.vocabulary import VocabularyConfig
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.distillation.plan import DistillationPlan
from t2t_keras.models import MODELS
from t2t_keras.reproduction.plan import Plan
from t2t_keras.training.training_config import TrainingConfig

CONFIGS = [model.config_class for model in MODELS.values()]
CONFIGS += [TrainingConfig, SearchConfig, DataConfig, BatchConfig, CleaningConfig]
CONFIGS += [EncodingsConfig, VocabularyConfig]
PLANS = [DistillationPlan, Plan]


def wrong_values(kind, choices=None, off=False, **rules):
    """Yields values just outside of the bounds of a field, and values of other types."""
    if choices is not None:
        yield from ("no such choice", 3.5, [])
    elif kind in (bool, str):
        yield 3
    elif kind in (int, float, int | None, float | None):
        yield from ("1", True, math.nan, math.inf, -math.inf, [1])
        if kind in (int, int | None):
            yield 1.5
        for bound, outside in {"at_least": -1, "at_most": 1, "above": 0, "below": 0}.items():
            if bound in rules and not (off and rules[bound] + outside == 0):
                yield rules[bound] + outside
        if off:
            yield rules["at_least" if "at_least" in rules else "above"] / 2 or -1
    elif kind == tuple[int, ...]:
        yield from (("x",), 3, (True,), (rules["at_least"] - 1,))
    elif kind == tuple[str, ...]:
        yield from ("x", (3,))
    if kind in (int, float, bool, str):
        yield None


@pytest.mark.parametrize("cls", CONFIGS + PLANS, ids=lambda cls: cls.__name__)
def test_each_field_refuses_values_outside_of_its_bounds_by_name(cls):
    config = cls() if cls in CONFIGS else None
    for field in dataclasses.fields(cls):
        kind = types_of_fields(cls)[field.name]
        for wrong in wrong_values(kind, **{"choices": None, **field.metadata}):
            assert not is_allowed(wrong, kind, **field.metadata), (field.name, wrong)
            assert allowed_values(kind, **field.metadata), field.name
            if config:
                other = copy.copy(config)
                setattr(other, field.name, wrong)
                with pytest.raises(ValueError, match=rf"`(\w+\.)?{field.name}` must be"):
                    other.validate()
        for bound in ("at_least", "at_most"):
            if bound in field.metadata and kind in (int, float):
                assert is_allowed(field.metadata[bound], kind, **field.metadata)
    if config:
        config.validate()


def test_messages_say_what_is_allowed():
    for rules, words in (
        ({"at_least": 1}, "a whole number of at least 1"),
        ({"at_least": 1, "at_most": 1000}, "a whole number from 1 to 1,000"),
        ({"at_least": 0, "below": 9}, "a whole number of at least 0 and below 9"),
        ({"at_least": 1, "off": True}, "0 (off) or a whole number of at least 1"),
        ({"above": 0}, "a positive number"),
    ):
        assert allowed_values(int | None, **rules) == words
    assert allowed_values(str, choices=("a", "b")) == "one of 'a', 'b'"
