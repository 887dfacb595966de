"""The stages of a distillation, from the sources to the report (Kim and Rush 2016).

Texts, translations and prepared data are in the texts folder; the log of the training, the
comparison and the report are in RUN/distillation.

    TEXTS/
      texts/        real.txt, real_target.txt, mono.txt: the sources; see `source_texts.py`
      translated/   real.txt, mono.txt: the teacher's translations, line by line
      chosen/       real.txt: those closest to the references, with --choose=reference
      scores/       real.txt, mono.txt: scores of the pairs by --reverse
      data/         the prepared pairs; real_data/: the real pairs, if they need a new vocabulary
"""

import contextlib
import dataclasses
from pathlib import Path

from pipelines.atomic_files import locked_folder
from pipelines.exit_codes import NOT_CONVERTIBLE
from pipelines.tokenizers import load_tokenizer
from pipelines.tokenizers.vocabulary import VocabularyConfig
from t2t_keras.distillation.inputs import TEACHERS, inputs_of
from t2t_keras.distillation.models import GivenModel
from t2t_keras.distillation.report import write_report
from t2t_keras.distillation.systems import DTYPES
from t2t_keras.distillation.text_stages import NAME, cleaning_flags, translated_texts
from t2t_keras.experiment import Experiment
from t2t_keras.runs.exports.fitting import NoExport, fitting
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.runs.settings_file import settings_flags
from t2t_keras.runs.training.run_start import check_folder
from t2t_keras.stages.once import check_begun
from t2t_keras.stages.stages import StageFailed, Stages


def distill(plan):
    """Trains a student on the translations of teachers, and compares both; returns the report."""
    inputs = inputs_of(plan)
    check_folder(RunFolder(plan.run))
    student, texts = plan.folder / "student.json", plan.texts_folder / "settings.json"
    if RunFolder(plan.run).config_file.exists() and not student.exists():
        raise ValueError(
            f"{plan.run} is a run that t2t-distill has not begun. Give a different --run"
        )
    with locked_folder(plan.folder):
        check_begun(student, plan.run, inputs.student, "give a different --run")
        # Students that share the texts may be trained at the same time.
        shared = plan.texts_folder.resolve() != plan.folder.resolve()
        with locked_folder(plan.texts_folder) if shared else contextlib.nullcontext():
            # Until a student trains on the texts, changed settings make them again.
            remedy = f"give a different {'--texts' if plan.texts else '--run'}"
            check_begun(texts, plan.run, inputs.texts, remedy)
            texts = translated_texts(plan, inputs)
            data = prepared_data(plan, inputs, texts)
        train(plan, inputs, texts, data)
        export(plan)
        compare(plan, inputs)
        return write_report(plan, data)


def prepared_data(plan, inputs, texts):
    """Prepares the pairs, and the real pairs if they are mixed in; returns the value of --data."""
    folder, stages = plan.texts_folder, texts.stages
    data = folder / "data"
    flags = preparation_flags(plan, inputs, folder / "data_settings")
    vocabulary = f"--config.data.vocabulary.size={plan.vocabulary_size}"
    if inputs.vocabulary:
        vocabulary = f"--vocabulary={inputs.vocabulary}"
    scores = [f"--scores={texts.flag(2)}", f"--best={plan.keep}"] * bool(plan.reverse)
    stages.run_once(
        stage="prepare",
        command="prepare",
        arguments=cleaning_flags(plan, texts),
        creates=data / "report.json",
        depends_on=[inputs.texts, inputs.languages, inputs.tag],
        unrecorded=[
            *(*flags, vocabulary, *scores),
            *(f"--source={texts.flag(0)}", f"--target={texts.flag(1)}", f"--output={data}"),
        ],
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
            arguments=[],
            unrecorded=[
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
        plan.experiment.data,
        folder="",
        dev_source="",
        dev_target="",
        dev=(),
        # The size does not count: --vocabulary decides.
        vocabulary=dataclasses.replace(
            plan.experiment.data.vocabulary, size=VocabularyConfig().size
        ),
    )
    flags = settings_flags(Experiment(data=data), plan.experiment.imports, folder)
    if inputs.languages:
        flags.append(f"--languages={','.join(inputs.languages)}")
    return [*flags, f"--tag={inputs.tag}"] if inputs.tag else flags


def train(plan, inputs, texts, data):
    flags = settings_flags(plan.experiment, plan.experiment.imports, plan.folder / "settings")
    if plan.dev_source:
        flags += [f"--dev_source={plan.dev_source}", f"--dev_target={plan.dev_target}"]
    stages = Stages(plan.folder, NAME, texts.stages)
    stages.run_once(
        stage="train",
        command="train",
        arguments=["--noexport"],
        creates=RunFolder(plan.run).averaged_weights,
        depends_on=inputs.student,
        unrecorded=[*flags, f"--data={data}", f"--run={plan.run}"],
    )


def export(plan):
    """Exports the student for LiteRT, unless there is an export of its weights or cannot be one."""
    stages, run = Stages(plan.folder, NAME), RunFolder(plan.run)
    for dtype in DTYPES:
        try:
            fitting(run, "litert", dtype)
        except NoExport:
            flags = [plan.run, "--format=litert", f"--dtype={dtype}"]
            try:
                stages.run_logged(f"export-{dtype}", "export", flags, run.folder / "export_litert")
            except StageFailed as error:
                if error.code != NOT_CONVERTIBLE:
                    raise
                stages.report(f"the student has no LiteRT in {dtype}: {error}")


def compare(plan, inputs):
    """Compares the student with its teachers on the test sets, if there are any."""
    tests = plan.tests
    if not tests:
        return

    def measure():
        from t2t_keras.distillation.comparison import compare  # loads Matplotlib

        compare(plan.teachers, plan.run, tests, plan.folder, to=plan.to)

    Stages(plan.folder, NAME).call_once(
        stage="compare",
        function=measure,
        creates=plan.folder / "comparison.md",
        reads=[path for files in tests.values() for path in files],
        depends_on=[inputs.texts[TEACHERS], GivenModel(plan.run).digest(), sorted(tests)],
    )
