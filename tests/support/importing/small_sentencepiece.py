"""Small SentencePiece models, trained in a moment."""

import functools
import io

import sentencepiece

from pipelines.toy.grammar import pairs

TEXTS = [text for pair in pairs(300) for text in pair]


@functools.cache
def unigram_model(size, **options):
    """Returns the bytes of a model of the kind that Marian models use, trained on `TEXTS`."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS),
        model_writer=model,
        vocab_size=size,
        model_type="unigram",
        normalization_rule_name="nmt_nfkc",
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def pieces_of(model):
    """Returns the text of each id of a model."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(id) for id in range(processor.get_piece_size())]
