"""The stages of a distillation, from the sources to the report (Kim and Rush 2016).

Texts, translations and prepared data are in the texts folder; the log of the training, the
comparison and the report are in RUN/distillation.

    TEXTS/
      texts/        real.txt, real_target.txt, mono.txt: the sources; see `source_texts.py`
      translated/   real.txt, mono.txt: the teacher's translations, line by line
      chosen/       real.txt: those closest to the references, with --choose=reference
      filtered/     pairs.tsv: the pairs that were kept
      data/         the prepared pairs; real_data/: the real pairs, if they need a new vocabulary
"""

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.atomic_files import digest, json_digest, locked_folder, read_json
from pipelines.batches.id_store import contents_of
from pipelines.text.file_lists import find_files
from pipelines.text.normalization import Normalization
from pipelines.text.sources import digest_of
from pipelines.tokenizers import load_tokenizer
from t2t_keras.distillation import choosing, filtering
from t2t_keras.distillation.estimate import estimate
from t2t_keras.distillation.models import GivenModel, check_directions, given_teachers
from t2t_keras.distillation.report import write_report
from t2t_keras.distillation.source_texts import write_mono, write_real
from t2t_keras.distillation.student_record import check_student, check_texts, record_student
from t2t_keras.experiment import Experiment
from t2t_keras.runs.exports.engine_choice import NoExport, fitting
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.runs.settings_file import write_settings
from t2t_keras.runs.training.run_start import check_folder
from t2t_keras.stages.stages import Stages

NAME = "distillation"  # name of the stages in messages
DTYPES = ("float32", "int8")  # types of the student's exports for LiteRT
# Settings of the plan that the prepared text depends on, besides the files that they name.
OF_TEXTS = (
    *("to", "engine", "dtype", "beam", "choose", "n_best", "apache_beam"),
    *("ratio", "repetitions", "keep", "vocabulary"),
)


class Inputs(NamedTuple):
    """What a distillation starts from.

    Args:
        teachers: list of `GivenModel`s.
        reverse: the `GivenModel` of --reverse, or None.
        languages: the `Languages` of the student, or None.
        tag: the tag before each source of --data, or None.
        vocabulary: folder of the student's vocabulary, or None if one is to be learned.
        texts: settings of the texts, see `check_texts`.
        student: settings of the student, see `check_student`.
    """

    teachers: list
    reverse: Any
    languages: Any
    tag: str | None
    vocabulary: Path | None
    texts: dict
    student: dict


def distill(plan):
    """Trains a student on the translations of teachers, and compares both; returns the report."""
    inputs = inputs_of(plan)
    check_folder(RunFolder(plan.run))
    check_student(plan, inputs.student)
    with locked_folder(plan.folder):
        # Students that share the texts may be trained at the same time.
        shared = plan.texts_folder.resolve() != plan.folder.resolve()
        with locked_folder(plan.texts_folder) if shared else contextlib.nullcontext():
            check_texts(plan, inputs.texts)
            texts = translated_texts(plan, inputs)
            filter_texts(plan, inputs, texts)
            data = prepared_data(plan, inputs, texts)
            record_student(plan, inputs.student)
        train(plan, inputs, texts, data)
        export(plan)
        compare(plan, inputs)
        return write_report(plan, data)


def inputs_of(plan):
    """Checks everything that can be checked before the work, and returns the `Inputs`."""
    check_places(plan)
    if plan.data and contents_of(plan.data) is None:
        raise ValueError(
            f"--data must be a folder with finished data. t2t-prepare writes one. Received: "
            f"{plan.data}"
        )
    teachers = given_teachers(plan)
    reverse = GivenModel(plan.reverse, "--reverse") if plan.reverse else None
    preparation = read_json(Path(plan.data) / "preparation.json", {}) if plan.data else {}
    vocabulary = None if plan.vocabulary_size else teachers[0].vocabulary
    if plan.vocabulary == "data":
        vocabulary = Path(plan.data) / "vocabulary"
    settings = {f"--{name}": getattr(plan, name) for name in OF_TEXTS}
    digests = {
        "weights of the teachers": json_digest([teacher.digest() for teacher in teachers]),
        "weights of --reverse": reverse and reverse.digest(),
        "text of --data": plan.data and json_digest([preparation, contents_of(plan.data)]),
        "vocabulary": vocabulary and digest(load_tokenizer(vocabulary).contents()),
        "text of --mono": plan.mono and digest_of(find_files("mono", plan.mono)),
    }
    texts = as_json(settings | digests | preparation_settings(plan.experiment))
    flat = plan.experiment.flat()
    student = {name: value for name, value in flat.items() if name not in texts}
    dev = [plan.dev_source, plan.dev_target] if plan.dev_source else []
    student |= {"--real": plan.real, "held-out text": digest_of(map(Path, dev)) if dev else None}
    return Inputs(
        teachers=teachers,
        reverse=reverse,
        languages=check_directions(plan, teachers, reverse),
        tag=preparation.get("tag"),
        vocabulary=vocabulary,
        texts=texts,
        student=as_json(student | texts),
    )


