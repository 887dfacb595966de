"""t2t-train: trains a Transformer, and goes on where it was stopped.

t2t-train                                                  the quick start: a toy, in minutes
t2t-train --config=base --data=data/ende --run=runs/ende --dev_source=dev.en --dev_target=dev.de
t2t-train --config=base --data=data/ende --run=runs/ende --config.training.accumulate=8

--data is a folder that t2t-prepare made. The same command goes on with the newest checkpoint;
SIGTERM and Ctrl-C save first. Several GPUs are used if they are there; several machines if
TF_CONFIG says so, each of which runs the same command and sees the same data and run folder.
"""

import contextlib
import dataclasses
import itertools
import math
import sys
import time
from pathlib import Path

import keras
import tensorflow as tf
from absl import flags, logging

from pipelines.batch_plan import BatchPlan
from pipelines.dataset import TrainingData, encoded
from pipelines.id_store import IdStore
from pipelines.sources import TextFiles
from pipelines.tokenizers import load_tokenizer, save_tokenizer
from pipelines.toy_grammar import pairs
from pipelines.vocabulary import learn
from pipelines.whole import whole_folder
from t2t_keras.cli.main import CONFIG, run
from t2t_keras.evaluation.held_out import HeldOut
from t2t_keras.runs.exports import save_version
from t2t_keras.runs.run import Run
from t2t_keras.runs.translating import translator
from t2t_keras.training.checkpoints import restore
from t2t_keras.training.machines import Machines, find_strategy
from t2t_keras.training.trainer import Trainer

RUN = flags.DEFINE_string("run", "runs/quickstart", "The run's folder.")
DATA = flags.DEFINE_string("data", None, "What t2t-prepare made. None: the toy grammar.")
DEV_SOURCE = flags.DEFINE_string("dev_source", None, "Text to evaluate on, the source.")
DEV_TARGET = flags.DEFINE_string("dev_target", None, "The same, its translation.")
EXPORT = flags.DEFINE_bool("export", True, "End with a SavedModel of what was trained.")
TPU = flags.DEFINE_string("tpu", None, "Name of a Cloud TPU; 'local' on its own machine.")
AVERAGED = 5  # checkpoints (§6.1); t2t-average makes it more


def main(arguments):
    if arguments:
        raise ValueError(f"takes flags only. Received: {' '.join(arguments)}")
    logging.set_verbosity(logging.INFO)
    experiment = CONFIG.value
    for flag, name in ((DATA, "folder"), (DEV_SOURCE, "dev_source"), (DEV_TARGET, "dev_target")):
        if flag.value is not None:
            setattr(experiment.data, name, flag.value)
    experiment.validate()
    strategy = find_strategy(TPU.value)
    machines = Machines(strategy)
    target = Run(RUN.value)
    with machines.watched(), target.locked() if machines.is_chief else contextlib.nullcontext():
        trainer = make_trainer(experiment, target, strategy, machines)
        with strategy.scope():
            stopped = trainer.train()
        if stopped and trainer.has_given_up():
            print(f"{stopped}: training ends at step {trainer.step:,}", file=sys.stderr)
        elif stopped:
            print(
                f"{stopped}: step {trainer.step:,} is saved. The same command goes on from there",
                file=sys.stderr,
            )
        if trainer.is_chief and (not stopped or trainer.has_given_up()):
            finish(target, trainer)


def make_trainer(experiment, target, strategy, machines):
    """Data, model and folder put together."""
    keras.utils.set_random_seed(experiment.training.seed)
    with machines.chief_first():
        store, vocabulary = training_store(experiment, target)
        tokenizer = load_tokenizer(vocabulary)
        experiment.model.vocab_size = tokenizer.size
        (target.begin if machines.is_chief else target.join)(experiment, vocabulary)
    plan = BatchPlan(store.lengths + 1, experiment.data.batches, experiment.training.seed)
    logging.info(
        "%s pairs, %s batches an epoch in %s shapes, %s replicas",
        f"{len(store):,}",
        f"{plan.steps:,}",
        len(plan.rows),
        strategy.num_replicas_in_sync,
    )
    with strategy.scope():
        model = experiment.compiled_model(metrics=[], by_products=True)
        model.optimizer.build(model.trainable_variables)
        return Trainer(
            model,
            TrainingData(store, plan),
            experiment.training,
            target.folder,
            held_out=held_out(experiment, tokenizer, model),
            strategy=strategy,
            rate=sustained_rate() * strategy.num_replicas_in_sync,
        )


