"""The sections of a report on a test set: scores, translations, confidence and attention."""

from typing import NamedTuple

from pipelines.progress import Progress
from t2t_keras.evaluation.bleu import SAMPLES, bleu, chrf, sentence_bleu
from t2t_keras.evaluation.by_length import bleu_by_length
from t2t_keras.evaluation.calibration import calibration, right_words
from t2t_keras.runs.attention import attention_heads
from t2t_keras.translating.sentences import on_one_line
from t2t_keras.translating.words import word_pieces
from t2t_keras.visualization.document import (
    bar,
    code,
    element,
    folded,
    paragraph,
    picture,
    section,
    table,
)
from t2t_keras.visualization.marked_words import marked
from t2t_keras.visualization.page import page
from t2t_keras.visualization.panels import Panel, draw_panels

LONGEST = 40  # maximum number of pieces in the attention example; more do not fit on a screen
EXAMPLES = {
    "Best": "Among equal scores, the longest sources.",
    "Middle": "Half of the remaining lines rank higher, half lower.",
    "Worst": "Often the reference differs in content, or is worded differently.",
    "All lines": "The test set has no other lines.",
}


class ExampleTranslation(NamedTuple):
    """A test sentence with its reference and the model's output."""

    line: int  # counted from 1
    score: float  # sentence BLEU
    source: str
    reference: str
    output: str


def translated_test_set(run, sources, references, name, examples, weights, **search):
    """Translates a test set. Returns its `Score`s, BLEU first, and the sections of the report.

    For the arguments, see `write_report`.
    """
    config = run.search(**search)
    with Progress("translating", len(sources), unit="lines") as progress:
        progress.to(0)
        options = {"split": "off", "confidence": True, **search}
        translator = run.translator(weights)
        translations = translator.best_of_each(sources, progress.to, **options)
    outputs = [on_one_line(each.text) for each in translations]
    columns = sentence_bleu(outputs, references), sources, references, outputs
    lines = [ExampleTranslation(i, *row) for i, row in enumerate(zip(*columns, strict=True), 1)]
    weights = weights or run.default_weights()
    shown = f"step {int(weights):,}" if weights.isdecimal() else weights
    how = "sampled" if config.method == "sample" else f"beam {config.beam}"
    scores = [metric(outputs, references, SAMPLES) for metric in (bleu, chrf)]
    groups = bleu_by_length(sources, outputs, references, SAMPLES)
    calibrated = calibration_of(run.tokenizer().target, translations, references)
    sections = [
        scores_section(f"{name} (weights: {shown}; {how}).", scores, groups),
        translations_section(chosen(lines, examples)),
        confidence_section(calibrated) if calibrated else None,
        attention_section(run, lines, weights),
    ]
    return scores, sections


def calibration_of(tokenizer, translations, references):
    """Returns the `Calibration` of the words of `Translation`s, or None if there are no words."""
    expected = tokenizer.encode(references) if references else []
    right = []
    for translation, ids in zip(translations, expected, strict=True):
        right += right_words(translation.words.target, word_pieces(tokenizer, ids).words)
    confidence = [word for each in translations for word in each.confidence]
    return calibration(confidence, right)


