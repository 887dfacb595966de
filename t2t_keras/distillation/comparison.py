"""Compares teachers and a student: score, time of a sentence and size, in each form they can take.

`compare` translates test sets by the package's commands, each translation being a stage that runs
once, and measures how long single sentences take. It writes a table and a picture.
"""

import datetime
from pathlib import Path
from typing import NamedTuple

from pipelines.atomic_files import atomic_file, read_json
from t2t_keras.checks import check, check_integer
from t2t_keras.distillation.lone_times import SENTENCES, lone_times
from t2t_keras.distillation.models import GivenModel
from t2t_keras.distillation.systems import SHOWN, Form, forms_of, systems_of
from t2t_keras.evaluation.bleu import Score, chrf, paired_bleu
from t2t_keras.processor import cores, processor_text
from t2t_keras.runs.text_files import read_lines, read_set
from t2t_keras.stages.once import once
from t2t_keras.stages.stages import Stages
from t2t_keras.stages.table_writer import number, write_table
from t2t_keras.visualization.scores_over_costs import Point, scores_over_costs

COSTS = ("milliseconds a sentence (one at a time, {}, median)", "MB of weights")
MEANINGS = ("filled: float32", "empty: other types", "small: greedy search", "large: beam search")


class Row(NamedTuple):
    """A line of the table: a form of a system on a test set."""

    form: Form
    test: str  # name of the test set
    # the `Score` by BLEU, with its interval and, unless this row is itself the teacher that others
    # are compared with, the p-value of the paired bootstrap
    bleu: Score
    chrf: Score
    milliseconds: float  # median time of a sentence that is translated alone
    teacher: object = None  # the first teacher's row that this one is compared with, or None

    @property
    def megabytes(self):
        return self.form.bytes / 1e6


def compare(teachers, student, tests, folder, threads=1, to=None):
    """Measures teachers and a student on test sets; returns the `Row`s.

    Writes `folder/comparison.md`, `.csv` and `.png`, and in `folder/comparison/` the translations,
    the exports that a run lacked, and the logs. To resume an interrupted call, repeat it; only what
    has changed is measured again.

    Args:
        teachers: folder of a run or of an export, or a list of runs, which are an ensemble; they
            are also measured alone.
        student: folder of a run, or of an export.
        tests: {name of a test set: (source file, file with reference translations)}.
        folder: folder to write to.
        threads: number of processor cores that time is measured with.
        to: tag or target language for teachers that translate into several languages.

    Raises:
        ValueError: if an argument is wrong, a file is missing or a translation fails.
    """
    check_integer("threads", threads)
    check(threads <= cores(), "threads", threads, f"at most {cores()}, the number of cores")
    check(bool(tests), "tests", tests, "a dict of at least one set")
    texts = {name: read_set(name, *files) for name, files in tests.items()}
    teachers = [teachers] if isinstance(teachers, str | Path) else teachers
    folder, notes = Path(folder), []
    work = folder / "comparison"
    work.mkdir(parents=True, exist_ok=True)
    forms = [
        form
        for system in systems_of(list(map(str, teachers)), student, to)
        for form in forms_of(system, work, notes)
    ]
    outputs = {
        (form.label, name): translated(form, name, source, work)
        for form in forms
        for name, (source, _) in tests.items()
    }
    times = timed(forms, {name: sources for name, (sources, _) in texts.items()}, threads, work)
    rows = []
    for name, (_, references) in texts.items():
        of_test = {form.label: read_lines(outputs[form.label, name]) for form in forms}
        rows += rows_of(name, forms, of_test, references, times)
    draw(folder / "comparison.png", rows, threads)
    notes += notes_on(rows, threads, times)
    write_table(folder / "comparison", list(map(cells_of, rows)), notes)
    return rows


def translated(form, test, source, work):
    """Translates a test set as a stage; returns the path of the translations."""
    stage = f"{form.label}-{test}"
    output = work / "translations" / stage
    output.parent.mkdir(exist_ok=True)
    flags = [f"--beam={form.beam}", "--split=off", f"--input={source}", f"--output={output}"]
    if form.engine == "tensorflow" and form.folders == form.system.folders:
        flags.append("--engine=tensorflow")
    if form.system.to:
        flags.append(f"--to={form.system.to}")
    Stages(work, "comparison").run_once(
        stage=stage,
        command="translate",
        arguments=[*form.folders, *flags],
        creates=output,
        reads=[source],
        depends_on=[GivenModel(folder).digest() for folder in form.folders],
    )
    return output