def training_store(experiment, target):
    """The encoded corpus and its vocabulary's folder."""
    data = experiment.data
    if data.folder:
        return IdStore.read(data.folder), Path(data.folder) / "vocabulary"
    texts = pairs(data.toy_pairs)
    vocabulary = target.folder / "vocabulary"
    if not (vocabulary / "tokenizer.json").exists():
        tokenizer = learn(itertools.chain.from_iterable(texts), data.vocabulary)
        with whole_folder(vocabulary) as unfinished:
            save_tokenizer(tokenizer, unfinished)
    return encoded(texts, load_tokenizer(vocabulary)), vocabulary


def held_out(experiment, tokenizer, model):
    """The texts to evaluate on, or None."""
    data = experiment.data
    if data.dev_source:
        lines = TextFiles(data.dev_source, data.dev_target)
        texts = [tuple(side.decode("utf-8", "replace") for side in pair) for pair in lines]
    elif not data.folder:
        texts = pairs(300, "test")
    else:
        return None
    texts = texts[: data.dev_pairs or None]
    store = encoded(texts, tokenizer)
    plan = BatchPlan(store.lengths + 1, data.batches, seed=None)

    # Greedily, because it is done often; what is reported in the end is searched for.
    quick = dataclasses.replace(experiment.search, beam=1, n_best=1)
    return HeldOut(
        TrainingData(store, plan), *zip(*texts, strict=True), translator(model, tokenizer, quick)
    )


def sustained_rate(size=2048, rounds=3):
    """Floating-point operations a second of one device, measured on a matrix product."""
    matrix = tf.random.normal((size, size))
    product = tf.function(lambda x: tf.reduce_sum(tf.matmul(x, x)))
    float(product(matrix))
    best = math.inf
    for _ in range(rounds):
        start = time.perf_counter()
        float(product(matrix))
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best


def finish(target, trainer):
    """Averaged weights, how good they are, a SavedModel of them, and what to do next.

    What was averaged after the last checkpoint stays: t2t-average may have made it.
    """
    newest = trainer.checkpoints.path(trainer.step)
    averaged = target.averaged_weights
    if averaged.exists() and averaged.stat().st_mtime_ns > newest.stat().st_mtime_ns:
        print(f"{target.folder} was trained to its end before, step {trainer.step:,}")
        print(next_commands(target.folder))
        return
    last = min(AVERAGED, len(trainer.checkpoints.steps()))
    weights, steps = target.average(last)
    print(f"{target.averaged_weights}: the mean of the checkpoints of steps {listed(steps)}")
    if trainer.held_out is not None:
        restore(trainer.model, weights)
        search = dataclasses.replace(target.experiment().search, n_best=1)
        trainer.held_out.translator = translator(trainer.model, target.tokenizer(), search)
        results = trainer.held_out.translate()
        print(f"BLEU {results['bleu']:.1f} ({results['bleu_signature']})")
        print("\n".join(results["examples"]))
    if EXPORT.value:
        config = target.experiment().search
        config = dataclasses.replace(config, n_best=config.beam)
        version = save_version(target, target.folder / "export", config)
        print(f"{version}: a SavedModel, text in and text out")
    print(next_commands(target.folder))


NEXT = {
    "t2t-translate {run}": "type a sentence; or give it a file: < text > translations",
    "t2t-serve {run}": "answers over HTTP, with a page at http://localhost:8501",
    "t2t-report {run}": "tells on one page how the training went",
    "t2t-average {run} --last=3": "averages another number of the checkpoints that are kept",
    "tensorboard --logdir={run}/logs": "shows the curves",
    "t2t-prepare --help": "tells how to prepare text of your own",
}


def next_commands(run):
    lines = {command.format(run=run): what for command, what in NEXT.items()}
    width = max(map(len, lines))
    return "\n".join(["Next:", *(f"  {line:<{width}}   {what}" for line, what in lines.items())])


def listed(steps):
    return ", ".join(f"{step:,}" for step in steps)


def entry():
    run(main, default_config="quickstart")


if __name__ == "__main__":
    entry()
