"""The methods that a run shares with an ensemble: translating, scoring, evaluating."""

import functools

from t2t_keras.runs.alignment_choice import read_choice
from t2t_keras.runs.evaluation import evaluate, translate_all
from t2t_keras.runs.parsing import evaluate_run
from t2t_keras.runs.tree_search import tree_constraint
from t2t_keras.translating.engines.model import ModelEngine
from t2t_keras.translating.request import listed
from t2t_keras.translating.scoring import Scorer
from t2t_keras.translating.search_options import search_config
from t2t_keras.translating.translator import Translator


class TrainedModel:
    """Base class of `Run` and `RunEnsemble`.

    A subclass has the methods `experiment()`, `vocabulary()`, `tokenizer()` and `model()`.

    The argument `weights` is "averaged", "best", "newest" or the step of a checkpoint as a string.
    None selects the weights that were chosen when training ended; see `Run.default_weights`.
    `**search` changes fields of the run's `SearchConfig`: `beam=1`, `alpha=0.8`, `method="sample"`.
    """

    def __init__(self):
        self.kept = {}  # {kind of result: (key, newest result)}

    def search(self, **changes):
        """Returns the run's `SearchConfig` with changes."""
        return search_config(self.experiment().search, self.vocabulary(), **changes)

    def engine(self, weights=None, **search):
        """Returns the `ModelEngine` of the run's model."""
        engine = self.keep(
            "engine",
            (self.weights_key(weights), repr((self.search(), self.alignment_choice()))),
            lambda: ModelEngine(
                self.loaded(weights),
                self.vocabulary(),
                self.search(),
                trees=functools.partial(tree_constraint, self),
                alignment=self.alignment_choice(),
                name=self.folder,
                tags=self.tags(),
                split="off" if self.prepared_with("leaves") else "auto",
            ),
        )
        config = self.search(**search)
        return engine if config == engine.config else engine.with_search(**vars(config))

    def fastest(self, weights=None, engine="auto", dtype=None):
        """Returns the fastest engine for this machine, or TensorFlow if no other can be used.

        Args:
            weights: see the class.
            engine, dtype: see `chosen_engine`.
        """
        if engine not in ("auto", "tensorflow") or dtype not in (None, "float32"):
            raise ValueError(
                "an ensemble translates with TensorFlow, in float32. Received: "
                f"engine={engine!r}, dtype={dtype!r}"
            )
        return self.engine(weights)

    def translator(self, weights=None, engine="auto", dtype=None, **search):
        """Returns a `Translator`, which returns n-best lists with scores; see `Request`.

        Args:
            weights: see the class.
            engine: "auto", "litert", "tensorflow" or "ctranslate2"; see `chosen_engine`.
            dtype: type of the stored weights. None: float32.
            **search: see the class. With changed search settings, TensorFlow is used.
        """
        if search:
            return Translator(self.engine(weights, **search), self.to)
        return Translator(self.fastest(weights, engine, dtype), self.to)

    def translate(
        self,
        texts,
        weights=None,
        on_progress=lambda count: None,
        split="off",
        engine="auto",
        dtype=None,
        **options,
    ):
        """Returns the best translation of each text.

        Args:
            texts: a list of strings, or one string, for which one string is returned. Long texts
                are translated in parts.
            weights: see the class.
            on_progress: called with the number of texts done so far.
            split: see `Request`.
            engine, dtype: see `translator`.
            **options: see `Translator.translations`: settings of the search, `prefixes`, `require`,
                `glossary`, `markup` and `to`.
        """
        translator = self.translator(weights, engine, dtype)
        return translator.translate(texts, on_progress, split=split, **options)

    def alignment_choice(self):
        """Returns the `AlignmentHead` that `Run.choose_alignment` stored, or None."""
        return read_choice(self)

    def scorer(self, weights=None, engine="auto", dtype=None):
        """Returns a `Scorer`, which scores pairs of texts and reports progress."""
        return Scorer(self.fastest(weights, engine, dtype), self.tokenizer())

    def score(self, pairs, weights=None, engine="auto", dtype=None):
        """Returns the `PairScore` (log P, perplexity) of each (source, translation) pair.

        Args:
            pairs: a list of pairs, or one pair, whose result is then returned alone.
            weights: see the class.
            engine, dtype: see `translator`.
        """
        return self.scorer(weights, engine, dtype).score(list(pairs))

    def evaluate(
        self,
        sources,
        references,
        weights=None,
        paper_bleu=None,
        engine="auto",
        dtype=None,
        **search,
    ):
        """Translates a test set and returns its `Evaluation`: translations and scores.

        Args:
            sources, references: parallel lists of strings, or one sentence and its translation.
            weights, **search: see the class.
            paper_bleu: language of the references, for the BLEU of the paper's Table 2. If None,
                that score is omitted.
            engine, dtype: see `translator`.
        """
        translator = self.translator(weights, engine, dtype)
        outputs = translate_all(translator, listed(sources), **search)
        return evaluate(outputs, listed(references), paper_bleu)

    def evaluate_parses(self, treebank, weights=None, leaves=None, **options):
        """Parses the sentences of gold trees and returns a `ParseEvaluation`.

        Args:
            treebank: files with bracketed trees: a path, a glob, or several separated by commas.
            weights: see the class.
            leaves: leaf symbol that the run was trained with. None: the recorded symbol.
            **options: `engine` and `dtype`, see `translator`; for other options, see the class.
        """
        return evaluate_run(self, treebank, weights, leaves, **options)

    def loaded(self, weights):
        """Returns `self.model(weights)`, but loads it only once."""
        return self.keep("model", self.weights_key(weights), lambda: self.model(weights))

    def keep(self, kind, key, make):
        """Returns the cached result of a kind if its key is unchanged, otherwise a new result."""
        if self.kept.get(kind, (None,))[0] != key:
            self.kept[kind] = key, make()
        return self.kept[kind][1]
