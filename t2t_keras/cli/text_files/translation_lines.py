"""The lines that t2t-translate writes."""

import json

from absl import flags

SCORES = flags.DEFINE_bool("scores", False, "Write each translation's score and a tab before it.")
JSON = flags.DEFINE_bool("json", False, "Write a JSON object per input line, with scores.")


def lines_of(texts, results, **style):
    """Returns the output for texts and the `Translation`s of each, in bytes; see `formatted`."""
    pairs = zip(texts, results, strict=True)
    lines = [line for text, found in pairs for line in formatted(text, found, **style)]
    return "".join(f"{line}\n" for line in lines).encode()


def formatted(text, translations, scores, as_json, alignments, count):
    """Returns the output lines for one input line, which are `count` without JSON.

    In lines with several columns, tabs in a translation become spaces.
    """
    from t2t_keras.translating.sentences import on_one_line

    if as_json:
        objects = []
        for each in translations:
            translation = {"text": on_one_line(each.text), "score": each.score}
            if alignments:
                translation["alignment"] = each.alignment
            if each.confidence is not None:
                translation["confidence"] = [round(word, 4) for word in each.confidence]
            objects.append(translation)
        return [json.dumps({"source": text, "translations": objects}, ensure_ascii=False)]
    lines = []
    for each in translations:
        score = [f"{each.score:.4f}"] if scores else []
        pairs = [" ".join(f"{i}-{j}" for i, j in each.alignment)] if alignments else []
        text = on_one_line(each.text)
        if score or pairs:
            text = text.replace("\t", " ")
        lines.append("\t".join([*score, text, *pairs]))
    return lines + [""] * (count - len(lines))
