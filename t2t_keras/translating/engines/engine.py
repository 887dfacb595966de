"""What every engine offers: ids in, hypotheses out. Text is the translator's."""

from t2t_keras.decoding.search_config import ROW_OPTIONS


class Unsupported(ValueError):
    """A request that an engine cannot do, though another one may."""


class Engine:
    """Base of the engines.

    Attributes:
        kind: "tensorflow", "litert" or "ctranslate2".
        dtype: type of the stored weights.
        alignment: the `AlignmentHead` that aligns words. None: the default one, or no choice.
        name: what it was loaded from, for error messages.
        tokenizer: the vocabulary's tokenizer, without a tag.
        tags: the tags of the training data, see `chosen_tag`.
        tag: the default tag before sources. None: see `chosen_tag`.
        config: the `SearchConfig` that `search` follows.
        longest: maximum length of a source and of an output, in tokens. None: no maximum.
        phrase_room: maximum pieces of the required phrases of a row. None: no maximum.
        split: "auto" or "off", for requests that do not say it.
        varies: settings of the search that may differ from row to row.
        most: maximum number of hypotheses that a search without options returns.
        offers: settings of the search that requests to a server may change.
        batch_tokens: maximum rows × length of a batch of `search`.
        shapes: the `CompiledShapes` whose shapes a server compiles in the background. None: there
            are none.
    """

    kind, dtype, alignment = "tensorflow", "float32", None
    varies, offers, most = frozenset(), tuple(ROW_OPTIONS), 1
    batch_tokens = 4096
    split, tags, tag, longest, phrase_room, shapes = "auto", (None,), None, None, None, None

    def check(self, config, prefix, phrases):
        """Rejects a search that the engine cannot do, before any work.

        Args:
            config: the `SearchConfig`.
            prefix, phrases: whether texts may have prefixes and required phrases.
        """
        if config.constrain and (prefix or phrases):
            raise ValueError(
                "constrain='tree' takes neither prefixes nor required phrases, because every "
                "output is a tree. Leave them out"
            )

    def engine_for(self, config, prefix, phrases):
        """Returns the engine that does a search, see `check`: this one, or one that it knows."""
        self.check(config, prefix, phrases)
        return self

    def check_attention(self):
        """Rejects an engine that cannot align words."""

    def planned(self, config):
        """Returns the engine that follows a `SearchConfig`, and the options of a row."""
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
        """Returns log P of each target token, `[rows, target]`, given ids with their ends."""
        raise NotImplementedError

    def attention(self, source, target):
        """Returns the weights `[rows, target, source]` from which words are aligned."""
        raise NotImplementedError

    def attention_sizes(self):
        """Returns {name: (layers, heads)} of the kinds of attention in `all_attention`."""
        return {}

    def all_attention(self, source, target):
        """Returns {kind: weights `[layers, heads, queries, keys]`} for the ids of one pair."""
        raise NotImplementedError

    def digest(self):
        """Returns what identifies the weights and the search, in JSON types."""
        raise NotImplementedError

    def warm_up(self):
        """Computes something, because the first call takes longer."""

    def close(self):
        """Frees what the engine holds."""

    def use(self, config):
        """Takes the `SearchConfig` of an export, whose n-best lists are only on request."""
        config.validate()
        self.config, self.most = config.changed(n_best=1), config.n_best

    def own_options(self):
        """Returns the options of rows that have none: they get as many results as without them."""
        config = vars(self.config) | {"n_best": self.most}
        return {name: config[name] for name in ROW_OPTIONS}

    def returns(self, config):
        """Returns whether a search returns the results of a `SearchConfig`, or more."""
        counted = self.config.changed(n_best=config.n_best)
        return counted == config and config.n_best <= self.most
