"""The interface of all engines, which take ids and return hypotheses. No engine handles text."""

from pathlib import Path

from pipelines.tokenizers import load_tokenizer
from t2t_keras.decoding.search_config import ROW_OPTIONS, SearchConfig
from t2t_keras.translating.exports import RECORD, unusable, verified_record
from t2t_keras.translating.languages import languages_of


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
        varies: settings of the search that may differ from row to row.
        most: maximum number of hypotheses that a search without options returns.
        offers: settings of the search that requests to a server may change.
        batch_tokens: maximum rows × length of a batch in `search`.
    """

    kind, dtype, alignment = "tensorflow", "float32", None
    varies, offers, most = frozenset(), tuple(ROW_OPTIONS), 1
    batch_tokens = 4096
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

    def engine_for(self, config, prefix, phrases):
        """Returns the engine for a search, this one or a substitute; arguments as in `check`."""
        self.check(config, prefix, phrases)
        return self

    def languages(self):
        """Returns the `Languages` of the model, or None if its folder does not record them."""
        return languages_of(Path(getattr(self, "folder", self.name)))

    def check_attention(self):
        """Rejects an engine that cannot align words."""

    def planned(self, config):
        """Returns an engine that searches with a `SearchConfig`, and the options of its rows."""
        ours, wanted = vars(self.config), vars(config)
        changed = {name: wanted[name] for name in wanted if wanted[name] != ours[name]}
        calls = {name: value for name, value in changed.items() if name not in self.varies}
        engine = self.with_search(**calls) if calls else self
        if len(calls) == len(changed):
            return engine, {}
        return engine, {name: wanted[name] for name in sorted(self.varies)}

    def with_search(self, **changes):
        """Returns an engine with changed settings of the search."""
        raise NotImplementedError

    def search(self, rows):
        """Returns the `Hypotheses` of `Rows`."""
        raise NotImplementedError

    def log_p(self, source, target):
        """Returns log P of each target token, `[rows, target]`; ids include the end tokens."""
        raise NotImplementedError

    def attention(self, source, target):
        """Returns the attention weights that align words, `[rows, target, source]`."""
        raise NotImplementedError

    def attention_sizes(self):
        """Returns {kind: (layers, heads)} for the kinds of attention in `all_attention`."""
        return {}

    def all_attention(self, source, target):
        """Returns {kind: weights `[layers, heads, queries, keys]`} for the ids of one pair."""
        raise NotImplementedError

    def digest(self):
        """Returns digests that identify the weights and the search, in JSON types."""
        return {name: self.record[name] for name in ("weights", "files")}

    def warm_up(self):
        """Makes a first call, because the first call takes longer."""

    def close(self):
        """Frees the resources of the engine."""

    def open(self, version):
        """Sets the attributes that the record of an export contains.

        Args:
            version: folder of the version.
        """
        self.name = self.folder = Path(version)
        self.record = record = verified_record(self.folder)
        try:
            check_record(record)
            config = SearchConfig(**record["search"])
            config.validate()
            # N-best lists are only returned on request.
            self.config, self.most = config.changed(n_best=1), config.n_best
            self.dtype, self.longest = record["dtype"], record["longest"]
            self.split = "auto" if record["split"] else "off"
            self.tags, self.tag = record["tags"], record.get("tag")
            self.tokenizer = load_tokenizer(self.folder / "vocabulary")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise unusable(self.folder, f"{RECORD}: {error}") from error

    def own_options(self):
        """Returns row options that yield the same results as a search without options."""
        config = vars(self.config) | {"n_best": self.most}
        return {name: config[name] for name in ROW_OPTIONS}

    def returns(self, config):
        """Returns whether a search without options returns enough results for a `SearchConfig`."""
        counted = self.config.changed(n_best=config.n_best)
        return counted == config and config.n_best <= self.most


def check_record(record):
    """Rejects a record whose entries have wrong types."""
    longest, tags = record["longest"], record["tags"]
    kinds = {
        "longest": longest is None or is_size(longest),
        "split": type(record["split"]) is bool,
        "tags": all(tag is None or isinstance(tag, str) for tag in tags),
        "tag": isinstance(record.get("tag"), str | None),
    }
    if wrong := [name for name, is_right in kinds.items() if not is_right]:
        raise ValueError(f"wrong {wrong[0]!r}")


def is_size(value):
    return type(value) is int and 0 < value < 2**31
