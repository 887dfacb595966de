"""Trains a run: builds its data, model and trainer, and finishes it after training."""

import contextlib
import dataclasses
import itertools
import time
from pathlib import Path
from typing import Any, NamedTuple

import keras
import tensorflow as tf
from absl import logging
from keras.callbacks import LambdaCallback

from pipelines.atomic_files import digest, locked_folder
from pipelines.batches.batch_plan import BatchPlan
from pipelines.batches.columns import BatchColumns
from pipelines.batches.corpora import read_corpora
from pipelines.batches.dataset import TrainingData
from pipelines.batches.encoding import encoded
from pipelines.tokenizers import load_tokenizer
from pipelines.tokenizers.vocabulary import learn
from pipelines.toy.grammar import pairs
from t2t_keras.checks import check
from t2t_keras.guided_alignment import COLUMN as ALIGNMENTS
from t2t_keras.runs.plugins.plugin_files import trust_plugins_of
from t2t_keras.runs.plugins.trained_plugins import adopt_plugins, check_decoding, use_copies
from t2t_keras.runs.run import Run
from t2t_keras.runs.settings_file import data_facts
from t2t_keras.runs.training import initial_weights
from t2t_keras.runs.training.finishing import finish
from t2t_keras.runs.training.held_out_sets import (
    held_out_sets,
    held_out_texts,
    swapped_warnings,
    tags_of_sets,
)
from t2t_keras.runs.training.run_start import begin, check_folder, check_unchanged, record_hardware
from t2t_keras.runs.tree_search import tree_constraint_for
from t2t_keras.training.checkpoints import DamagedCheckpoint, check_fits
from t2t_keras.training.hardware.devices import tf32
from t2t_keras.training.hardware.machines import Machines, find_strategy
from t2t_keras.training.trainer import Trainer

SECONDS = 0.05  # minimum duration of a measurement of the sustained rate
ROUNDS = 3  # measurements, of which the fastest counts


class Training(NamedTuple):
    """The result of `train`."""

    run: Run
    step: int  # total number of steps trained so far
    stopped: str | None  # why training ended before its last step
    finished: bool  # whether training is complete: at its last step, or by early stopping
    is_chief: bool = True  # whether this machine writes the run; of several machines, only one does
    export: Any = None  # folder of the SavedModel that was written, or None


def train(
    experiment,
    folder,
    tpu=None,
    export=True,
    command=(),
    show=logging.info,
    init=None,
    given=(),
    trust=False,
):
    """Trains or resumes a run, averages its weights and exports it; returns a `Training`.

    Args:
        experiment: an `Experiment`. Without `data.folder`, the run learns the toy grammar. To
            resume a run with unchanged settings, pass `Run(folder).experiment()`.
        tpu: name of a Cloud TPU, or None.
        export: whether to write a SavedModel and a model for LiteRT at the end.
        command: command-line arguments, recorded in the run's config.json.
        show: called with each line about averaging, BLEU and the export.
        init: folder of a run whose weights training starts from. The model settings of that run are
            used, except for dropout, and its search settings where `experiment` has the defaults.
            If None, training starts from random weights or is resumed, and all settings are those
            of `experiment`.
        given: names of settings, such as "search.beam", that replace those of `init` even if they
            have the default value.
        trust: execute the plug-in files of the run and of `init`; see `Run`.
    """
    if trust and init:
        trust_plugins_of(init)
    experiment.validate()
    strategy = find_strategy(tpu, experiment.training.communication)
    machines = Machines(strategy)
    run = Run(folder, trust=trust)
    if machines.is_chief:
        check_folder(run)  # before anything is written there
    adopt_plugins(run, experiment)
    if init and not run.config_file.exists():
        Run(init).experiment()  # fails now rather than after learning a vocabulary
    lock = locked_folder(folder) if machines.is_chief else contextlib.nullcontext()
    with machines.watched(), lock:
        trainer = make_trainer(experiment, run, strategy, machines, command, init, given)
        with strategy.scope():
            stopped = trainer.train()
        finished = not stopped or trainer.stopped_early
        version = None
        if trainer.is_chief and finished:
            version = finish(run, trainer, export, show)
    return Training(run, trainer.step, stopped, finished, trainer.is_chief, version)


