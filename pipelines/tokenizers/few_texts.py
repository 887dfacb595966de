"""Calls of SentencePiece that start no threads for a few texts.

SentencePiece starts its threads anew in each call with a list, which takes as long as encoding or
decoding about thirty sentences.
"""

FEW = 32  # maximum number of texts that one thread encodes or decodes


def encoded(processor, texts, out_type=int):
    """Returns the ids of each text, or with `out_type=str` the pieces.

    Args:
        processor: a `SentencePieceProcessor`.
        texts: a list of normalized texts.
    """
    if len(texts) <= FEW:
        return [processor.encode(text, out_type=out_type) for text in texts]
    return processor.encode(texts, out_type=out_type, num_threads=-1)


def decoded(processor, sequences):
    """Returns the text of each list of ids."""
    if len(sequences) <= FEW:
        return [processor.decode(ids) if ids else "" for ids in sequences]
    return processor.decode(sequences)
