"""The methods that a run shares with an ensemble: translating, scoring, evaluating."""

import functools

from t2t_keras.runs.alignment_choice import read_choice
from t2t_keras.runs.evaluation import evaluate, translate_all
from t2t_keras.runs.parsing import evaluate_run
from t2t_keras.runs.tree_search import tree_constraint
from t2t_keras.translating.engines.scoring_graph import scorer
from t2t_keras.translating.engines.search_graphs import translator
from t2t_keras.translating.markup.marked_translation import MarkedTranslator
from t2t_keras.translating.requirements import requirements_of
from t2t_keras.translating.search_options import search_config
from t2t_keras.translating.splitting import best_of, splitter
from t2t_keras.translating.engines.word_alignment import aligner, words_of
from t2t_keras.translating.word_confidence import confidence


class TrainedModel:
    """Base of `Run` and `RunEnsemble`, which have `experiment()`, `vocabulary()`, `tokenizer()`
    and `model()`.

    The argument `weights` is "averaged", "best", "newest" or the step of a checkpoint as a string.
    None selects the weights that were chosen when training ended, see `Run.default_weights`.
    `**search` changes fields of the run's `SearchConfig`: `beam=1`, `alpha=0.8`, `method="sample"`.
    """

    def __init__(self):
        self.kept = {}  # from each kind of result to the key and the newest result

    def search(self, **changes):
        """Returns the run's `SearchConfig` with changes."""
        return search_config(self.experiment().search, self.vocabulary(), **changes)

    def translator(self, weights=None, **search):
        """Returns a `Translator`, which accepts prefixes and returns n-best lists with scores."""
        config = self.search(**search)
        trees = tree_constraint(self, config)
        return self.keep(
            "translator",
            (self.weights_key(weights), repr(config)),
            lambda: translator(self.loaded(weights), self.tokenizer(), config, trees),
        )

    def translate(
        self,
        texts,
        weights=None,
        on_progress=lambda count: None,
        split="off",
        glossary=None,
        require=None,
        markup=None,
        **search,
    ):
        """Returns the best translation of each text.

        Args:
            texts: a list of strings. Long texts are translated in parts.
            weights, **search: see the class.
            on_progress: called with the number of texts done so far.
            split: "auto" translates each sentence of a text by itself and keeps the line breaks
                and spaces between sentences. "off" translates each text as one sentence.
            glossary: {source phrase: target phrase}, or the path of a glossary's file. Wherever a
                source phrase occurs, the translation contains its target phrase. None: no glossary.
            require: for each text, a list of phrases that its translation must contain. A text with
                such phrases is one sentence. None: no phrases.
            markup: "html", "xml" or "placeholders": tags, entities, placeholders, URLs and e-mail
                addresses are kept. None: they are text like any other.
        """
        texts, translator = list(texts), self.translator(weights, n_best=1, **search)
        requirements = requirements_of(self.tokenizer(), texts, glossary, require)
        if markup is None:
            return best_of(translator, texts, on_progress, split, requirements)
        results = self.marked(translator.translate, markup, weights).translate(
            texts, on_progress, splitter(split), requirements=requirements
        )
        return [best.text for best, *_ in results]

    def marked(self, translate, markup, weights=None):
        """Returns a `MarkedTranslator`, which translates texts with markup.

        Args:
            translate: the `translate` of `self.translator(weights, **search)`.
            markup: "html", "xml" or "placeholders".
            weights: see the class.
        """
        tokenizer = self.tokenizer()
        words = functools.partial(words_of, tokenizer)
        split_code = tokenizer.source.split_code
        return MarkedTranslator(translate, markup, self.aligner(weights), words, split_code)

    def aligner(self, weights=None):
        """Returns a function from a `Translation` to its (source word, target word) indices."""
        return aligner(self.loaded(weights), self.tokenizer(), self.alignment_choice())

    def confidence(self, weights=None):
        """Returns a function from a list of `Translation`s to the confidence of their words.

        It returns a list of probabilities for each translation, one for each word.
        """
        return confidence(self.scorer(weights))

    def alignment_choice(self):
        """Returns the `AlignmentHead` that `Run.choose_alignment` stored, or None."""
        return read_choice(self)

    def scorer(self, weights=None):
        """Returns a `Scorer`, which scores pairs of texts and reports progress."""
        return self.keep(
            "scorer",
            self.weights_key(weights),
            lambda: scorer(self.loaded(weights), self.tokenizer()),
        )

    def score(self, pairs, weights=None):
        """Returns the `Score` (log P, perplexity) of each (source, translation) pair."""
        return self.scorer(weights).score(list(pairs))

    def evaluate(self, sources, references, weights=None, paper_bleu=None, **search):
        """Translates a test set and returns its `Evaluation`: translations and scores.

        Args:
            sources, references: lists of strings of equal length.
            weights, **search: see the class.
            paper_bleu: language of the references, for the BLEU of the paper's Table 2. None:
                omit that score.
        """
        outputs = translate_all(self, sources, weights, **search)
        return evaluate(outputs, references, paper_bleu)

    def evaluate_parses(self, treebank, weights=None, leaves=None, **search):
        """Parses the sentences of gold trees and returns a `ParseEvaluation`.

        Args:
            treebank: files of bracketed trees: a path, a glob, or several with commas.
            weights, **search: see the class.
            leaves: leaf symbol that the run was trained with. None: the recorded one.
        """
        return evaluate_run(self, treebank, weights, leaves, **search)

    def loaded(self, weights):
        """Returns `self.model(weights)`, loaded only once."""
        return self.keep("model", self.weights_key(weights), lambda: self.model(weights))

    def keep(self, kind, key, make):
        """Returns the kept result of a kind if its key is unchanged, else a new one."""
        if self.kept.get(kind, (None,))[0] != key:
            self.kept[kind] = key, make()
        return self.kept[kind][1]
