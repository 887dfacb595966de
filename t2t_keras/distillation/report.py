"""The report of a distillation: what became of the texts, the training, and the comparison."""

import datetime

from pipelines.atomic_files import read_json, write_text
from pipelines.preparation.report import dropped_text, line_of
from pipelines.text.cleaning_rules import RULES
from t2t_keras.runs.run_folder import RunFolder

EXAMPLES = 3  # dropped pairs that are shown for each reason
LEFT_OUT = {
    "empty": "empty",
    "too_long": "too long",
    "duplicates": "duplicates",
    "invalid_utf8": "not UTF-8",
}


def write_report(plan, data):
    """Writes `report.md` to the student's folder and returns it; `data` is its --data."""
    lines = [f"# {plan.run}", "", f"Teacher: {', '.join(plan.teachers)}", ""]
    lines += [f"- {line}" for line in (*text_lines(plan), *student_lines(plan, data))]
    comparison = plan.folder / "comparison.md"
    if plan.tests and comparison.exists():
        lines += ["", "## Comparison", "", comparison.read_text(encoding="utf-8").rstrip("\n")]
    lines += example_lines(read_json(plan.texts_folder / "data" / "report.json"))
    lines += ["", f"{datetime.date.today()}" + (f", `{plan.command}`" if plan.command else "")]
    text = "\n".join(lines) + "\n"
    write_text(plan.folder / "report.md", text)
    return text


def text_lines(plan):
    """Yields a line about each step from the sources to the prepared data."""
    folder = plan.texts_folder
    for name, given in (("real", plan.data), ("mono", plan.mono)):
        if not given:
            continue
        counts = read_json(folder / "texts" / f"{name}.json")
        left_out = [f"{counts[key]:,} {text}" for key, text in LEFT_OUT.items() if counts.get(key)]
        yield (
            f"{name} text, {given}: {counts.get('written', 0):,} sentences; left out: "
            f"{', '.join(left_out) or 'nothing'}"
        )
        if counts.get("unknown"):
            yield f"{counts['unknown']:,} of them have pieces that their vocabulary lacks (⁇)"
    if plan.choose == "reference":
        yield f"of {plan.n_best} translations, the one closest to the reference was chosen"
    report, prepared = (
        read_json(folder / "data" / f"{name}.json") for name in ("report", "preparation")
    )
    yield (
        f"translations: {report['counts']['kept']:,} of {report['counts']['read']:,} kept; dropped:"
        f" {dropped_text(report['counts'])}; vocabulary of {report['vocabulary']['size']:,} pieces"
    )
    if plan.ratio:
        yield (
            "median ratio of the lengths of translations and sources, in characters: "
            f"{prepared['cleaning']['length_ratio']:.2f}"
        )
    if plan.reverse:
        yield f"low score: log P per piece of the source by {plan.reverse}, the best {plan.keep:g}"


def student_lines(plan, data):
    run = RunFolder(plan.run)
    record = run.averaged.record() or {}
    step = max([*run.checkpoints.steps(), *(record.get("steps") or ())], default=0)
    yield f"trained on {data} to step {step:,}; weights: {run.default_weights()}"
    for name, facts in record.get("bleu", {}).items():
        yield f"BLEU on the held-out text{name and f' {name}'}: {facts['score']:.1f}"


def example_lines(report):
    """Yields a few random examples of the translations that each rule dropped."""
    for name, rule in RULES.items():
        for number, (source, target) in enumerate(report["examples"].get(name, ())[:EXAMPLES]):
            if not number:
                yield from ("", f"Examples, {rule.reason}:", "")
            yield f"    {line_of(source)}"
            yield f"      → {line_of(target)}"
