"""The settings of the training regime (§5)."""

import dataclasses

from t2t_keras.checks import check, check_choice, check_integer, check_positive, check_rate


@dataclasses.dataclass
class TrainingConfig:
    """How long, how fast, how often.

    Args:
        steps: updates. The paper: 100,000 (base), 300,000 (big).
        seed: of the weights, the dropout and the order of the data.
        label_smoothing: ε of the loss. The paper: 0.1.
        warmup_steps: of the schedule. The paper: 4,000.
        learning_rate: a factor on the schedule. The paper: 1.
        accumulate: into how many parts a replica's rows are cut to fit its memory.
        clip_norm: gradients are scaled down to this norm. 0: never, as in the paper.
        precision: "float32" or "mixed_bfloat16".
        xla: "auto", "on" or "off".
        log_every: steps between two lines.
        evaluate_every: steps between two evaluations.
        checkpoint_every: steps between two checkpoints. 0: by time alone.
        checkpoint_minutes: minutes between two checkpoints. The paper: 10. 0: by steps alone.
        keep: how many checkpoints are kept.
        patience: stop after so many evaluations without a better loss. 0: never.
    """

    steps: int = 100_000
    seed: int = 1
    label_smoothing: float = 0.1
    warmup_steps: int = 4000
    learning_rate: float = 1.0
    accumulate: int = 1
    clip_norm: float = 0.0
    precision: str = "float32"
    xla: str = "auto"
    log_every: int = 100
    evaluate_every: int = 1000
    checkpoint_every: int = 0
    checkpoint_minutes: float = 10.0
    keep: int = 5
    patience: int = 0

    def validate(self):
        """Raises `ValueError` for the first wrong setting."""
        for name in ("steps", "warmup_steps", "accumulate", "log_every", "evaluate_every", "keep"):
            check_integer(name, getattr(self, name))
        for name in ("seed", "checkpoint_every", "patience"):
            check_integer(name, getattr(self, name), at_least=0)
        check_rate("label_smoothing", self.label_smoothing)
        check_positive("learning_rate", self.learning_rate)
        for name in ("clip_norm", "checkpoint_minutes"):
            value = getattr(self, name)
            if value != 0:
                check_positive(name, value)
        check_choice("precision", self.precision, ("float32", "mixed_bfloat16"))
        check_choice("xla", self.xla, ("auto", "on", "off"))
        check(
            self.checkpoint_every or self.checkpoint_minutes,
            "checkpoint_every",
            self.checkpoint_every,
            "at least 1 where checkpoint_minutes is 0: a run without checkpoints can be lost",
        )
