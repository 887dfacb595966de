"""A run's folder, which contains everything that training and later steps need; see README.md."""

import dataclasses
import functools

from absl import logging

from pipelines.atomic_files import full_disk_named, locked_folder, write_json
from t2t_keras.parameters import parameter_counts
from t2t_keras.runs.alignment_choice import rate_heads
from t2t_keras.runs.evaluation import evaluate, translate_all
from t2t_keras.runs.exports.exporting import export, renew
from t2t_keras.runs.exports.fitting import fastest_engine
from t2t_keras.runs.parsing import evaluate_run
from t2t_keras.runs.run_folder import ALIGNMENT, RunFolder, step_of
from t2t_keras.runs.settings_file import read_settings
from t2t_keras.runs.tree_search import tree_constraint
from t2t_keras.training.checkpoints import average, model_part, restore
from t2t_keras.training.hardware.devices import prepare_devices
from t2t_keras.translating.engines.model import ModelEngine
from t2t_keras.translating.request import listed
from t2t_keras.translating.search_options import search_config
from t2t_keras.translating.translator import Translator


class Run(RunFolder):
    """A run on disk.

    Args:
        folder: path of the run's folder.
        to: tag to put before each source, or a language: "de" means "<2de>". If None, the tag of
            the training data is used, if all corpora have the same tag.
        trust: execute the run's plug-in files. Without it, a run with files that this process has
            not executed yet raises `ValueError`.

    The argument `weights` of methods is "averaged", "best", "newest" or a checkpoint's step as a
    string. None selects the weights that were chosen when training ended. `engine` and `dtype` are
    those of `open_engine`. `**search` changes fields of the run's `SearchConfig`: `beam=1`,
    `alpha=0.8`, `method="sample"`.

    Example:

        run = Run("runs/mine")
        run.translate(["The dog sleeps."], beam=8)
        run.score([("The dog sleeps.", "Der Hund schläft.")])[0].perplexity
        run.evaluate(sources, references).scores
        run.attention("The dog sleeps.").save("attention")
        run.average(last=5)
        run.renew_exports()
        run.export(dtype="int8")
        run.report(sources, references)
    """

    def __init__(self, folder, to=None, trust=False):
        prepare_devices()
        super().__init__(folder, to, trust)
        self.kept = {}  # {kind of result: (key, newest result)}

    def experiment(self):
        """Returns the run's settings as an `Experiment`."""
        return read_settings(self.config_file)

    def search(self, **changes):
        """Returns the run's `SearchConfig` with changes."""
        return search_config(self.experiment().search, self.vocabulary(), **changes)

    def engine(self, weights=None, **search):
        """Returns the `ModelEngine` of the run's model."""
        key = self.weights_key(weights), repr((self.search(), self.alignment_choice()))
        engine = self.keep("engine", key, lambda: self.engine_with(self.loaded(weights)))
        return engine.engine_for(self.search(**search), False, False)

    def engine_with(self, model, split=None):
        """Returns a `ModelEngine` with the run's settings; arguments as for `ModelEngine`."""
        attributes = {
            "alignment": self.alignment_choice(),
            "name": self.folder,
            "tags": self.tags(),
            "split": split or ("auto" if self.splits_texts() else "off"),
        }
        trees = functools.partial(tree_constraint, self)
        return ModelEngine(model, self.vocabulary(), self.search(), trees, **attributes)

    def translator(self, weights=None, engine="auto", dtype=None, **search):
        """Returns a `Translator`, which returns n-best lists with scores; see `Request`.

        With changed search settings, TensorFlow is used.
        """
        if search:
            return Translator(self.engine(weights, **search), self.to)
        settings = repr((self.search(), self.alignment_choice()))
        key = self.weights_key(weights), engine, dtype, settings
        choices = self, engine, dtype, weights, lambda: self.engine(weights)
        return Translator(self.keep("fastest", key, lambda: fastest_engine(*choices)), self.to)

    def translate(self, texts, weights=None, engine="auto", dtype=None, **options):
        """Returns the best translation of each text.

        Args:
            texts: a list of strings, or one string, for which one string is returned. Long texts
                are translated in parts.
            **options: see `Translator.translations`. Here, the default of `split` is "off".
        """
        options = {"split": "off"} | options
        return self.translator(weights, engine, dtype).translate(texts, **options)

    def score(self, pairs, weights=None, engine="auto", dtype=None):
        """Returns the `PairScore` (log P, perplexity) of each (source, translation) pair.

        `pairs` is a list of pairs, or one pair, whose result is then returned alone.
        """
        return self.translator(weights, engine, dtype).score(list(pairs))

    def evaluate(self, sources, references, weights=None, paper_bleu=None, **options):
        """Translates a test set and returns its `Evaluation`: translations and scores.

        Args:
            sources, references: parallel lists of strings, or one sentence and its translation.
            paper_bleu: language of the references, for the BLEU of the paper's Table 2. If None,
                that score is omitted.
            **options: see `translate`.
        """
        outputs = translate_all(self, listed(sources), weights=weights, **options)
        return evaluate(outputs, listed(references), paper_bleu)

    def evaluate_parses(self, treebank, weights=None, **options):
        """Parses the sentences of gold trees and returns a `ParseEvaluation`; see `translate`.

        `treebank` are files with bracketed trees: a path, a glob, or several separated by commas.
        """
        return evaluate_run(self, treebank, weights=weights, **options)

    # Weights

    def model(self, weights=None):
        """Returns the trained model, a Keras model.

        It computes in float32 even if it was trained in mixed precision. With bfloat16, the results
        for a sentence would depend on the other sentences of its batch.
        """
        model = self.new_model(self.weights_file(weights))
        self.load_weights(model, weights)
        return model

    def loaded(self, weights):
        """Returns `self.model(weights)`, but loads it only once."""
        return self.keep("model", self.weights_key(weights), lambda: self.model(weights))

    def keep(self, kind, key, make):
        """Returns the cached result of a kind if its key is unchanged, otherwise a new result."""
        if self.kept.get(kind, (None,))[0] != key:
            self.kept[kind] = key, make()
        return self.kept[kind][1]

    def load_weights(self, model, weights=None):
        """Assigns the run's weights to a model; see `model`."""
        path = self.weights_file(weights)
        is_average = path == self.averaged_weights
        state = self.averaged.state() if is_average else self.checkpoints.load(step_of(path))[0]
        restore(model, model_part(state))

    def loaded_with_file(self, weights=None):
        """Returns the model, the steps of its weights or None, and their file's digest."""
        # If the file is replaced now, an export records the old digest, so it is renewed later.
        steps, digest = self.weights_steps(weights), self.weights_file_digest(weights)
        return self.loaded(weights), steps, digest

    def new_model(self, weights_file):
        """Returns the model with random weights, if the file is large enough to contain them.

        Without this check, damaged or hostile settings could allocate terabytes.
        """
        config, tokenizer = self.experiment().model, self.vocabulary()
        sides = {"vocab_size": tokenizer.target, "source_vocab_size": tokenizer.source}
        for name, side in sides.items():
            size = side.size
            if (getattr(config, name) or config.vocab_size) < size:
                raise ValueError(
                    f"{self.config_file} describes a model with {name}={getattr(config, name):,}, "
                    f"but the run's vocabulary has {size:,} pieces. Restore one of them from a copy"
                )
        count, size = sum(parameter_counts(config).values()), weights_file.stat().st_size
        if size < 4 * count:  # weights are stored in float32
            raise ValueError(
                f"{self.config_file} describes a model of {count:,} weights, but {weights_file} "
                f"has only {size:,} bytes: one of them is damaged. Restore it from a copy"
            )
        return self.experiment().new_model("float32")

    def average(self, last=5):
        """Averages the last checkpoints, stores the averaged weights, and returns the steps.

        The run's exports keep the earlier weights until `renew_exports`. An older checkpoint that
        was kept because it is the best does not count.
        """
        checkpoints = self.checkpoints
        weights, steps = average(checkpoints, last)
        with locked_folder(checkpoints.folder):
            self.averaged.write(weights, steps, checkpoints.digest(steps[-1]))
        return steps

    # Further uses. Some import Matplotlib, which is not needed for translation.

    def attention(self, sentence, translation=None, pieces=False, weights=None, **search):
        """Returns the `SentenceAttention` of all heads for a sentence and its translation.

        Args:
            sentence: the source text.
            translation: the target text. None: the model's own translation.
            pieces: show weights between sub-words instead of words.
        """
        from t2t_keras.runs.attention import attention

        return attention(self, sentence, translation, pieces, weights, **search)

    def choose_alignment(self, sources, targets, alignments=None, weights=None, name="alignments"):
        """Chooses the layer and head used for word alignment, and stores them in the run.

        Returns the `RatedHead`s of `rate_heads`, best first.

        Args:
            sources, targets: parallel lists of texts, or one pair of texts.
            alignments: reference alignments, such as `0-0 1-2 1p1`, or None.
            name: name of the file with the alignments, for error messages.
        """
        sources, targets = listed(sources), listed(targets)
        rated = rate_heads(self, sources, targets, alignments, weights, name)
        head, agreement, error_rate = rated[0]
        figures = {"agreement": agreement, "error_rate": error_rate, "pairs": len(sources)}
        write_json(self.folder / ALIGNMENT, {"head": dataclasses.asdict(head), **figures})
        return rated

    def export(self, folder=None, format="saved_model", weights=None, **options):
        """Exports the trained model and returns the path of the export.

        Args:
            folder: output folder, or output file for "keras". None: a path inside the run.
            format: one of `FORMATS` in `t2t_keras.export.formats`.
            **options: depending on the format; see `exports.exporting.export`.
        """
        with full_disk_named(folder or self.folder):
            return export(self, folder, format, weights, **options)

    def renew_exports(self, show=logging.info):
        """Exports the run again in each way in which it was exported before it changed.

        It also writes an export for LiteRT, if there is none of the run's weights. `show` is called
        with a line about each export.
        """
        with full_disk_named(self.folder):
            renew(self, show, at_least=("litert",))

    def report(self, sources=None, references=None, path=None, **options):
        """Writes a page about the run, with translations of a test set, and returns its path.

        `path` is by default RUN/report.html. For further options, see `report.write_report`.
        """
        from t2t_keras.runs.reporting.report import write_report

        return write_report(self, sources, references, path, **options)
