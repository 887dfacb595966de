"""Translating with a SavedModel instead of a run, without Keras."""

import math

import tensorflow as tf

from pipelines.sources import digest_of
from pipelines.special_ids import END
from pipelines.tags import tagged
from pipelines.tokenizers import load_tokenizer
from t2t_keras.decoding.sentences import joined_sentences, whole
from t2t_keras.decoding.translator import Translation
from t2t_keras.export.loading import load
from t2t_keras.export.signature_constants import ALIGN, ATTENTION_LONGEST, NO_SCORE
from t2t_keras.export.signature_graphs import SignatureGraphs
from t2t_keras.export.small_batches import SmallBatches
from t2t_keras.runs.export_folders import search_of, tag_of
from t2t_keras.runs.word_links import word_aligner

BATCH = 256  # texts per call of an exported model


class Export:
    """A SavedModel written by t2t-export that takes and returns text.

    Args:
        folder: the SavedModel's folder.
    """

    def __init__(self, folder):
        # On a GPU, each graph might place the shared variables differently.
        gpus = tf.config.list_physical_devices("GPU")
        self.model = load(folder) if gpus else SignatureGraphs(folder)  # keeps its variables alive
        signatures = self.model.signatures if gpus else self.model
        config = search_of(folder)
        if config is None or "attention" not in signatures:
            raise ValueError(
                f"{folder} is not a SavedModel that takes text. Write one with t2t-export RUN, "
                "without --ids_only"
            )
        self.folder, self.config = folder, config
        self.signatures, self.signature = signatures, signatures["translate_n_best"]
        self.small = SmallBatches(signatures)

    def digest(self):
        """Returns a digest of all files of the export."""
        return digest_of(sorted(path for path in self.folder.rglob("*") if path.is_file()))

    def translate(self, texts, on_progress=lambda count: None, split=whole):
        """Returns the n-best `Translation`s of each text, like `Translator.translate`."""
        divided = [split(text) for text in texts]
        flat = [sentence for sentences, _ in divided for sentence in sentences]
        translated = iter(
            self.translate_sentences(
                flat, lambda count: on_progress(len(texts) * count // len(flat))
            )
        )
        return [
            joined_sentences([next(translated) for _ in sentences], separators)
            for sentences, separators in divided
        ]

    def aligner(self):
        """Returns a function from a `Translation` to its (source word, target word) indices.

        It reads the translation's text again. Its pieces are those that the model has written,
        unless the model splits a word differently than the vocabulary.
        """
        if ALIGN not in self.signatures:
            raise ValueError(
                f"{self.folder} cannot align words: an earlier version wrote it. Export the run "
                "again with t2t-export"
            )
        tokenizer = tagged(load_tokenizer(self.folder / "vocabulary"), tag_of(self.folder))
        align = self.signatures[ALIGN]
        sides = tokenizer.source, tokenizer.target

        def ids(part):
            pair = [[*side.encode([text])[0], END] for side, text in zip(sides, part, strict=True)]
            if max(map(len, pair)) > ATTENTION_LONGEST:
                raise ValueError(
                    f"--alignments with an export takes sentences of less than {ATTENTION_LONGEST} "
                    f"pieces. Received: {part[0][:60]!r}… with {len(pair[0]) - 1}, and "
                    f"{len(pair[1]) - 1} in its translation. Give the run, which has no such limit"
                )
            return pair

        def weights(part):
            text, translation = (tf.constant([each]) for each in part)
            return align(text=text, translation=translation)["weights"][0].numpy()

        return word_aligner(tokenizer, weights, ids)

    def translate_sentences(self, texts, on_progress):
        """Returns the n-best `Translation`s of each sentence."""
        results = []
        for start in range(0, len(texts), BATCH):
            outputs = self.small.translate(texts[start : start + BATCH], self.translate_batch)
            translations, scores = (outputs[name].tolist() for name in ("translations", "scores"))
            sources = texts[start : start + BATCH]
            for source, *row in zip(sources, translations, scores, strict=True):
                results.append(
                    [
                        Translation(text.decode(), score, [(source, text.decode())])
                        for text, score in zip(*row, strict=True)
                        if not math.isclose(score, NO_SCORE)
                    ]
                )
            on_progress(len(results))
        return results

    def translate_batch(self, texts):
        """Returns `translations` and `scores` as arrays."""
        outputs = self.signature(text=tf.constant(texts))
        return {name: outputs[name].numpy() for name in ("translations", "scores")}
