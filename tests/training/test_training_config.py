import pytest

from t2t_keras.training.training_config import TrainingConfig


def test_the_defaults_are_valid():
    TrainingConfig().validate()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "`steps` must be a whole number of at least 1"),
        ({"precision": "float16"}, "`precision` must be one of 'float32', 'mixed_bfloat16'"),
        ({"seed": 2**32}, "`seed` must be below 2"),
        ({"xla": "yes"}, "`xla` must be one of"),
        (
            {"schedule": "cosine"},
            "`schedule` must be one of 'paper', 'inverse_sqrt', 'linear', 'constant'",
        ),
        (
            {"schedule": "linear", "steps": 5, "warmup_steps": 6, "learning_rate": 1e-3},
            "`warmup_steps` must be at most steps=5 with schedule='linear'",
        ),
        ({"freeze": "encoder"}, "`freeze` must be a tuple of names of layers"),
        ({"best_metric": ""}, "`best_metric` must be 'loss', 'bleu' or the name of a held-out set"),
        ({"clip_norm": -1.0}, "`clip_norm` must be a number of at least 0"),
        ({"checkpoint_minutes": 0.0}, "`checkpoint_every` must be at least 1 if"),
    ],
)
def test_an_invalid_setting_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**settings).validate()