def make_trainer(experiment, run, strategy, machines, command=(), init=None, given=()):
    """Builds the `Trainer` of a run. Nothing is written until everything is built and checked."""
    texts = held_out_texts(experiment)
    keras.utils.set_random_seed(experiment.training.seed)
    store, tokenizer, mix, tags = training_corpora(experiment, run)
    held_out_tags = tags_of_sets(experiment, tags)
    initial = initial_run(run, init)
    set_model(experiment, run, tokenizer, initial, init, given)
    check_machines(machines, experiment, tokenizer)
    if run.config_file.exists():
        check_unchanged(run, experiment, tokenizer)
    leaves = data_facts(experiment.data.folder)["preparation"].get("leaves")
    if experiment.search.constrain:  # fails now rather than in the final export
        tree_constraint_for(tokenizer, leaves, run.folder)
    settings = experiment.data.batches, experiment.training.seed
    plan = BatchPlan(store.lengths + 1, *settings, mix=mix)
    if machines.is_chief:
        for text in swapped_warnings(texts, store, tokenizer):
            logging.warning(text)
        warn_of_warmup(experiment.training)
    for line in mix.lines(plan.examples) if mix else ():
        logging.info(line)
    if plan.too_long:
        logging.info(
            "%s of the following pairs have more than %d tokens and are %s (data.batches)",
            f"{plan.too_long:,}",
            experiment.data.batches.max_length,
            "truncated" if plan.cut_at else "left out",
        )
    replicas = strategy.num_replicas_in_sync
    logging.info(
        "%s pairs, %s batches per epoch in %s shapes, %s",
        f"{len(store):,}",
        f"{plan.steps:,}",
        len(plan.rows),
        "1 replica" if replicas == 1 else f"{replicas} replicas",
    )
    use_copies(run, experiment, machines, tokenizer, store)
    with strategy.scope():
        model = experiment.compiled_model()
        model.optimizer.build(model.trainable_variables)
        check_decoding(model, experiment)
        if steps := run.checkpoints.steps():
            with contextlib.suppress(DamagedCheckpoint):  # the trainer falls back to an earlier one
                check_fits(model, run.checkpoints.shapes(steps[-1]))  # options of the optimizer
        elif initial:
            layers = initial_weights.chosen_layers(experiment.training)
            for line in initial_weights.initialize(model, initial, tokenizer, layers):
                logging.info(line)
            if experiment.training.schedule == "paper":
                logging.warning(
                    "The paper's learning rates are for random weights and may spoil trained ones. "
                    "Consider --config=finetune, or another training.schedule"
                )

        def record(logs):
            step = int(model.optimizer.iterations.numpy())
            record_hardware(run, step, replicas, machines.count)

        trainer = Trainer(
            model,
            TrainingData(store, plan, columns_for(model, store, tokenizer)),
            experiment.training,
            run.folder,
            held_out=held_out_sets(experiment, texts, held_out_tags, tokenizer, model),
            strategy=strategy,
            callbacks=[LambdaCallback(on_train_begin=record)] if machines.is_chief else [],
            rate=replicas * sustained_rate(experiment, replicas),
        )
    if machines.is_chief:
        counts = {name: len(lines) for name, lines in texts.items()}
        begin(run, experiment, tokenizer, command, initial and initial.folder, counts)
    machines.all_values(0)  # the others wait for the chief
    if not run.config_file.exists():
        raise ValueError(
            f"{run.folder} was created by the first machine of this job and is not visible here. "
            "All machines need the same folder under the same name"
        )
    return trainer


def columns_for(model, store, tokenizer):
    """Returns the `BatchColumns` that a compiled model and its loss take, or None.

    The loss of a pair is always weighted if the data has weights.
    """
    names = [*model.columns, *getattr(model.loss, "columns", ())]
    names += [ALIGNMENTS] * bool(model.guided_alignment)
    names += ["weights"] * any("weights" in shard.columns for shard in store.shards)
    return BatchColumns(store, dict.fromkeys(names), tokenizer) if names else None


