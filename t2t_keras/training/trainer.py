"""The trainer: a loop over the training step that evaluates, saves and resumes.

    trainer = Trainer(model, data, TrainingConfig(steps=1000), "runs/mine")
    trainer.train()

It calls the same `train_step` as `fit`, and ordinary Keras callbacks. It does not use `fit` itself,
because Keras' loop does not run under MultiWorkerMirroredStrategy. For callbacks, an epoch is the
interval between two evaluations.
"""

import collections
import contextlib
import functools
import time
from pathlib import Path

import keras
import tensorflow as tf
from absl import logging

from t2t_keras.checks import check
from t2t_keras.evaluation.held_out_metrics import joined
from t2t_keras.schedules import constant_rate, rate_of_last_update
from t2t_keras.training.checkpoints import Checkpoints, restore, state_of
from t2t_keras.training.dataset_batches import held_out_sets, training_data
from t2t_keras.training.early_stopping import early_stopping
from t2t_keras.training.finite_checks import FiniteChecks, shortened
from t2t_keras.training.hardware.devices import tf32
from t2t_keras.training.hardware.machines import Machines
from t2t_keras.training.hardware.training_cost import TrainingCost
from t2t_keras.training.logs.console import Console
from t2t_keras.training.logs.interval_log import IntervalLog
from t2t_keras.training.logs.metrics_file import MetricsFile
from t2t_keras.training.logs.summaries import Summaries
from t2t_keras.training.optimizers import refuse_moving_average
from t2t_keras.training.signals import stopping_on_signals


