"""The comparison of teachers and student: which rows are compared, the files, and wrong input."""

import csv

import pytest

from pipelines.toy.grammar import pairs
from t2t_keras.distillation.comparison import cells_of, compare, notes_on, rows_of
from t2t_keras.distillation.systems import Form, System
from t2t_keras.stages.table_writer import write_table

SOURCES, REFERENCES = (list(side) for side in zip(*pairs(40, "test"), strict=True))
WORSE = [line.replace("d", "t") for line in REFERENCES]


def form(system, engine="litert", dtype="float32", beam=4, size=2_000_000):
    return Form(System(system, system, [system]), [], engine, dtype, beam, beam > 1, size)


def rows(*forms, worse=()):
    """Returns the rows of forms, which translate perfectly unless their labels are in `worse`."""
    outputs = {each.label: WORSE if each.label in worse else REFERENCES for each in forms}
    times = {"milliseconds": {each.label: {"toy": 3.0 * each.beam} for each in forms}}
    return rows_of("toy", list(forms), outputs, REFERENCES, times)


def test_a_row_is_compared_with_the_teacher_on_the_same_engine_in_the_same_type():
    teachers = [form("teacher"), form("teacher", beam=1), form("teacher", dtype="int8")]
    students = [form("student", beam=1), form("student", dtype="int8", beam=1)]
    other = form("student", engine="ctranslate2")
    found = rows(*teachers, *students, other)
    compared = [row.teacher and row.teacher.form.label for row in found]
    first, _, int8 = (each.label for each in teachers)
    assert compared == [None, first, None, first, int8, first]
    assert [row.form for row in found] == [*teachers, *students, other], "the order is kept"


def test_worse_translations_have_a_small_p_value_and_equal_ones_have_1():
    teacher, student = form("teacher"), form("student", beam=1)
    _, equal = rows(teacher, student)
    assert equal.bleu.p_value == 1 and equal.bleu.score == pytest.approx(100)
    first, worse = rows(teacher, student, worse=[student.label])
    assert worse.bleu.p_value < 0.01 and worse.chrf.score < first.chrf.score
    assert first.bleu.p_value is None and worse.teacher.bleu.score == first.bleu.score


def test_the_table_has_scores_times_and_sizes(tmp_path):
    teacher, student = form("teacher"), form("student", dtype="int8", beam=1, size=512_000)
    found = rows(teacher, student, worse=[student.label])
    notes = list(notes_on(found, 1, {"date": "2026-11-26", "processor": "2 cores"}))
    write_table(tmp_path / "table", list(map(cells_of, found)), notes)
    one, two = csv.DictReader((tmp_path / "table.csv").read_text().splitlines())
    assert one["BLEU"] == "100.00 ± 0.00" and one["− teacher"] == one["p"] == one["speed-up"] == ""
    assert two["− teacher"] == f"{found[1].bleu.score - 100:+.2f}" and two["p"] == "0.001"
    assert (two["ms"], two["speed-up"], two["MB"]) == ("3.00", "4.00", "0.5")
    assert (two["engine"], two["weights"], two["search"]) == ("LiteRT", "int8", "greedy")
    text = (tmp_path / "table.md").read_text()
    assert "against teacher" in text and "with one thread; 2026-11-26, 2 cores" in text
    assert "tok:13a" in text and "nc:6" in text


TESTS = {"toy": ("toy.en", "toy.de")}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"threads": 0}, "`threads` must be a whole number of at least 1"),
        ({"tests": {"a": ("none.en", "none.de")}}, "a: there is no file none.en"),
        ({"tests": {"a": ("toy.en", "short.de")}}, "lines. Received: 40 in toy.en and 1 in short"),
        ({"tests": {"a": ("empty.en", "empty.en")}}, "a: empty.en has no text"),
    ],
)
def test_wrong_arguments_are_refused_before_any_writing(changes, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_toy(tmp_path)
    (tmp_path / "short.de").write_text("Ein Satz.\n")
    (tmp_path / "empty.en").write_text("\n \n")
    arguments = {"teachers": "teacher", "student": "small", "tests": TESTS} | changes
    with pytest.raises(ValueError, match=message):
        compare(**arguments, folder=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def write_toy(folder):
    for name, lines in (("toy.en", SOURCES), ("toy.de", REFERENCES)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