def check_places(plan):
    """Rejects a folder for texts inside the run or the data, which may have no other files."""
    texts, own = plan.texts_folder.resolve(), plan.folder.resolve()
    for name, folder in (("run", plan.run), ("data", plan.data)):
        if folder and texts.is_relative_to(Path(folder).resolve()) and texts != own:
            raise ValueError(
                f"--texts must be a folder outside of --{name}. Received: --texts={plan.texts} "
                f"--{name}={folder}"
            )


def preparation_settings(experiment):
    """Returns {setting: value} of the settings that t2t-prepare uses."""
    parts = ("data.cleaning.", "data.vocabulary.", "data.encodings.")
    return {name: value for name, value in experiment.flat().items() if name.startswith(parts)}


def as_json(contents):
    return json.loads(json.dumps(contents))


class Texts(NamedTuple):
    """The texts so far.

    Args:
        stages: `Stages` that made them.
        parts: a list of (source file, file of translations).
    """

    stages: Stages
    parts: list


def translated_texts(plan, inputs):
    """Writes the sources and translates them; returns the `Texts`.

    The stages of real and monolingual text do not depend on each other, so that other monolingual
    text does not translate the real text again.
    """
    folder, longest = plan.texts_folder, plan.experiment.data.cleaning.max_characters
    texts, translated = folder / "texts", folder / "translated"
    given = [inputs.texts["text of --data"], longest]
    stages = {}
    if plan.data:
        stages["real"] = Stages(folder, NAME)
        stages["real"].call_once(
            stage="texts-real",
            function=lambda: write_real(texts, plan.data, longest),
            creates=texts / "real.json",
            depends_on=given,
        )
    if plan.mono:
        normalization = Normalization()
        if plan.data:
            normalization = load_tokenizer(Path(plan.data) / "vocabulary").normalization
        stages["mono"] = Stages(folder, NAME)
        stages["mono"].call_once(
            stage="texts-mono",
            function=lambda: write_mono(texts, plan.mono, normalization, longest),
            creates=texts / "mono.json",
            depends_on=[*given, inputs.texts["text of --mono"]],
        )
    lines = {name: read_json(texts / f"{name}.json").get("written", 0) for name in stages}
    if not any(lines.values()):
        raise ValueError(filtering.no_text_left({"read": 0}))
    flags = {name: translation_flags(plan, inputs, name) for name in stages}
    outputs = {name: translated / f"{name}.txt" for name in stages}
    sources = {name: texts / f"{name}.txt" for name in stages}
    estimate(
        Stages(folder, NAME),
        [(name, sources[name], lines[name], outputs[name], flags[name]) for name in stages],
    )
    translated.mkdir(parents=True, exist_ok=True)
    for name in stages:
        translate(plan, inputs, stages[name], name, flags[name], sources[name], outputs[name])
    if plan.choose == "reference":
        outputs["real"] = chosen_texts(plan, stages["real"], texts, outputs["real"])
    joined = Stages(folder, NAME)
    for each in stages.values():
        joined.history += each.history
    return Texts(joined, [(sources[name], outputs[name]) for name in stages])


def translation_flags(plan, inputs, name):
    """Returns the arguments of t2t-translate for a text, "real" or "mono", except the files."""
    flags = [*plan.teachers, "--split=off"]  # each line is one sentence, as in the training
    beam, count = plan.beam, plan.n_best if name == "real" else None
    if count:
        flags.append(f"--n_best={count}")
        if beam is None and count > (inputs.teachers[0].beam() or 1):
            beam = count
    for flag, value in (("beam", beam), ("to", plan.to), ("dtype", plan.dtype)):
        if value is not None:
            flags.append(f"--{flag}={value}")
    return [*flags, f"--engine={plan.engine}"] if plan.engine != "auto" else flags


def translate(plan, inputs, stages, name, flags, source, output):
    """Translates a text file, on Apache Beam if the plan says so."""
    unrecorded = []
    arguments = [*flags, f"--input={source}", f"--output={output}"]
    if plan.apache_beam:
        arguments[-1] = f"--output={output.parent}"
        arguments.append("--apache_beam")
        if plan.beam_options:
            unrecorded = [f"--beam_options={','.join(plan.beam_options)}"]
    stages.run_once(
        stage=f"translate-{name}",
        command="translate",
        arguments=arguments,
        creates=output,
        depends_on=inputs.texts["weights of the teachers"],
        unrecorded=unrecorded,
    )


def chosen_texts(plan, stages, texts, translations):
    """Chooses the translations that are closest to the references; returns their file."""
    output = plan.texts_folder / "chosen" / "real.txt"
    references = texts / "real_target.txt"
    stages.call_once(
        stage="choose",
        function=lambda: choosing.choose(translations, references, plan.n_best, output),
        creates=output,
        depends_on=plan.n_best,
    )
    return output


