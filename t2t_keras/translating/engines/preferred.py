"""An engine that passes unsupported searches to a second engine, which is created on demand."""

from absl import logging

from t2t_keras.translating.engines.engine import Engine, Unsupported


class PreferredEngine(Engine):
    """Behaves like the preferred engine, but chooses between two engines for each search.

    Args:
        first: the preferred engine.
        make_other: function that returns an engine of the same model that supports more searches.
    """

    def __init__(self, first, make_other):
        vars(self).update(vars(first))
        self.first, self.make_other, self.other = first, make_other, None
        self.kind, self.phrase_room, self.varies = first.kind, first.phrase_room, first.varies
        self.offers, self.batch_tokens = first.offers, first.batch_tokens
        for name in ("check_attention", "attention_sizes", "log_p", "attention", "all_attention"):
            setattr(self, name, getattr(first, name))

    def engine_for(self, config, prefix, phrases):
        try:
            return self.first.engine_for(config, prefix, phrases)
        except Unsupported as reason:
            if self.other is None:
                logging.warning("TensorFlow translates, which takes longer: %s", reason)
                self.other = self.make_other()
            return self.other.engine_for(config, prefix, phrases)

    def check(self, config, prefix, phrases):
        self.engine_for(config, prefix, phrases)

    def search(self, rows):
        return self.first.search(rows)

    def digest(self):
        return self.first.digest()
