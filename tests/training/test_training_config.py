import pytest

from t2t_keras.training.training_config import TrainingConfig


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"schedule": "cosine"},
            "`schedule` must be one of 'paper', 'inverse_sqrt', 'linear', 'constant'",
        ),
        (
            {"schedule": "linear", "steps": 5, "warmup_steps": 6, "learning_rate": 1e-3},
            "`warmup_steps` must be at most steps=5 with schedule='linear'",
        ),
        ({"best_metric": ""}, "`best_metric` must be 'loss', 'bleu' or the name of a held-out set"),
        ({"checkpoint_minutes": 0.0}, "`checkpoint_every` must be at least 1 if"),
    ],
)
def test_an_invalid_setting_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**settings).validate()
