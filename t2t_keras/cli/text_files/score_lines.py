"""The scores of t2t-evaluate as lines of text, or as an object of JSON."""

import json
import math


def show_scores(result, against=None):
    """Prints the scores of an `Evaluation`.

    Args:
        result: an `Evaluation`.
        against: name of the second system, or None.
    """
    show_lines(result.scores)
    if result.against is not None:
        print(f"against {against}:")
        show_lines(result.against)


def show_lines(scores):
    for score in scores:
        interval = "" if score.interval is None else f" ± {score.interval:.2f}"
        p_value = "" if score.p_value is None else f", p = {score.p_value:.4f}"
        print(f"{score.name:<12} {score.score:6.2f}{interval}{p_value}  {score.lines:,} lines")
        print(f"             {score.signature}")


def show_scores_as_json(result, files):
    """Prints the scores of an `Evaluation` and the names of the files as one object."""
    contents = {"scores": list(map(object_of, result.scores)), "files": files}
    if result.against is not None:
        contents["against"] = list(map(object_of, result.against))
    show_json(contents)


def object_of(score):
    """Returns the fields of a `Score` that it has."""
    fields = {name: value for name, value in score._asdict().items() if value is not None}
    return {name: json_number(value) for name, value in fields.items()}


def json_number(value):
    """Returns a NumPy number as a Python one, and NaN as None. Other values are unchanged."""
    if isinstance(value, str | int):
        return value
    return float(value) if math.isfinite(value) else None


def show_json(contents):
    print(json.dumps(contents, ensure_ascii=False))


def show_brackets(result):
    """Prints a table with columns for all sentences and for the short ones."""
    from t2t_keras.evaluation.bracketing import SHORT

    scores = result.scores
    rows = [
        ("precision", ".2f", [score.precision for score in scores]),
        ("recall", ".2f", [score.recall for score in scores]),
        ("F1", ".2f", [score.f1 for score in scores]),
        ("complete match", ".2f", [score.complete_match for score in scores]),
        ("average crossing", ".2f", [score.average_crossing for score in scores]),
    ]
    if scores[0].tagged:  # if every leaf is XX, tagging accuracy has no meaning
        rows.append(("tagging accuracy", ".2f", [score.tagging_accuracy for score in scores]))
    rows.append(("sentences", ",", [score.sentences for score in scores]))
    if scores[0].skipped:
        rows.append(("only punctuation", ",", [score.skipped for score in scores]))
    rows.append(("failed", ",", [score.failed for score in scores]))
    if result.repaired is not None:
        rows.append(("repaired", ",", result.repaired))
    print(f"{'':<16}", *(f"{title:>12}" for title in ("all", f"≤ {SHORT} words")))
    for name, form, values in rows:
        print(f"{name:<16}", *(f"{value:>12{form}}" for value in values))
    print("labeled brackets as EVALB counts them with COLLINS.prm; a failed parse has none")


def show_brackets_as_json(result, files):
    """Prints the scores of a `ParseEvaluation` and the names of the files as one object."""
    from t2t_keras.evaluation.bracketing import SHORT

    fields = ("precision", "recall", "f1", "complete_match", "average_crossing", "tagging_accuracy")
    fields += ("sentences", "skipped", "failed")
    groups = []
    for index, score in enumerate(result.scores):
        group = {name: json_number(getattr(score, name)) for name in fields}
        if not score.tagged:
            del group["tagging_accuracy"]
        if result.repaired is not None:
            group["repaired"] = result.repaired[index]
        groups.append(group)
    show_json({"all": groups[0], f"at most {SHORT} words": groups[1], "files": files})
