"""The lines that t2t-translate writes."""

import json
from typing import NamedTuple

from absl import flags

SCORES = flags.DEFINE_bool("scores", False, "Write each translation's score and a tab before it.")
JSON = flags.DEFINE_bool("json", False, "Write a JSON object per input line, with scores.")


class Style(NamedTuple):
    """The values of --scores and --json, for workers, which have no flags."""

    scores: bool
    json: bool


def given_style():
    """Returns the `Style` that the flags say."""
    return Style(SCORES.value, JSON.value)


def lines_of(texts, results, model, style):
    """Returns the output for texts, in bytes."""
    from t2t_keras.translating.text_error import TextError, in_text

    lines, confidence = [], None
    if model.confidence:
        text_of = [index for index, translations in enumerate(results) for _ in translations]
        all_of_them = [each for translations in results for each in translations]
        try:
            confidence = iter(model.confidence(all_of_them))
        except TextError as error:
            raise TextError(text_of[error.index], str(error)) from error
    for index, (text, translations) in enumerate(zip(texts, results, strict=True)):
        with in_text(index):
            lines += formatted(text, translations, model.n_best, model.align, style, confidence)
    return "".join(f"{line}\n" for line in lines).encode()


def formatted(text, translations, n_best, align, style, confidence=None):
    """Returns the output lines for one input line, without line breaks.

    In lines with several columns, a tab of a translation becomes a space.

    Args:
        text: the input line.
        translations: its `Translation`s.
        n_best: number of lines without --json.
        align: see `Model`.
        style: a `Style`.
        confidence: iterator of the confidence of the words of each translation. None: omit it.
    """
    from t2t_keras.translating.sentences import on_one_line

    if style.json:
        objects = []
        for each in translations:
            translation = {"text": on_one_line(each.text), "score": each.score}
            if align:
                translation["alignment"] = align(each)
            if confidence:
                translation["confidence"] = [round(word, 4) for word in next(confidence)]
            objects.append(translation)
        return [json.dumps({"source": text, "translations": objects}, ensure_ascii=False)]
    lines = []
    for each in translations:
        score = [f"{each.score:.4f}"] if style.scores else []
        pairs = [" ".join(f"{i}-{j}" for i, j in align(each))] if align else []
        text = on_one_line(each.text)
        if score or pairs:
            text = text.replace("\t", " ")
        lines.append("\t".join([*score, text, *pairs]))
    return lines + [""] * (n_best - len(lines))
