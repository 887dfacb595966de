"""Words aligned with words: what --alignments adds to translations."""

import numpy as np
import tensorflow as tf

from pipelines.tokenizers import words
from t2t_keras.decoding.alignment import attention_between
from t2t_keras.decoding.hypotheses import END
from t2t_keras.visualization.heads import joined


def aligner(model, tokenizer):
    """A function that aligns `Translation`s: for each its (source word, word) pairs, from 0."""
    model = getattr(model, "models", [model])[0]  # of an ensemble the first
    ids = tf.TensorSpec([None, None], tf.int32)

    @tf.function(input_signature=[ids, ids], autograph=False)
    def attention(source, target):
        return attention_between(model, source, target)

    def align(translation):
        pairs, read, written = [], 0, 0
        for source, target in translation.parts:
            source, target = np.array(source, "int32"), np.array(target, "int32")
            weights = attention(source[None], target[None])[0].numpy()
            before, after = words(tokenizer, source), words(tokenizer, target)
            weights = joined(weights, [size for _, size in after], [size for _, size in before])
            # The end has no word to stand beside. Nothing but an end: nothing to align.
            ours, theirs = len(after) - (target[-1] == END), len(before) - 1
            if ours and theirs:
                best = weights[:ours, :theirs].argmax(axis=1)
                pairs += [(int(there) + read, here + written) for here, there in enumerate(best)]
            read, written = read + theirs, written + ours
        return sorted(pairs)

    return align