def chosen(lines, most):
    """Returns the best, middle and worst lines, or all lines if there are few.

    Among equal scores, long sources come first. No source occurs twice. A group has at most `most`
    lines. Returns {key of `EXAMPLES`: list of lines}.
    """
    different = {}
    for line in lines:
        different.setdefault(line.source, line)
    count = min(most, len(different) // 3)
    best = sorted(different.values(), key=lambda line: (-line.score, -len(line.source)))
    if not count:
        return {"All lines": best}
    worst = sorted(best[count:], key=lambda line: (line.score, -len(line.source)))
    middle = [line for line in best[count:] if line not in worst[:count]]
    start = (len(middle) - count) // 2
    return {"Best": best[:count], "Middle": middle[start : start + count], "Worst": worst[:count]}


def scores_section(name, scores, groups):
    rows = [
        [each.name, f"{each.score:.2f}{interval_of(each)}", f"{each.lines:,}", code(each.signature)]
        for each in scores
    ]
    best = max(group.score for group in groups) or 1
    lengths = [
        [
            f"{group.first}–{group.last}" if group.last else f"{group.first} and more",
            f"{group.lines:,}",
            f"{group.score:.1f}{interval_of(group)}",
            bar(group.score / best),
        ]
        for group in groups
    ]
    return section(
        "Scores",
        paragraph(name),
        table(["metric", "score", "lines", "signature"], rows, numbers=(1, 2)),
        paragraph(
            "BLEU measures how many words, and sequences of up to four words, the output shares "
            "with its reference, from 0 to 100; chrF does the same for characters. A good "
            "translation in different words scores low. Compare only scores of the same lines with "
            "the same signature. ± is the 95 % confidence interval, from bootstrap resampling of "
            "the lines.",
            class_="note",
        ),
        element("h3", "BLEU by source length"),
        table(["words", "lines", "BLEU", ""], lengths, numbers=(0, 1, 2)),
        paragraph(
            "Words are separated by spaces. The score of a small group is uncertain: see its "
            "interval. Groups of fewer than ten lines have none.",
            class_="note",
        ),
    )


def interval_of(score):
    return "" if score.interval is None else f" ± {score.interval:.1f}"


def translations_section(groups):
    parts = []
    for title, lines in groups.items():
        items = element("ul", *map(example, lines), class_="pairs")
        parts += [element("h3", title), paragraph(EXAMPLES[title]), items]
    return section(
        "Translations",
        paragraph(
            "Selected by sentence BLEU, which measures how closely a line matches its reference. A "
            "low score can mean a wrong translation, or a right one in different words. ",
            element("mark", "Marked"),
            " words of a reference and an output differ.",
        ),
        *parts,
    )


def example(line):
    number = element("small", f"line {line.line:,}")
    reference, output = marked(line.reference, line.output)
    sides = {"source": [line.source] * bool(line.source), "reference": reference, "output": output}
    texts = [
        element("p", element("small", side), element("bdi", *(parts or ["(empty)"])))
        for side, parts in sides.items()
    ]
    return element("li", element("div", f"{line.score:.1f}", number, class_="score"), *texts)


def confidence_section(calibrated):
    """Returns the section on the `Calibration` of a test set's words."""
    description = "Share of right words and number of words over the confidence"
    rows = [
        [
            f"{each.low:.0%} to {each.high:.0%}",
            f"{each.words:,}",
            f"{each.confidence:.1%}",
            f"{each.right:.1%}",
        ]
        for each in calibrated.bins
    ]
    return section(
        "Confidence",
        paragraph(
            "The confidence of a word is the smallest probability that the model gives to one of "
            "its pieces. If it is well calibrated, of the words with a confidence of 70 % about "
            "70 % are right: the points lie on the diagonal. Points below it mean too much "
            "confidence, points above it too little."
        ),
        paragraph(
            "The expected calibration error, the mean distance of a word's point from the "
            f"diagonal, is {100 * calibrated.error:.1f} % on {calibrated.words:,} words."
        ),
        picture(description, draw_panels, confidence_panels(calibrated.bins), (5.5, 3.6)),
        paragraph(
            "A word counts as right if its reference has it, at most as often as the reference has "
            "it. A right translation in different words counts as wrong, so the true shares are "
            "higher.",
            class_="note",
        ),
        folded("Table", table(["confidence", "words", "mean", "right"], rows, numbers=(1, 2, 3))),
    )


def confidence_panels(bins):
    ends = [(100 * each.low, 100 * each.high) for each in bins]
    shares = {100 * each.confidence: 100 * each.right for each in bins}
    lines = {"calibrated": {0: 0, 100: 100}, "measured": shares}
    bars = [(*end, 100 * each.right) for end, each in zip(ends, bins, strict=True)]
    counts = [(*end, each.words) for end, each in zip(ends, bins, strict=True)]
    return [
        Panel("share of right words, %", lines, "confidence, %", bars=bars),
        Panel("number of words", {}, "confidence, %", bars=counts),
    ]


def attention_section(run, lines, weights):
    """Returns the section on a sentence of median length, or None if all are too long.

    The median is computed over the sentences that are short enough.
    """
    tokenizer, model = run.tokenizer(), run.loaded(weights)
    longest, fitting = min(LONGEST, model.longest or LONGEST), []
    for line in sorted(lines, key=lambda line: len(line.source)):
        source = tokenizer.source.encode([line.source])[0].tolist()
        output = tokenizer.target.encode([line.output])[0].tolist()
        if source and max(len(source), len(output)) < longest:
            fitting.append((line, source, output))
    if not fitting or not any(model.config.attention_layers):
        return None
    line, source, output = fitting[len(fitting) // 2]
    heads = attention_heads(model, tokenizer, source, output)
    return section(
        "Attention",
        paragraph(
            f"The attention weights of every head on line {line.line:,}, a sentence of median "
            "length. For cross-attention, lines lead from each word of the translation (left) to "
            "the source words that the model attended to when it wrote that word (right)."
        ),
        element(
            "iframe",
            srcdoc=page(heads, line.source, line.output),
            title="Attention",
            height=420 + 25 * max(len(each.queries) for each in heads),
        ),
    )
