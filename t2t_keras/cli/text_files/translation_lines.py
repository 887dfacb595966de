"""The lines that t2t-translate writes."""

import json
from typing import NamedTuple

from absl import flags

SCORES = flags.DEFINE_bool("scores", False, "Write each translation's score and a tab before it.")
JSON = flags.DEFINE_bool("json", False, "Write a JSON object per input line, with scores.")


class Style(NamedTuple):
    """The values of flags, for workers, which have no flags.

    Args:
        scores, json, alignments: values of --scores, --json and --alignments.
        lines: number of lines for each input line without --json.
    """

    scores: bool
    json: bool
    alignments: bool
    lines: int


def lines_of(texts, results, style):
    """Returns the output for texts, in bytes.

    Args:
        texts: the input lines.
        results: the `Translation`s of each, best first.
        style: a `Style`.
    """
    pairs = zip(texts, results, strict=True)
    lines = [line for text, found in pairs for line in formatted(text, found, style)]
    return "".join(f"{line}\n" for line in lines).encode()


def formatted(text, translations, style):
    """Returns the output lines for one input line, without line breaks.

    In lines with several columns, tabs in a translation become spaces.
    """
    from t2t_keras.translating.sentences import on_one_line

    if style.json:
        objects = []
        for each in translations:
            translation = {"text": on_one_line(each.text), "score": each.score}
            if style.alignments:
                translation["alignment"] = each.alignment
            if each.confidence is not None:
                translation["confidence"] = [round(word, 4) for word in each.confidence]
            objects.append(translation)
        return [json.dumps({"source": text, "translations": objects}, ensure_ascii=False)]
    lines = []
    for each in translations:
        score = [f"{each.score:.4f}"] if style.scores else []
        pairs = [" ".join(f"{i}-{j}" for i, j in each.alignment)] if style.alignments else []
        text = on_one_line(each.text)
        if score or pairs:
            text = text.replace("\t", " ")
        lines.append("\t".join([*score, text, *pairs]))
    return lines + [""] * (style.lines - len(lines))