def timed(forms, tests, threads, work):
    """Returns {"milliseconds": as by `lone_times`, "date", "processor"}, measured once.

    Measures again only if anything that affects the times has changed.
    """
    stages, processor = read_json(work / "stages.json", {}), processor_text()

    def measure():
        milliseconds = lone_times(forms, tests, threads, work / "logs" / "times.log")
        facts = {"date": str(datetime.date.today()), "processor": processor}
        return facts | {"milliseconds": milliseconds}

    translations = [stages[f"{form.label}-{name}"] for form in forms for name in tests]
    return once(work / "times.json", [translations, threads, processor], measure)


def rows_of(test, forms, outputs, references, times):
    """Returns the `Row`s of a test set, in the order of the forms.

    Each form is compared with the first teacher on the same engine, with the same type of weights
    and its own beam width; if there is no such form, with the first form of that teacher.
    `outputs` are {label of a form: translations}; `times` as by `timed`.
    """
    own = [form for form in forms if form.system == forms[0].system and form.is_default]
    groups = {}
    for form in forms:
        same = [each for each in own if (each.engine, each.dtype) == (form.engine, form.dtype)]
        groups.setdefault((same or own)[0].label, []).append(form)
    rows = {}
    for label, group in groups.items():
        group.sort(key=lambda form: form.label != label)  # the teacher first
        scores = paired_bleu([outputs[form.label] for form in group], references)
        for form, score in zip(group, scores, strict=True):
            other = chrf(outputs[form.label], references)
            milliseconds = times["milliseconds"][form.label][test]
            rows[form.label] = Row(form, test, score, other, milliseconds, rows.get(label))
    return [rows[form.label] for form in forms]


def cells_of(row):
    cells = {
        "system": row.form.system.name,
        "test set": row.test,
        "engine": SHOWN[row.form.engine],
        "weights": row.form.dtype,
        "search": row.form.search,
        "BLEU": f"{row.bleu.score:.2f} ± {row.bleu.interval:.2f}",
        **dict.fromkeys(("− teacher", "p"), ""),
        "chrF": number(row.chrf.score),
        "ms": number(row.milliseconds),
        "speed-up": "",
        "MB": number(row.megabytes, ".1f"),
    }
    if row.teacher:
        cells["− teacher"] = f"{row.bleu.score - row.teacher.bleu.score:+.2f}"
        cells["p"] = number(row.bleu.p_value, ".3f")
        cells["speed-up"] = f"{row.teacher.milliseconds / row.milliseconds:.2f}"
    return cells


def notes_on(rows, threads, times):
    compared = {row.teacher.form.system.name for row in rows if row.teacher}
    yield (
        f"− teacher, p and speed-up: against {', '.join(compared)}, on the same engine with the "
        "same type of weights where there is one, with its own beam width. p is of a paired "
        "bootstrap test."
    )
    yield (
        f"ms: median of {SENTENCES} sentences, or all if fewer, translated one at a time with "
        f"{in_words(threads)}; {times['date']}, {times['processor']}. MB: size of the weights."
    )
    yield from dict.fromkeys(
        f"{score.name}: {score.signature}" for row in rows for score in (row.bleu, row.chrf)
    )


def in_words(threads):
    return "one thread" if threads == 1 else f"{threads} threads"


def draw(path, rows, threads):
    tests = {}
    for row in rows:
        point = Point(
            system=row.form.system.name,
            kind=SHOWN[row.form.engine],
            is_filled=row.form.dtype == "float32",
            is_large=row.form.beam > 1,
            costs=(row.milliseconds, row.megabytes),
            score=row.bleu.score,
        )
        tests.setdefault(row.test, []).append(point)
    costs = [label.format(in_words(threads)) for label in COSTS]
    with atomic_file(path) as file:
        scores_over_costs(file, tests, costs, "BLEU", MEANINGS)
