"""Signatures for a text and its translation, which return probabilities or attention weights.

They return the same results as a SavedModel's signatures of the same names, but an engine computes
the results. This module does not import TensorFlow.
"""

import numpy as np

from t2t_keras.decoding.batches import LONGEST, stacked
from t2t_keras.decoding.rows import END, PADDING
from t2t_keras.export.signature_names import ATTENTION_LONGEST
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.signatures import ServedSignature
from t2t_keras.serving.tensors import Spec
from t2t_keras.serving.translations import TEXTS, can
from t2t_keras.translating.scoring import Scorer

PIECES = Spec("string", (None, None))
PAIR = {"text": TEXTS, "translation": TEXTS}


class PairSignatures:
    """The signatures for pairs of texts, computed by an engine.

    Args:
        translator: the `Translator` of the engine.
    """

    def __init__(self, translator):
        self.engine, self.tokenizer = translator.engine, translator.tokenizer
        self.scorer, self.pieces = Scorer(self.engine, self.tokenizer), {}

    def all(self):
        """Returns {name: `ServedSignature`}."""
        log_p = {"log_probabilities": Spec("float32", (None,))}
        of_pieces = {"log_probabilities": Spec("float32", (None, None)), "target_pieces": PIECES}
        sides = {"source": TEXTS, "target": TEXTS}
        found = [
            ServedSignature("score", sides, log_p, True, self.score),
            ServedSignature("score_pieces", PAIR, of_pieces, False, self.score_pieces),
        ]
        both = {"source_pieces": PIECES, "target_pieces": PIECES}
        if can(self.engine.check_attention):
            weights = {"weights": Spec("float32", (None, None, None))}
            found.append(ServedSignature("align", PAIR, both | weights, False, self.align))
        if sizes := self.engine.attention_sizes():
            of_heads = {
                kind: Spec("float32", (None, *size, None, None)) for kind, size in sizes.items()
            }
            found.append(ServedSignature("attention", PAIR, both | of_heads, False, self.attention))
        return {each.name: each for each in found}

    def score(self, inputs):
        pairs = self.ids(inputs["source"], inputs["target"], LONGEST)
        scores = self.scorer.score_ids(*zip(*pairs, strict=True))
        return {"log_probabilities": np.array([each.log_p for each in scores], "float32")}

    def score_pieces(self, inputs):
        pairs = self.short_pairs(inputs)
        scores = self.scorer.score_ids(*zip(*pairs, strict=True))
        log_p = [np.asarray(each.token_log_p, "float32") for each in scores]
        target = stacked([target for _, target in pairs])
        pieces = self.pieces_of("target", target)
        return {"target_pieces": pieces, "log_probabilities": stacked(log_p)}

    def align(self, inputs):
        source, target = self.padded_pairs(inputs)
        return self.both_pieces(source, target) | {"weights": self.engine.attention(source, target)}

    def attention(self, inputs):
        source, target = self.padded_pairs(inputs)
        found = [self.engine.all_attention(*pair) for pair in zip(source, target, strict=True)]
        return self.both_pieces(source, target) | {
            kind: stacked([each[kind] for each in found]) for kind in found[0]
        }

    def both_pieces(self, source, target):
        return {
            "source_pieces": self.pieces_of("source", source),
            "target_pieces": self.pieces_of("target", target),
        }

    def pieces_of(self, side, ids):
        """Returns the pieces of padded ids as bytes; padding becomes empty."""
        if side not in self.pieces:
            of_side = getattr(self.tokenizer, side)
            pieces = of_side.pieces(range(of_side.size))
            pieces = [of_side.marks.get(id, piece) for id, piece in enumerate(pieces)]
            pieces[PADDING] = ""
            self.pieces[side] = np.array([piece.encode() for piece in pieces], object)
        return self.pieces[side][ids]

    def padded_pairs(self, inputs):
        source, target = zip(*self.short_pairs(inputs), strict=True)
        return stacked(source), stacked(target)

    def short_pairs(self, inputs):
        return self.ids(inputs["text"], inputs["translation"], ATTENTION_LONGEST)

    def ids(self, sources, targets, longest):
        """Returns a list of (source ids, target ids), including the end tokens.

        Args:
            sources, targets: arrays of bytes.
            longest: maximum number of tokens in each text.
        """
        longest = min(self.engine.longest or LONGEST, longest)
        sides = []
        for side, texts in (("source", sources), ("target", targets)):
            texts = [text.decode("utf-8", "replace") for text in texts.tolist()]
            found = getattr(self.tokenizer, side).encode(texts)
            sides.append([np.append(ids, END).astype("int32") for ids in found])
        if max(len(ids) for side in sides for ids in side) > longest:
            raise Refusal(
                400,
                f"The model rejects this input: a text must have at most {longest} tokens, "
                "including the end token",
            )
        return [*zip(*sides, strict=True)]