def filter_texts(plan, inputs, texts):
    """Drops bad translations, and scores the others with the reverse model if there is one."""
    folder = plan.texts_folder / "filtered"
    rules = [plan.ratio, plan.repetitions, bool(plan.reverse)]
    texts.stages.call_once(
        stage="filter",
        function=lambda: filtering.filter_pairs(texts.parts, folder, *rules),
        creates=folder / "filter.json",
        depends_on=rules,
    )
    if plan.reverse:
        scored = folder / "reverse_scores.tsv"
        texts.stages.run_once(
            stage="score",
            command="score",
            arguments=[plan.reverse, f"--pairs={folder / 'reverse.tsv'}", f"--output={scored}"],
            creates=scored,
            depends_on=inputs.texts["weights of --reverse"],
        )
        texts.stages.call_once(
            stage="scores",
            function=lambda: filtering.write_scores(scored, folder / "scores.txt"),
            creates=folder / "scores.txt",
        )


def prepared_data(plan, inputs, texts):
    """Prepares the pairs, and the real pairs if they are mixed in; returns the value of --data."""
    folder, stages = plan.texts_folder, texts.stages
    filtered, data = folder / "filtered", folder / "data"
    flags = preparation_flags(plan, inputs, folder / "data_settings")
    vocabulary = f"--config.data.vocabulary.size={plan.vocabulary}"
    if inputs.vocabulary:
        vocabulary = f"--vocabulary={inputs.vocabulary}"
    scores = [f"--scores={filtered / 'scores.txt'}", f"--best={plan.keep}"] * bool(plan.reverse)
    stages.run_once(
        stage="prepare",
        command="prepare",
        arguments=[
            *(*flags, vocabulary, *scores),
            *(f"--pairs={filtered / 'pairs.tsv'}", f"--output={data}"),
        ],
        creates=data / "report.json",
        depends_on=[inputs.texts["vocabulary"], as_json(preparation_settings(plan.experiment))],
        replaces=data,
    )
    if not plan.real:
        return str(data)
    real = Path(plan.data)
    contents = [load_tokenizer(each / "vocabulary").contents() for each in (data, real)]
    if contents[0] != contents[1]:
        real = folder / "real_data"
        sources = folder / "texts"
        stages.run_once(
            stage="prepare-real",
            command="prepare",
            arguments=[
                *(*flags, f"--vocabulary={data / 'vocabulary'}", f"--output={real}"),
                *(f"--source={sources / 'real.txt'}", f"--target={sources / 'real_target.txt'}"),
            ],
            creates=real / "report.json",
            replaces=real,
        )
    return f"{data}:{1 - plan.real:g},{real}:{plan.real:g}"


def preparation_flags(plan, inputs, folder):
    """Writes the settings of the preparation to a folder, and returns flags that name them."""
    data = dataclasses.replace(
        plan.experiment.data, folder="", dev_source="", dev_target="", dev=()
    )
    flags = settings_flags(Experiment(data=data), plan.experiment.imports, folder)
    if inputs.languages:
        flags.append(f"--languages={','.join(inputs.languages)}")
    return [*flags, f"--tag={inputs.tag}"] if inputs.tag else flags


def settings_flags(experiment, imports, folder):
    """Writes an `Experiment` to a folder, and returns the flags of commands that use it.

    Args:
        experiment: an `Experiment`.
        imports: paths of the plug-in files that it needs.
        folder: the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_settings(folder / "config.json", dataclasses.replace(experiment, imports=()))
    flags = [f"--config=settings_of:{folder}"]
    return [*flags, f"--imports={','.join(imports)}"] if imports else flags


def train(plan, inputs, texts, data):
    """Trains the student to its last step."""
    flags = settings_flags(plan.experiment, plan.experiment.imports, plan.folder / "settings")
    if plan.dev_source:
        flags += [f"--dev_source={plan.dev_source}", f"--dev_target={plan.dev_target}"]
    stages = Stages(plan.folder, NAME, texts.stages)
    stages.run_once(
        stage="train",
        command="train",
        arguments=[*flags, f"--data={data}", f"--run={plan.run}", "--noexport"],
        creates=RunFolder(plan.run).averaged_weights,
        depends_on=inputs.student,
    )


def export(plan):
    """Exports the student for LiteRT, unless there is an export of its weights."""
    stages, run = Stages(plan.folder, NAME), RunFolder(plan.run)
    for dtype in DTYPES:
        try:
            fitting(run, "litert", dtype)
        except NoExport:
            flags = [plan.run, "--format=litert", f"--dtype={dtype}"]
            stages.run_logged(f"export-{dtype}", "export", flags, run.folder / "export_litert")


def compare(plan, inputs):
    """Compares the student with its teachers on the test sets, if there are any."""
    tests = plan.tests
    if not tests:
        return

    def measure():
        from t2t_keras.distillation.comparison import compare  # loads Matplotlib

        compare([plan.teachers], plan.run, tests, plan.folder, to=plan.to)

    run = RunFolder(plan.run)
    Stages(plan.folder, NAME).call_once(
        stage="compare",
        function=measure,
        creates=plan.folder / "comparison.md",
        reads=[path for files in tests.values() for path in files],
        depends_on=[
            inputs.texts["weights of the teachers"],
            *(run.weights_file_digest(), run.settings_digest(), sorted(tests)),
        ],
    )
