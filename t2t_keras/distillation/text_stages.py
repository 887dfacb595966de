"""The stages from the sources to the pairs that are kept."""

from pathlib import Path
from typing import NamedTuple

from pipelines.atomic_files import read_json
from pipelines.text.normalization import Normalization
from pipelines.tokenizers import load_tokenizer
from t2t_keras.distillation import choosing, filtering
from t2t_keras.distillation.source_texts import write_mono, write_real
from t2t_keras.distillation.student_record import TEACHERS
from t2t_keras.stages.stages import Stages

NAME = "distillation"  # name of the stages in messages


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
        normalization, known = Normalization(), None
        if plan.data:
            normalization = load_tokenizer(Path(plan.data) / "vocabulary").normalization
            known = texts / "real.txt"
        stages["mono"] = Stages(folder, NAME)
        stages["mono"].call_once(
            stage="texts-mono",
            function=lambda: write_mono(texts, plan.mono, normalization, longest, known),
            creates=texts / "mono.json",
            depends_on=[*given, inputs.texts["text of --mono"]],
        )
    lines = {name: read_json(texts / f"{name}.json").get("written", 0) for name in stages}
    if not any(lines.values()):
        raise ValueError(filtering.no_text_left({"read": 0}))
    outputs = {name: translated / f"{name}.txt" for name in stages}
    sources = {name: texts / f"{name}.txt" for name in stages}
    translated.mkdir(parents=True, exist_ok=True)
    for name in stages:
        translate(plan, inputs, stages[name], name, sources[name], outputs[name])
    if plan.choose == "reference":
        outputs["real"] = chosen_texts(plan, stages["real"], texts, outputs["real"])
    joined = Stages(folder, NAME)
    for each in stages.values():
        joined.history += each.history
    return Texts(joined, [(sources[name], outputs[name]) for name in stages])


def translation_flags(plan, inputs, name):
    """Returns the flags of t2t-translate for a text, "real" or "mono", except the files."""
    flags = ["--split=off"]  # each line is one sentence, as in the training
    beam, count = plan.beam, plan.n_best if name == "real" else None
    if count:
        flags.append(f"--n_best={count}")
        if beam is None and count > inputs.teachers[0].beam():
            beam = count
    for flag, value in (("beam", beam), ("to", plan.to), ("dtype", plan.dtype)):
        if value is not None:
            flags.append(f"--{flag}={value}")
    return [*flags, f"--engine={plan.engine}"] if plan.engine != "auto" else flags


def translate(plan, inputs, stages, name, source, output):
    """Translates a text file, on Apache Beam if the plan says so."""
    files = [f"--input={source}", f"--output={output.parent if plan.apache_beam else output}"]
    if plan.beam_options:
        files.append(f"--beam_options={','.join(plan.beam_options)}")
    stages.run_once(
        stage=f"translate-{name}",
        command="translate",
        arguments=[*translation_flags(plan, inputs, name), *["--apache_beam"] * plan.apache_beam],
        creates=output,
        depends_on=inputs.texts[TEACHERS],
        unrecorded=[*plan.teachers, *files],
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
    rules = [plan.ratio, plan.repetitions]
    texts.stages.call_once(
        stage="filter",
        function=lambda: filtering.filter_pairs(texts.parts, folder, *rules),
        creates=folder / "filter.json",
        depends_on=rules,
    )
    if plan.reverse:
        exchanged, scored = folder / "reverse.tsv", folder / "reverse_scores.tsv"

        def score():
            filtering.exchange_sides(folder / "pairs.tsv", exchanged)
            arguments = [plan.reverse, f"--pairs={exchanged}", f"--output={scored}"]
            texts.stages.run_logged("score", "score", arguments, scored)
            exchanged.unlink()

        texts.stages.call_once(
            stage="score",
            function=score,
            creates=scored,
            depends_on=inputs.texts["weights of --reverse"],
        )
        texts.stages.call_once(
            stage="scores",
            function=lambda: filtering.write_scores(scored, folder / "scores.txt"),
            creates=folder / "scores.txt",
        )