def check_machines(machines, experiment, tokenizer):
    """Rejects machines with different settings, which would wait for each other forever."""
    settings = [dataclasses.asdict(each) for each in (experiment.model, experiment.training)]
    key = int(digest(repr([*settings, tokenizer.contents()]).encode())[:15], 16)
    if len(machines.all_values(key)) > 1:
        raise ValueError(
            "the machines of this job have different settings or vocabularies. Run the same "
            "command on all of them"
        )


def warn_of_warmup(training):
    steps, warmup = training.steps, training.warmup_steps
    if steps <= warmup and training.schedule != "constant":
        logging.warning(
            "training.warmup_steps=%d is not less than training.steps=%d: the learning rate "
            "rises until the end. Try --config.training.warmup_steps=%d",
            *(warmup, steps, max(steps // 4, 1)),
        )


def initial_run(run, init):
    """Returns the `Run` whose weights the training of a run starts from, or None.

    A run that exists is resumed with its own initial run, which `init` must name, if any.
    """
    if not run.config_file.exists():
        return Run(init) if init else None
    started = run.init()
    if init and (started is None or Path(init).resolve() != Path(started).resolve()):
        raise ValueError(
            f"{run.folder} was started {f'with --init={started}' if started else 'without --init'}"
            f". Received: --init={init}. Leave it out to resume the run, or give a different --run"
        )
    return Run(started) if started else None


def set_model(experiment, run, tokenizer, initial, init, given):
    """Sets the model and the search, which depend on the vocabulary and on the initial run.

    `initial` is the result of `initial_run`; for the other arguments, see `train`.
    """
    known = run if run.config_file.exists() else initial
    separate = tokenizer.source is not tokenizer.target
    if init:
        same = tokenizer.contents() == known.vocabulary().contents()
        theirs = known.experiment()
        experiment.imports = tuple(dict.fromkeys((*theirs.imports, *experiment.imports)))
        initial_weights.inherit_settings(experiment, theirs, given, same)
        if known is initial:
            initial_weights.set_depth(experiment, theirs)
        separate = experiment.model.source_vocab_size is not None or (separate and not same)
    if not initial:
        for stack, layers in initial_weights.chosen_layers(experiment.training).items():
            check(False, f"training.init_{stack}_layers", layers, "empty without --init")
    if init or not initial:
        experiment.model.vocab_size = tokenizer.target.size
        if separate:
            experiment.model.source_vocab_size = tokenizer.source.size
    experiment.validate()


def training_corpora(experiment, run):
    """Returns the training data of a run, its tokenizer, `Mix` or None, and tags; see `Corpora`."""
    data = experiment.data
    if data.folder:
        store, vocabulary, mix, tags = read_corpora(data.folder, data.corpus_temperature)
        return store, load_tokenizer(vocabulary), mix, tags
    texts = pairs(data.toy_pairs)
    if run.config_file.exists():
        tokenizer = run.vocabulary()
    else:
        tokenizer = learn(itertools.chain.from_iterable(texts), data.vocabulary)
    return encoded(texts, tokenizer, data.encodings), tokenizer, None, [None]


def sustained_rate(experiment, replicas):
    """Measures a device's floating-point operations per second in the products of a training.

    Vectors are multiplied by a matrix of the sizes of a feed-forward layer and by another one back.
    """
    model, training = experiment.model, experiment.training
    rows = max(experiment.data.batches.tokens // (replicas * training.accumulate), 1)
    width = model.d_model
    inner = getattr(model, "d_ff", width)
    dtype = "bfloat16" if training.precision == "mixed_bfloat16" else "float32"
    x, there, back = (
        tf.cast(tf.random.normal(shape) / shape[0] ** 0.5, dtype)
        for shape in ((rows, width), (width, inner), (inner, width))
    )

    @tf.function(autograph=False)
    def products(count):
        y = tf.while_loop(lambda i, y: i < count, lambda i, y: (i + 1, (y @ there) @ back), (0, x))
        return tf.reduce_sum(tf.cast(y[1], tf.float32))

    def measured(count):
        start = time.perf_counter()
        float(products(tf.constant(count)))  # reading the sum waits for the device
        return time.perf_counter() - start

    with tf32(training.tf32):
        count = 1
        measured(count)  # compiles the graph
        while measured(count) < SECONDS:
            count *= 2
        return 4 * rows * width * inner * count / min(measured(count) for _ in range(ROUNDS))
