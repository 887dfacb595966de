"""The interface of all engines, which take ids and return hypotheses. No engine handles text."""

import copy
from pathlib import Path

import numpy as np
from absl import logging

from pipelines.tokenizers import load_tokenizer
from t2t_keras.decoding.drafted_search import Draft, drafted
from t2t_keras.decoding.rows import Rows
from t2t_keras.decoding.search_config import ROW_OPTIONS, SearchConfig
from t2t_keras.export.formats import STEPS
from t2t_keras.translating.exports import RECORD, unusable, verified_record
from t2t_keras.translating.languages import languages_of

FEW_ROWS = 4  # maximum rows for which a draft proposes tokens


class Unsupported(ValueError):
    """Raised for a request that this engine does not support, but a different one may."""


class Engine:
    """Base class of the engines.

    Attributes:
        kind: "tensorflow", "litert" or "ctranslate2".
        dtype: type of the stored weights.
        alignment: the `AlignmentHead` used for word alignment. None: the default head, or the
            engine cannot use a different head.
        name: path or description of the model, for error messages.
        tokenizer: the vocabulary's tokenizer, without a tag.
        tags: the tags of the training data; see `chosen_tag`.
        tag: the default tag before sources. None: see `chosen_tag`.
        config: the `SearchConfig` that `search` uses.
        longest: maximum length of a source and of an output, in tokens. None: no maximum.
        phrase_room: maximum pieces of the required phrases of a row. None: no maximum.
        split: "auto" or "off", for requests without `split`.
        exported: the `SearchConfig` of an export.
        most: `n_best` of an export.
        offers: settings of the search that requests to a server may change.
        batch_tokens: maximum rows × length of a batch in `search`.
        has_attention: whether the model has attention to the source, which aligns words.
        attention_sizes: {kind: (layers, heads)} for the kinds of attention in `all_attention`.
        reading: object with the method `reader` of `drafted_search`, or None.
        size: size of the weights, compared with the size of a draft's weights.
        draft: the `Draft` that proposes tokens to greedy search, or None.
        substitute: function that returns an engine of the same model for searches that this one
            does not support, or None.
    """

    kind, dtype, alignment = "tensorflow", "float32", None
    offers, most = tuple(ROW_OPTIONS), 1
    batch_tokens = 4096
    substitute = other = draft = reading = None
    has_attention, attention_sizes = True, {}
    split, tags, tag, longest, phrase_room = "auto", (None,), None, None, None

    def check(self, config, prefix, phrases):
        """Rejects a search that the engine does not support, before anything is computed.

        Args:
            config: the `SearchConfig`.
            prefix, phrases: whether texts may have prefixes or required phrases.
        """
        if config.constrain and (prefix or phrases):
            raise ValueError(
                "constrain='tree' takes neither prefixes nor required phrases, because every "
                "output is a tree. Leave them out"
            )

    def check_width(self, config, phrases):
        """Rejects a beam that the programs of an export do not have; arguments as in `check`."""
        widest = self.exported.beam
        if config.beam > widest:
            raise Unsupported(
                f"`beam` must be at most {widest}, the beam width of {self.name}. Received: "
                f"{config.beam}. For a wider one, give the run, with --engine=tensorflow, or "
                f"export it again with t2t-export --beam={config.beam}"
            )
        if phrases and config.beam != widest:
            raise Unsupported(
                f"phrases are searched for with the exported beam width, {widest}. Received: "
                f"beam={config.beam}. Leave it out, or give the run, with --engine=tensorflow"
            )

    def engine_for(self, config, prefix, phrases):
        """Returns this engine, or a substitute, with the settings of a search.

        Arguments as in `check`.
        """
        try:
            self.check(config, prefix, phrases)
        except Unsupported as reason:
            if self.substitute is None:
                raise
            if self.other is None:
                logging.warning("TensorFlow translates, which takes longer: %s", reason)
                self.other = self.substitute()
            return self.other.engine_for(config, prefix, phrases)
        return self if config == self.config else self.with_search(config)

    def use_draft(self, other):
        """Speeds up greedy search for few rows, with tokens that another engine proposes."""
        size = other.size / self.size
        self.draft = Draft(other.reading, STEPS - 1, size, other.longest)

    def check_reading(self):
        """Rejects an engine that can neither have a draft nor be one."""
        if self.reading is None:
            raise ValueError(
                f"--draft does not work with {self.name}. It is for runs and exports for LiteRT of "
                "single Transformers with unrestricted self-attention in the decoder"
            )

    def proposes(self, rows):
        """Returns whether the draft proposes tokens for `Rows`."""
        config, last = self.config, rows.source.shape[1] + self.config.extra_length + STEPS
        is_greedy = config.method == "beam" and config.beam == 1 and not config.constrained
        return (
            self.draft is not None
            and is_greedy
            and rows.prefix is rows.phrases is None
            and len(rows.source) <= FEW_ROWS
            # Positions up to the last may be read.
            and all(n is None or last <= n for n in (self.longest, self.draft.longest))
        )

    def drafted(self, rows):
        """Returns the `Hypotheses` of `Rows`, found with the draft."""
        return drafted(self.reading, self.draft, self.config, rows.source, self.longest)

    def languages(self):
        """Returns the `Languages` of the model, or None if its folder does not record them."""
        return languages_of(Path(getattr(self, "folder", self.name)))

    def check_attention(self):
        """Rejects an engine that cannot align words."""
        if not self.has_attention:
            raise ValueError(
                f"the model of {self.name} has no attention to the source, so its words cannot be "
                "aligned"
            )

    def with_search(self, config):
        """Returns an engine with different settings of the search."""
        other = copy.copy(self)
        other.config = config
        return other

    def search(self, rows):
        """Returns the `Hypotheses` of `Rows`."""
        raise NotImplementedError

    def log_p(self, source, target):
        """Returns log P of the target tokens of each row; ids include the end tokens.

        A row may, but need not, be padded to the width of its batch.
        """
        raise NotImplementedError

    def attention(self, source, target):
        """Returns weights `[target, source]` of each row that align words, padded as in `log_p`."""
        raise NotImplementedError

    def all_attention(self, source, target):
        """Returns {kind: weights `[layers, heads, queries, keys]`} for the ids of one pair."""
        raise NotImplementedError

    def digest(self):
        """Returns digests that identify the weights and the search, in JSON types."""
        return {name: self.record[name] for name in ("weights", "files")}

    def warm_up(self):
        """Makes a first call, because the first call takes longer."""
        self.search(Rows(np.array([[3, 2]], "int32"), [0]))

    def open(self, version):
        """Sets the attributes that the record in the folder of an export's version contains."""
        self.name = self.folder = Path(version)
        self.record = record = verified_record(self.folder)
        try:
            config = SearchConfig(**record["search"])
            config.validate()
            # N-best lists are only returned on request.
            self.config = self.exported = config.changed(n_best=1)
            self.most = config.n_best
            self.dtype, self.longest = record["dtype"], record["longest"]
            self.split = "auto" if record["split"] else "off"
            self.tags, self.tag = record["tags"], record.get("tag")
            self.tokenizer = load_tokenizer(self.folder / "vocabulary")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise unusable(self.folder, f"{RECORD}: {error}") from error
