"""Texts that are translated sentence by sentence, and their joined translations.

The function that splits texts is an argument. It returns the sentences of a text and the separators
between them. A language code such as >>de<< before a text applies to all of its sentences.
"""

import unicodedata


def whole(text):
    """Splits nothing: the text is one sentence."""
    return [text], []


def with_codes(sentences, split_code):
    """Puts a language code before each sentence that has none: the last one before it in the text.

    Args:
        sentences: the sentences of a text.
        split_code: function from a sentence to the language code at its beginning, or "", and the
            rest.
    """
    code, coded = "", []
    for sentence in sentences:
        own, _ = split_code(sentence)
        coded.append(f"{code} {sentence}" if code and not own else sentence)
        code = own or code
    return coded


def joined_sentences(sentences, separators):
    """Joins the translations of a text's sentences by rank: all best ones, all second-best ones, …

    Args:
        sentences: for each sentence, its `Translation`s, best first.
        separators: the texts between the sentences.

    Returns:
        `Translation`s of the text, whose scores are the sums of the sentences' scores. The only
        sentence of a text keeps its translations.
    """
    if len(sentences) == 1:
        return sentences[0]
    return [joined(ranked, separators) for ranked in zip(*sentences, strict=False)]


def joined(translations, separators):
    """Joins one `Translation` of each sentence."""
    return translations[0]._replace(
        text=joined_texts([each.text for each in translations], separators),
        score=sum(each.score for each in translations),
        parts=[part for each in translations for part in each.parts],
    )


def joined_texts(texts, separators):
    """Joins the translations of sentences, given as strings."""
    texts = [on_one_line(text) for text in texts]
    joined = texts[0]
    for before, separator, after in zip(texts, separators, texts[1:], strict=False):
        joined += (separator or space_after(before)) + after
    return joined


def on_one_line(text):
    """Replaces line breaks with spaces: a model may write them as byte pieces."""
    return text.replace("\r", " ").replace("\n", " ")


def space_after(text):
    """Returns the separator after a sentence whose source had none after it, as in Chinese."""
    return "" if not text or is_wide(text[-1]) else " "


def is_wide(character):
    """Returns whether a character is as wide as a Chinese one, so that no space follows it."""
    return unicodedata.east_asian_width(character) in "FWH"
