"""Settings of the training regime (§5)."""

import dataclasses

from pipelines.checks import check, setting, validate
from t2t_keras.losses import LOSSES, named_loss
from t2t_keras.schedules import OF_PEAK, SCHEDULES, named_schedule
from t2t_keras.training.optimizers import ADAPTIVE, OPTIMIZERS, optimizer_options


@dataclasses.dataclass
class TrainingConfig:
    """Settings for optimization, evaluation and checkpoints.

    Args:
        steps: number of updates. The paper: 100,000 (base), 300,000 (big).
        seed: random seed for the initial weights, dropout and the order of the data.
        loss: name of a loss in `LOSSES`: "label_smoothed_cross_entropy", or a plug-in's.
        loss_options: options of the loss, NAME=VALUE,NAME=VALUE.
        label_smoothing: ε of the loss. The paper: 0.1. Other losses than the default may have none.
        optimizer: "adam", as in the paper, "adamw", "adafactor", "lion", "muon", or a plug-in's.
        optimizer_options: options of the optimizer, such as weight_decay=0.1,beta_1=0.95.
        warmup_steps: warm-up steps of the learning rate schedule. The paper: 4,000.
        learning_rate: factor on the learning rate schedule. The paper: 1. With other schedules,
            the rate after the warm-up.
        schedule: "paper"; "inverse_sqrt", the same curve named by its peak; "linear", which falls
            from the peak to 0 at the last step; "constant", without a decay after the warm-up; or
            a plug-in's.
        schedule_options: options of a plug-in's schedule, NAME=VALUE,NAME=VALUE.
        accumulate: number of parts into which a device splits its rows, to fit its memory.
        clip_norm: maximum norm of the gradients; larger ones are scaled down. 0: no limit, as in
            the paper.
        r_drop: α of R-Drop, which computes every batch twice and adds the divergence of both
            predictions to the loss. 0: off, as in the paper.
        guided_alignment: weight of guided alignment, which trains an attention head towards the
            data's column "alignments". 0: off, as in the paper; Garg et al. (2019) used 0.05.
        freeze: names of layers that are not trained: "encoder", "decoder", "embedding",
            "source_embedding", "output_embedding", "source_positions", "target_positions".
        init_encoder_layers: encoder layers to take from the run of --init, as indices in the order
            of the new encoder; -1 is a new layer. Default: all.
        init_decoder_layers: decoder layers to take, as for the encoder.
        precision: "float32" or "mixed_bfloat16".
        tf32: whether NVIDIA GPUs may round the operands of float32 products to 10 bits, which is
            faster. Translating, scoring and evaluating after training never round.
        xla: "auto", "on" or "off"; "auto" compiles the step if there is a GPU or TPU.
        communication: how several GPUs exchange gradients: "auto", "nccl", or "ring", which does
            not need NCCL.
        log_every: steps between lines of progress and between points of the training curves. A log
            file also gets a line whenever 30 seconds have passed.
        evaluate_every: steps between evaluations.
        checkpoint_every: steps between checkpoints. 0: by time only.
        checkpoint_minutes: maximum minutes between checkpoints. The paper: 10. 0: by steps only.
            With `checkpoint_every`, an average has no checkpoint by time except the newest.
        average: "unless_worse": the run's weights are the averaged ones, unless the newest or the
            best are significantly better on held-out text when training ends; or "always".
        keep: number of newest checkpoints to keep, besides the best.
        best_metric: metric that decides which checkpoint is the best: "loss" or "bleu" of the main
            held-out set, the name of a set for its loss, or "NAME/bleu".
        patience: evaluations without a better value of this metric after which training stops.
            0: never.
    """

    steps: int = setting(100_000, at_least=1)
    seed: int = setting(1, at_least=0, below=2**32)
    loss: str = setting("label_smoothed_cross_entropy", choices=LOSSES)
    loss_options: str = ""
    label_smoothing: float = setting(0.1, at_least=0, below=1)
    optimizer: str = setting("adam", choices=OPTIMIZERS)
    optimizer_options: str = ""
    warmup_steps: int = setting(4000, at_least=1)
    learning_rate: float = setting(1.0, above=0)
    schedule: str = setting("paper", choices=SCHEDULES)
    schedule_options: str = ""
    accumulate: int = setting(1, at_least=1)
    clip_norm: float = setting(0.0, at_least=0)
    r_drop: float = setting(0.0, at_least=0)
    guided_alignment: float = setting(0.0, at_least=0)
    freeze: tuple[str, ...] = ()
    init_encoder_layers: tuple[int, ...] = setting((), at_least=-1)
    init_decoder_layers: tuple[int, ...] = setting((), at_least=-1)
    precision: str = setting("float32", choices=("float32", "mixed_bfloat16"))
    tf32: bool = False
    xla: str = setting("auto", choices=("auto", "on", "off"))
    communication: str = setting("auto", choices=("auto", "nccl", "ring"))
    log_every: int = setting(100, at_least=1)
    evaluate_every: int = setting(1000, at_least=1)
    checkpoint_every: int = setting(0, at_least=0)
    checkpoint_minutes: float = setting(10.0, at_least=0)
    average: str = setting("unless_worse", choices=("unless_worse", "always"))
    keep: int = setting(5, at_least=1)
    best_metric: str = "loss"
    patience: int = setting(0, at_least=0)

    def validate(self):
        """Raises `ValueError` for the first invalid setting.

        Loss and schedule are built, because they check their own options.
        """
        self.validate_values()
        named_loss(self.loss, self.loss_options, self.label_smoothing)
        optimizer_options(self.optimizer, self.optimizer_options)
        self.learning_rates(d_model=512)  # any width will do

    def validate_values(self):
        """Raises `ValueError` for the first invalid setting; builds nothing.

        So a run translates without the files that its loss may need.
        """
        validate(self)
        fits = self.schedule != "linear" or self.warmup_steps <= self.steps
        allowed = f"at most steps={self.steps} with schedule='linear'"
        check(fits, "warmup_steps", self.warmup_steps, allowed)
        # Others may have any rate. SGD's updates, for example, are as small as the gradients.
        is_peak = self.schedule in OF_PEAK and OPTIMIZERS[self.optimizer] in ADAPTIVE
        rate, allowed = self.learning_rate, f"below 0.1 with schedule={self.schedule!r}, such as "
        allowed += "1e-4: it is the learning rate after the warm-up"
        check(not is_peak or rate < 0.1, "learning_rate", rate, allowed)
        best = self.best_metric  # the trainer checks whether the set exists
        check(best != "", "best_metric", best, "'loss', 'bleu' or the name of a held-out set")
        every, saves = self.checkpoint_every, self.checkpoint_every or self.checkpoint_minutes
        allowed = "at least 1 if checkpoint_minutes is 0, or a killed run would lose everything"
        check(saves, "checkpoint_every", every, allowed)

    def learning_rates(self, d_model):
        """Returns the learning rate schedule for a model of this width."""
        facts = {name: getattr(self, name) for name in ("learning_rate", "warmup_steps", "steps")}
        return named_schedule(self.schedule, self.schedule_options, d_model=d_model, **facts)
