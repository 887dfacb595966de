"""An engine that passes unsupported searches to a second engine, which is created on demand."""

from absl import logging

from t2t_keras.translating.engines.engine import Engine, Unsupported

# Attributes that are copied from the preferred engine.
SAME = ("name", "kind", "dtype", "tokenizer", "tags", "tag", "config", "longest", "phrase_room")
SAME += ("split", "varies", "most", "offers", "batch_tokens")


class PreferredEngine(Engine):
    """Behaves like the preferred engine, but chooses between two engines for each search.

    Args:
        first: the preferred engine.
        make_other: function that returns an engine of the same model that supports more searches.
    """

    def __init__(self, first, make_other):
        self.first, self.make_other, self.other = first, make_other, None
        vars(self).update({name: getattr(first, name) for name in SAME})
        for name in ("check_attention", "attention_sizes", "log_p", "attention", "all_attention"):
            setattr(self, name, getattr(first, name))

    def engine_for(self, config, prefix, phrases):
        try:
            return self.first.engine_for(config, prefix, phrases)
        except Unsupported as reason:
            if self.other is None:
                tell_fallback(reason)
                self.other = self.make_other()
            return self.other.engine_for(config, prefix, phrases)

    def check(self, config, prefix, phrases):
        self.engine_for(config, prefix, phrases)

    def search(self, rows):
        return self.first.search(rows)

    def digest(self):
        return self.first.digest()


def tell_fallback(reason):
    """Says on standard error why TensorFlow, which is slower on CPUs, replaces another engine."""
    logging.warning("TensorFlow translates, which takes longer: %s", reason)
