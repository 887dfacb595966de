"""The trainer: a loop over the training step, and what goes with it.

    trainer = Trainer(model, data, TrainingConfig(steps=1000), "runs/mine")
    trainer.train()

It calls the same step that `fit` does and drives ordinary Keras callbacks; Keras' own loop does
not run under MultiWorkerMirroredStrategy. What an epoch is to a callback, the stretch between two
evaluations is here.
"""

import contextlib
import json
import math
import os
import signal
import sys
import time
from pathlib import Path

import keras
import tensorflow as tf
from absl import logging

from t2t_keras.training.callbacks import Lines, Summaries
from t2t_keras.training.checkpoints import Checkpoints, restore, state_of
from t2t_keras.training.machines import Machines


class NonFiniteLoss(ValueError):
    """The loss became infinite, or no number."""


class Trainer:
    """Trains a compiled model, step by step, from where its run stands.

    Args:
        model: a compiled `TrainableTransformer`, made in the scope of `strategy`.
        data: what it is trained on: `data.distributed(strategy, start_step)` gives the batches
            from that step on, `data.tokens(step)` the real tokens of a batch, and
            `data.examples(step)` the numbers of its sentence pairs.
        config: a `TrainingConfig`.
        folder: the run's folder.
        held_out: what it is evaluated on, or None: `held_out.distributed(strategy)` gives the
            batches of one pass, and `held_out.translate()` a dict of further results, of
            which "examples" is a list of lines to show.
        strategy: a `tf.distribute` strategy. None: the one in whose scope this is called.
        callbacks: Keras callbacks.
        rate: sustained floating-point operations a second of all devices, for the cost of the
            training as Table 2 counts it: time × devices × rate.
    """

    def __init__(
        self, model, data, config, folder, held_out=None, strategy=None, callbacks=(), rate=0.0
    ):
        config.validate()
        self.model, self.data, self.held_out = model, data, held_out
        self.config, self.folder, self.rate = config, Path(folder), rate
        self.strategy = strategy or tf.distribute.get_strategy()
        self.checkpoints = Checkpoints(self.folder / "checkpoints", config.keep)
        self.machines = Machines(self.strategy)
        self.is_chief = self.machines.is_chief
        self.step = 0
        self.saved_step = None
        self.compiled_shapes = set()
        # What a checkpoint keeps beside the model.
        self.progress = {"tokens": 0, "seconds": 0.0, "best_loss": None, "worse": 0}
        self.asked_to_stop = None  # why, on this machine
        self.stop_because = None  # why, on all of them
        terminal = self.is_chief and sys.stderr.isatty()
        own = [Summaries(self.folder / "logs", config)] if self.is_chief else []
        if self.is_chief and not terminal:
            own.append(Lines(config, lambda: self.progress["tokens"], lambda: self.step))
        self.callbacks = keras.callbacks.CallbackList(
            [*own, *callbacks],
            add_history=True,
            add_progbar=terminal,
            model=model,
            verbose=1,
            epochs=-(-config.steps // config.evaluate_every),
            steps=config.evaluate_every,
        )

    def train(self):
        """Trains to the last step, or until it is stopped; everything is saved then.

        Returns:
            Why it ended before its last step, or None.
        """
        self.resume()
        if self.step >= self.config.steps or self.has_given_up():
            return None
        batches = self.data.distributed(self.strategy, self.step)
        train_step = self.on_every_replica(self.model.train_step, batches.element_spec)
        self.test_step = None
        batches = iter(batches)
        losses = []  # of the steps since they were last looked at
        self.model.stop_training = False
        self.model.reset_metrics()
        self.timed = self.saved = time.monotonic()
        with stopping_on_signals(self):
            self.callbacks.on_train_begin()
            self.callbacks.on_epoch_begin(self.step // self.config.evaluate_every)
            while self.step < self.config.steps and not self.stop_because:
                self.callbacks.on_train_batch_begin(self.step)
                batch = next(batches)
                self.note_shape(batch)
                logs = train_step(batch)
                losses.append(logs["loss"])
                self.progress["tokens"] += self.data.tokens(self.step)
                self.step += 1
                self.callbacks.on_train_batch_end(self.step - 1, logs)
                evaluation, saving = self.due(self.config.evaluate_every), self.saving_due()
                if evaluation or saving or self.due(self.config.log_every):
                    losses = self.checked(losses)
                if self.due(self.config.log_every):
                    self.model.reset_metrics()
                if evaluation:
                    self.evaluate(logs)
                if saving:
                    self.save()
                self.agree_to_stop()
            self.checked(losses)
            self.save()
            self.callbacks.on_train_end()
        return self.stop_because

    def on_every_replica(self, step, batch_spec):
        """The step as one graph; its logs are those of the first replica, equal to all others."""

        # One graph for all shapes of batches, whichever comes first: the bits depend on it. XLA
        # compiles each shape inside.
        @tf.function(autograph=False, input_signature=[batch_spec])
        def everywhere(batch):
            return self.strategy.run(step, args=(batch,))

        def logs_of(batch):
            logs = everywhere(batch)
            local = self.strategy.experimental_local_results
            return {name: local(value)[0] for name, value in logs.items()}

        return logs_of

    def note_shape(self, batch):
        """XLA compiles the step anew for each shape; says so, because it takes its time."""
        if not self.model.xla:
            return
        inputs = self.strategy.experimental_local_results(batch)[0][0]
        shape = tuple(inputs["target"].shape)
        if shape not in self.compiled_shapes:
            self.compiled_shapes.add(shape)
            count = len(self.compiled_shapes)
            logging.info("XLA compiles the step for batches of %s x %s; shapes: %s", *shape, count)

    def agree_to_stop(self):
        """All machines stop after the same step, whichever of them was asked to."""
        if self.model.stop_training:
            self.asked_to_stop = self.asked_to_stop or "a callback asked for it"
        asked = self.asked_to_stop  # a signal may come at any moment
        if any(self.machines.everyones(int(asked is not None))):
            self.stop_because = asked or "another machine of the job was asked to stop"

    def due(self, every):
        return self.step % every == 0 or self.step == self.config.steps

    def saving_due(self):
        every, minutes = self.config.checkpoint_every, self.config.checkpoint_minutes
        by_time = minutes and time.monotonic() - self.saved >= 60 * minutes
        return by_time or (every and self.step % every == 0)

    def checked(self, losses):
        """Looks at the losses since the last time; ends the run at one that is not finite."""
        first = self.step - len(losses)
        bad = [step for step, loss in enumerate(losses, first) if not math.isfinite(loss)]
        if not bad:
            return []
        newest, step = max(self.checkpoints.steps(), default=0), bad[0]
        raise NonFiniteLoss(
            f"The loss of step {step + 1:,} is {float(losses[step - first])}. Its batch is made of "
            f"the sentence pairs {shortened(self.data.examples(step))}. The newest checkpoint "
            f"is that of step {newest:,}, from before. Try a smaller training.learning_rate, a "
            "longer training.warmup_steps, training.clip_norm=1, or float32"
        )

    def evaluate(self, logs):
        """Loss and translations of the held-out text; a line in `metrics.jsonl`."""
        self.count_time()
        results = {f"train_{name}": float(value) for name, value in logs.items()}
        if self.held_out is not None:
            self.model.reset_metrics()
            batches = self.held_out.distributed(self.strategy)
            if self.test_step is None:
                self.test_step = self.on_every_replica(self.model.test_step, batches.element_spec)
            for batch in batches:
                found = self.test_step(batch)
            results |= {name: float(value) for name, value in found.items()}
            self.model.reset_metrics()
            self.weigh(results["loss"])
            results |= self.held_out.translate() if self.is_chief else {}
        examples = results.pop("examples", [])
        results |= {
            "step": self.step,
            "tokens": self.progress["tokens"],
            "seconds": round(self.progress["seconds"], 3),
            "tokens_per_second": self.progress["tokens"] / max(self.progress["seconds"], 1e-9),
            "learning_rate": float(self.model.optimizer.learning_rate),
            "flops": self.rate * self.progress["seconds"],
        }
        if self.is_chief:
            with open(self.folder / "metrics.jsonl", "a", encoding="utf-8") as file:
                file.write(json.dumps(results) + "\n")
        epoch = -(-self.step // self.config.evaluate_every)
        # The progress bar takes means of whatever it is given; BLEU's signature has none.
        numbers = {name: value for name, value in results.items() if not isinstance(value, str)}
        self.callbacks.on_epoch_end(epoch - 1, numbers)
        for line in examples:
            print(line, file=sys.stderr, flush=True)
        if self.step < self.config.steps:
            self.callbacks.on_epoch_begin(epoch)
        self.timed = time.monotonic()

    def weigh(self, loss):
        """Notes the best checkpoint, and whether it is time to give up hoping for a better one."""
        if self.progress["best_loss"] is None or loss < self.progress["best_loss"]:
            self.progress |= {"best_loss": loss, "worse": 0}
            self.save()
            if self.is_chief:
                self.checkpoints.note_best(self.step)
            return
        self.progress["worse"] += 1
        if self.has_given_up():
            self.asked_to_stop = f"{self.config.patience} evaluations brought no lower loss"

    def has_given_up(self):
        """Whether it has ended as config.patience wants it, which is an end like the last step."""
        return 0 < self.config.patience <= self.progress["worse"]

    def count_time(self):
        now = time.monotonic()
        self.progress["seconds"] += now - self.timed
        self.timed = now

    def save(self):
        self.saved = time.monotonic()
        self.count_time()
        if self.is_chief and self.step != self.saved_step:
            self.checkpoints.save(self.step, state_of(self.model), self.progress)
        self.saved_step = self.step

    def resume(self):
        """Takes up the newest checkpoint that is whole."""
        found = self.checkpoints.load_newest(logging.warning)
        steps = self.machines.everyones(found[1]["step"] if found else 0)
        if len(steps) > 1:
            raise ValueError(
                f"The machines of this job find different checkpoints in {self.folder}, those of "
                f"steps {shortened(sorted(steps))}. The run's folder must be one that all share"
            )
        if found is None:
            return
        state, notes = found
        self.model.optimizer.build(self.model.trainable_variables)
        restore(self.model, state)
        self.step = self.saved_step = notes.pop("step")
        self.progress = notes
        self.forget_later_metrics()
        logging.info("Going on from step %d", self.step)

    def forget_later_metrics(self):
        """Evaluations after the checkpoint will be made again."""
        path = self.folder / "metrics.jsonl"
        if self.is_chief and path.exists():
            lines = path.read_text(encoding="utf-8").splitlines()
            kept = [
                line for line in lines if whole_line(line) and json.loads(line)["step"] <= self.step
            ]
            unfinished = path.with_suffix(".unfinished")
            unfinished.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
            os.replace(unfinished, path)


def whole_line(line):
    return line.endswith("}")  # a killed process may have left half a line


@contextlib.contextmanager
def stopping_on_signals(trainer):
    """SIGTERM and Ctrl-C let the step finish and save; a second one ends the process at once."""

    def stop(number, frame):
        trainer.asked_to_stop = f"{signal.Signals(number).name} was received"
        print(
            "\nStopping after this step and saving. Once more ends it at once.",
            file=sys.stderr,
            flush=True,
        )
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, lambda *_: os._exit(130))

    previous = {}
    with contextlib.suppress(ValueError):  # only a process' main thread may listen
        for number in (signal.SIGINT, signal.SIGTERM):
            previous[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def shortened(numbers, most=20):
    shown = ", ".join(str(number) for number in list(numbers)[:most])
    return shown + (f", … ({len(numbers)} in all)" if len(numbers) > most else "")