class Trainer:
    """Trains a compiled model, starting from the newest checkpoint of its run.

    Args:
        model: a compiled `TrainableTransformer`, built in the scope of `strategy`.
        data: the training data: a `tf.data.Dataset` of batches, see dataset_batches.py, or an
            object such as `TrainingData`. `data.distributed(strategy, start_step)` returns the
            batches from that step on. For a batch, `data.tokens(step)` is the number of real
            tokens, `data.examples(step)` the indices of its sentence pairs or None, and
            `data.seen(step)` the number of pairs from each corpus of a mix. `data.corpora` contains
            the corpora's sizes, and `data.steps_per_epoch` the number of batches in a pass over the
            data, or None.
        config: a `TrainingConfig`.
        folder: the run's folder.
        held_out: the sets for evaluations, the main one first: a `tf.data.Dataset`, {name:
            dataset}, or a list of objects such as `HeldOut`. Each object has a
            `name`, which may be "" if it is the only set, and a `digest` of its texts.
            `distributed(strategy)` returns the batches of one pass, and `translate(on_progress)`
            returns an object with `metrics`, a dict, and `examples`, translations to show. It calls
            `on_progress` with the numbers of texts translated so far and in all.
        strategy: a `tf.distribute` strategy. None: the current strategy.
        callbacks: further Keras callbacks. After each step, they get the metrics as scalar tensors.
        rate: sustained floating-point operations per second, summed over all devices. As in
            Table 2, the training cost is the training time multiplied by this rate.
    """

    def __init__(
        self, model, data, config, folder, held_out=(), strategy=None, callbacks=(), rate=0.0
    ):
        config.validate()
        check(model.compiled, "model", model, "compiled, by `model.compile(optimizer, loss)`")
        refuse_moving_average(model.optimizer)
        self.learning_rate = constant_rate(model.optimizer)  # before callbacks change it
        self.model, self.data = model, training_data(data, model)
        self.held_out = held_out_sets(held_out, model)
        self.config, self.folder = config, Path(folder)
        self.strategy = strategy or tf.distribute.get_strategy()
        self.machines = Machines(self.strategy)
        self.is_chief = self.machines.is_chief
        self.checkpoints = Checkpoints(self.folder / "checkpoints", config.keep)
        self.finite = FiniteChecks(model, self.data, self.checkpoints)
        self.early_stopping = early_stopping(config, self.held_out)
        progress, logs = lambda: (self.step, self.tokens, self.passes), self.folder / "logs"
        self.console = Console(config, progress, self.is_chief, logs=logs)
        self.metrics_file = MetricsFile(self.folder / "metrics.jsonl")
        self.intervals = IntervalLog(self.folder / "training.jsonl", model, self.strategy)
        self.summaries = Summaries(logs, [each.name for each in self.held_out])
        self.cost = TrainingCost(rate)
        self.step, self.tokens = 0, 0
        self.seen = collections.Counter()  # pairs from each corpus of a mix
        self.saved_step = None
        self.given_callbacks = callbacks
        self.asked_to_stop = None  # the reason, on this machine
        self.stop_reason = None  # agreed on by all machines
        self.callbacks = keras.callbacks.CallbackList(
            [*([self.summaries] if self.is_chief else []), self.console, *callbacks],
            add_history=True,
            model=model,
            verbose=1,
            epochs=-(-config.steps // config.evaluate_every),
            steps=config.evaluate_every,
        )

    def train(self):
        """Trains to the last step, or until it is stopped, and saves.

        Returns the reason for stopping before the last step, or None.
        """
        self.resume()
        if self.step >= self.config.steps or self.stopped_early:
            return None
        batches = self.data.distributed(self.strategy, self.step)
        train_step = self.machines.on_every_replica(self.model.train_step, batches.element_spec)
        self.test_steps = {}  # {batch spec as text: graph}, one for all sets of the same kind
        self.model.stop_training = False
        self.saved_at = time.monotonic()
        with (
            stopping_on_signals(self.stop_after_this_step),
            contextlib.closing(self.console),
            tf32(self.config.tf32),
        ):
            self.callbacks.on_train_begin()
            self.cost.start()
            self.take_steps(iter(batches), train_step)
            self.cost.stop()
            self.save(on_schedule=False)
            self.callbacks.on_train_end()
        return self.stop_reason

    def take_steps(self, batches, train_step):
        """Takes steps until the last one, or until all machines agree to stop."""
        self.callbacks.on_epoch_begin(self.step // self.config.evaluate_every)
        unchecked_losses = []
        while self.step < self.config.steps and not self.stop_reason:
            self.callbacks.on_train_batch_begin(self.step)
            batch = next(batches)
            self.announce_compilation(batch)
            logs = train_step(batch)
            unchecked_losses.append(logs["loss"])
            self.tokens += self.data.tokens(self.step)
            self.seen.update(self.data.seen(self.step))
            self.step += 1
            # Keras' list would convert the logs to numbers, and so wait for each step.
            for callback in (self.console, *self.given_callbacks):
                callback.on_train_batch_end(self.step - 1, logs)
            log_is_due = self.is_due(self.config.log_every)
            evaluation_is_due = self.is_due(self.config.evaluate_every)
            save_is_due = self.save_is_due()
            if log_is_due or evaluation_is_due or save_is_due:
                self.finite.check_losses(unchecked_losses, self.step)
                unchecked_losses = []
            if log_is_due:
                if self.is_chief:
                    seconds = self.cost.seconds_so_far()
                    values = self.intervals.append(logs, self.step, self.tokens, seconds)
                    self.summaries.write_interval(values)
                self.model.reset_metrics()
            if evaluation_is_due or save_is_due:
                with self.cost.paused():
                    # Evaluates before saving, because a run that resumes from the checkpoint does
                    # not evaluate again. Lines of metrics.jsonl after the checkpoint are removed.
                    is_best = evaluation_is_due and self.evaluate(logs)
                    if save_is_due or is_best:
                        self.save(self.is_on_schedule(save_is_due, is_best))
                    if evaluation_is_due and self.step < self.config.steps:
                        self.callbacks.on_epoch_begin(self.epoch)
            self.agree_to_stop(at_once=log_is_due or evaluation_is_due)
        self.finite.check_losses(unchecked_losses, self.step)

    @property
    def epoch(self):
        """The number of evaluations so far."""
        return -(-self.step // self.config.evaluate_every)

    @property
    def passes(self):
        """The number of passes over the data so far, or None if their length is unknown."""
        steps = self.data.steps_per_epoch
        return self.step / steps if steps else None

    def announce_compilation(self, batch):
        if self.model.xla:
            inputs = self.strategy.experimental_local_results(batch)[0][0]
            self.console.compiling(tuple(inputs["target"].shape))

    def stop_after_this_step(self, reason):
        self.asked_to_stop = reason
        self.console.stopping()

    def agree_to_stop(self, at_once):
        """Makes all machines stop after the same step if any of them was asked to.

        Several machines compare notes every few steps, because it makes them wait for the step; if
        `at_once`, which must be the same on all machines, after this step.
        """
        if self.model.stop_training:
            self.asked_to_stop = self.asked_to_stop or "a callback requested it"
        reason = self.asked_to_stop  # read once: a signal may change it at any moment
        if self.machines.any_asked(reason is not None, self.step, at_once):
            self.stop_reason = reason or "another machine of the job was asked to stop"

    def is_due(self, every):
        return self.step % every == 0 or self.step == self.config.steps

    def save_is_due(self):
        every, minutes = self.config.checkpoint_every, self.config.checkpoint_minutes
        by_time = minutes and time.monotonic() - self.saved_at >= 60 * minutes
        return by_time or (every and self.step % every == 0)

    def is_on_schedule(self, save_is_due, is_best):
        """Returns whether an uninterrupted run on any machine has a checkpoint of this step.

        If checkpoints are made by steps, those by time only limit what a killed run loses. They
        depend on the speed of the machine, and an average must not.
        """
        every = self.config.checkpoint_every
        # The evaluation after the last step is off schedule if the run is extended.
        best_on_schedule = is_best and self.step % self.config.evaluate_every == 0
        by_schedule = self.step % every == 0 if every else save_is_due
        return bool(best_on_schedule or by_schedule)

    def evaluate(self, logs):
        """Evaluates the model and records the results. Returns whether the best metric improved."""
        results = {f"train_{name}": float(value) for name, value in logs.items()}
        examples = {}
        is_best = False
        if self.held_out:
            results |= joined({each.name: self.held_out_loss(each) for each in self.held_out})
            self.finite.check_held_out(results, self.step)
            if self.is_chief:
                translated = {each.name: self.translated(each) for each in self.held_out}
                results |= joined({name: each.metrics for name, each in translated.items()})
                examples = {name: each.examples for name, each in translated.items()}
            value = self.machines.of_chief(results.get(self.early_stopping.best_metric))
            is_best = self.early_stopping.record(value, self.step)
            if self.stopped_early:
                self.asked_to_stop = self.early_stopping.reason
        results |= {
            "step": self.step,
            "tokens": self.tokens,
            "seconds": round(self.cost.seconds, 3),
            "tokens_per_second": self.tokens / max(self.cost.seconds, 1e-9),
            "learning_rate": rate_of_last_update(self.model.optimizer),
            "flops": self.cost.flops,
        }
        if corpora := self.data.corpora:
            results["passes"] = {name: self.seen[name] / size for name, size in corpora.items()}
        if self.is_chief:
            self.metrics_file.append(results)
            self.summaries.write_evaluation(results, examples)
            best_metric = self.early_stopping.best_metric if is_best else None
            self.console.show_evaluation(results, best_metric)
            self.console.show_examples(examples)
        # Callbacks expect numbers; BLEU's signature is text.
        numbers = {n: value for n, value in results.items() if isinstance(value, int | float)}
        self.callbacks.on_epoch_end(self.epoch - 1, numbers)
        return is_best

    def held_out_loss(self, held_out):
        """Returns loss, perplexity and token accuracy of a set. All machines take part."""
        self.model.reset_metrics()
        batches = held_out.distributed(self.strategy)
        spec = str(batches.element_spec)
        if spec not in self.test_steps:
            step = self.machines.on_every_replica(self.model.test_step, batches.element_spec)
            self.test_steps[spec] = step
        metrics = {}
        for number, batch in enumerate(batches, 1):
            self.console.measuring_loss(held_out.name, number)
            metrics = self.test_steps[spec](batch)
        if not metrics:
            raise ValueError(f"The held-out set {held_out.name!r} has no batches")
        self.model.reset_metrics()
        return {name: float(value) for name, value in metrics.items()}

    def translated(self, held_out):
        return held_out.translate(functools.partial(self.console.translating, held_out.name))

    @property
    def stopped_early(self):
        """Whether early stopping has ended the run, which is then finished."""
        return self.early_stopping.is_exhausted

    def save(self, on_schedule=True):
        """Saves a checkpoint, unless this step already has one; see `Checkpoints.save`."""
        self.saved_at = time.monotonic()
        if self.is_chief and self.step != self.saved_step:
            state = state_of(self.model)
            self.finite.check_weights(state, self.step)
            progress = {"tokens": self.tokens, "seen": self.seen, **self.cost.state()}
            progress |= self.early_stopping.state()
            progress |= {"interval": self.intervals.state(), "learning_rate": self.learning_rate}
            self.checkpoints.save(self.step, state, progress, on_schedule)
        self.saved_step = self.step

    def resume(self):
        """Continues from the newest usable checkpoint, if there is one."""
        newest = self.checkpoints.load_newest(self.console.warn)
        step = newest[1]["step"] if newest else 0
        steps = self.machines.all_values(step)
        if len(steps) > 1:
            raise ValueError(
                f"The machines of this job find different checkpoints in {self.folder}, of the "
                f"steps {shortened(sorted(steps))}. All machines must share the run's folder"
            )
        if self.is_chief:
            self.checkpoints.set_aside_after(step)
            self.checkpoints.delete_old()  # an earlier process may have ended before doing so
            for file in (self.metrics_file, self.intervals.file):
                file.forget_after(step)  # these lines will be written again
        if newest is None:
            self.intervals.restore(None, self.tokens, self.cost.seconds)
            return
        state, notes = newest
        self.model.optimizer.build(self.model.trainable_variables)
        restore(self.model, state)
        self.change_learning_rate(notes["learning_rate"])
        self.step = self.saved_step = step
        self.tokens = notes["tokens"]
        self.seen = collections.Counter(notes["seen"])
        self.cost.restore(notes)
        self.intervals.restore(notes["interval"], self.tokens, self.cost.seconds)
        self.early_stopping.restore(notes, self.console.warn)
        logging.info("Resuming from step %d", self.step)

    def change_learning_rate(self, before):
        """Takes a constant learning rate if it is not the one that the run was begun with.

        Otherwise, the rate of the checkpoint is kept, which callbacks may have changed.
        """
        now = self.learning_rate
        if None not in (before, now) and before != now:
            self.console.warn(f"The learning rate changes from {before:g} to {now:g}")
            self.model.optimizer.learning_rate = now
