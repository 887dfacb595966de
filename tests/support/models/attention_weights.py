"""Random attention weights and unusual words, for the tests of pictures and pages."""

import numpy as np

SOURCE = [("The", 1), ("horse", 2), ("</s>", 1)]
READ = [("<s>", 1), ("Das", 1), ("Pferd", 3)]
WRITTEN = [("Das", 1), ("Pferd", 3), ("</s>", 1)]
ODD_WORDS = [
    *("</script><script>alert(1)</script>", "<!--", "<b>", "&amp;", "$x^2$", "\\frac{", "%s"),
    *("日本語", "한국어", "עברית", "العربية", "हिन्दी", "🙂", "\ufffd"),
    *("a\nb", "{{data}}", "x" * 300),
]


def random_weights(queries, keys, heads=2):
    """Returns weights `[1, heads, queries, keys]` whose rows sum to 1."""
    weights = np.random.default_rng(queries).random((1, heads, queries, keys)) ** 4
    return (weights / weights.sum(-1, keepdims=True)).astype("float32")


def sub_layer_weights():
    """Returns the weights of a model with two layers for `SOURCE`, `READ` and `WRITTEN`."""
    encoder = {f"encoder/{layer}/self_attention": random_weights(4, 4) for layer in range(2)}
    decoder = {}
    for layer in range(2):
        decoder[f"decoder/{layer}/self_attention"] = random_weights(5, 5)
        decoder[f"decoder/{layer}/cross_attention"] = random_weights(5, 4)
    return encoder | decoder
