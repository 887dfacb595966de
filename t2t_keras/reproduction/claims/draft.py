"""How much a draft makes greedy search less sequential (§7); see decoding/drafted_search.py."""

import functools
import operator

from t2t_keras.reproduction.claims.finding import Finding
from t2t_keras.reproduction.claims.toy_runs import analysed
from t2t_keras.reproduction.timing import median_seconds
from t2t_keras.stages.table_writer import number
from t2t_keras.visualization.panels import Panel

TEACHER = {
    "model.d_model": 512,
    "model.d_ff": 2048,
    "model.num_layers": 2,
    "model.decoder_layers": 6,
    "training.learning_rate": 0.3,
}
STUDENT = {"model.decoder_layers": 1}
LINES, ROUNDS = 100, 3


def finding(toy_runs):
    teacher, student = (
        toy_runs.trained(f"draft-{name}", changes)
        for name, changes in (("teacher", TEACHER), ("student", STUDENT))
    )
    lines = toy_runs.text.dev[0].read_text("utf-8").splitlines()[:LINES]
    steps = student.experiment().training.steps
    key = {"lines": lines, "rounds": ROUNDS, "draft": student.evaluations(required=True)[-1]}
    measured = analysed(teacher, "draft", measure, key, str(student.folder), steps, lines)
    rows = [row(each, measured[0]) for each in measured]
    counted = [each for each in measured if each["proposals"]]
    return Finding(
        title="Several tokens for one step",
        claim="Making generation less sequential is another research goals of ours (§7)",
        tables={"draft": rows},
        panels=[
            Panel(
                "tokens per step of the model",
                {
                    "measured": {each["proposals"]: tokens_per_step(each) for each in counted},
                    "formula": {each["proposals"]: expected(each) for each in counted},
                },
                "proposals k",
            ),
            Panel(
                "milliseconds for a line",
                {
                    "with the draft": {each["proposals"]: each["milliseconds"] for each in counted},
                    "greedy search": dict.fromkeys(
                        (each["proposals"] for each in counted), measured[0]["milliseconds"]
                    ),
                },
                "proposals k",
            ),
        ],
        notes=[
            f"Median of {ROUNDS} rounds over {len(lines)} held-out lines, one by one, with LiteRT "
            "and int8. k = 0 is greedy search without the draft.",
            "The model has base width and 6 decoder layers, the draft d_model 128 and 1. "
            + toy_runs.training_note(),
        ],
    )


def measure(folder, _, student, steps, lines):
    """Returns the measurements of greedy search and of each number of proposals, as dicts."""
    from t2t_keras.export.formats import STEPS
    from t2t_keras.runs.open_engine import load_translator
    from t2t_keras.runs.run import Run

    exports = [
        Run(each).export(format="litert", dtype="int8", beam=1) for each in (folder, student)
    ]
    translator = load_translator(exports[0], draft=exports[1])
    engine, draft = translator.engine, translator.engine.draft
    found = {}

    def translate(proposals):
        seen = []  # (proposed, accepted) of each step
        engine.draft, draft.count = draft if proposals else None, lambda _: proposals
        draft.learn = lambda _, *numbers: seen.append(numbers)
        found[proposals] = [translator.translations([line])[0][0] for line in lines], seen

    calls = {count: functools.partial(translate, count) for count in range(STEPS)}
    seconds = median_seconds(calls.values(), ROUNDS, warm_up=1)
    texts = {
        count: [each.text for each in translations] for count, (translations, _) in found.items()
    }
    return [
        {
            "proposals": count,
            "equal": sum(map(operator.eq, texts[count], texts[0])),
            "tokens": sum(len(ids) for each in translations for _, ids in each.parts),
            "seen": seen,
            "milliseconds": 1e3 * time / len(lines),
        }
        for (count, (translations, seen)), time in zip(found.items(), seconds, strict=True)
    ]


def row(measured, plain):
    proposals = measured["proposals"]
    ratio = plain["milliseconds"] / measured["milliseconds"]
    return {
        "k": str(proposals),
        "accepted": f"{agreement(measured):.1%}" if proposals else "",
        "tokens per step": number(tokens_per_step(measured), ".2f") if proposals else "1.00",
        "ms per line": number(measured["milliseconds"], ".2f"),
        "speed": number(ratio, ".2f"),
        "equal lines": str(measured["equal"]),
    }


def tokens_per_step(measured):
    return measured["tokens"] / len(measured["seen"])


def agreement(measured):
    """Returns a, the share of proposals that the model accepts if it accepts those before them."""
    judged = sum(min(accepted + 1, proposed) for proposed, accepted in measured["seen"])
    return sum(accepted for _, accepted in measured["seen"]) / judged


def expected(measured):
    """Returns the formula's number of tokens per step."""
    a, k = agreement(measured), measured["proposals"]
    return (1 - a ** (k + 1)) / (1 - a) if a < 1 else k + 1
