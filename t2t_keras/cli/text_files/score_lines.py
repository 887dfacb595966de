"""The scores of t2t-evaluate as lines of text, or as an object of JSON."""

import json
import math

# Fields of a `Bracketing`, and their names in a table if they differ.
BRACKETING = ("precision", "recall", "f1", "complete_match", "average_crossing")
BRACKETING += ("tagging_accuracy", "sentences", "skipped", "failed")
NAMES = {"f1": "F1", "skipped": "only punctuation"}


def show_scores(result, against=None):
    """Prints the scores of an `Evaluation`, and of the second system in the file `against`."""
    for title, scores in (("", result.scores), (f"against {against}:\n", result.against)):
        print(title if scores else "", end="")
        for score in scores or ():
            interval = "" if score.interval is None else f" ± {score.interval:.2f}"
            p_value = "" if score.p_value is None else f", p = {score.p_value:.4f}"
            print(f"{score.name:<12} {score.score:6.2f}{interval}{p_value}  {score.lines:,} lines")
            print(f"             {score.signature}")


def show_scores_as_json(result, files):
    """Prints the scores of an `Evaluation` and the names of the files as one object."""
    contents = {"scores": [*map(object_of, result.scores)], "files": files}
    if result.against is not None:
        contents["against"] = [*map(object_of, result.against)]
    print(json.dumps(contents, ensure_ascii=False))


def object_of(score):
    """Returns the fields of a `Score` that it has."""
    return {name: json_number(x) for name, x in score._asdict().items() if x is not None}


def json_number(value):
    """Returns a NumPy number as a Python one, and NaN as None. Other values are unchanged."""
    if isinstance(value, str | int):
        return value
    return float(value) if math.isfinite(value) else None


def show_brackets(result, files=None):
    """Prints the scores of a `ParseEvaluation`: a table, or an object with the names of `files`."""
    from t2t_keras.evaluation.bracketing import SHORT

    rows = {field: [getattr(score, field) for score in result.scores] for field in BRACKETING}
    if not result.scores[0].tagged:  # if every leaf is XX, tagging accuracy has no meaning
        del rows["tagging_accuracy"]
    if result.repaired is not None:
        rows["repaired"] = result.repaired
    if files is not None:
        groups = [
            {field: json_number(values[index]) for field, values in rows.items()}
            for index in range(len(result.scores))
        ]
        contents = {"all": groups[0], f"at most {SHORT} words": groups[1], "files": files}
        print(json.dumps(contents, ensure_ascii=False))
        return
    print(f"{'':<16}", *(f"{title:>12}" for title in ("all", f"≤ {SHORT} words")))
    for field, values in rows.items():
        if field != "skipped" or values[0]:
            form = "," if isinstance(values[0], int) else ".2f"
            name = NAMES.get(field, field.replace("_", " "))
            print(f"{name:<16}", *(f"{value:>12{form}}" for value in values))
    print("labeled brackets as EVALB counts them with COLLINS.prm; a failed parse has none")
