"""The stages from the sources to the pairs that t2t-prepare cleans.

Decoders that lose their way repeat a phrase, or stop too soon: `cleaning_flags` has rules against
both. Bad translations that look normal are found by a model for the other direction: log P per
piece of each source by that model alone, because the teacher finds its own translations likely,
whether or not they are right.
"""

import array
import itertools
import statistics
from pathlib import Path
from typing import NamedTuple

from pipelines.atomic_files import atomic_file, read_json
from pipelines.text.normalization import Normalization
from pipelines.tokenizers import load_tokenizer
from t2t_keras.distillation import choosing
from t2t_keras.distillation.inputs import TEACHERS
from t2t_keras.distillation.source_texts import write_mono, write_real
from t2t_keras.stages.once import once
from t2t_keras.stages.stages import Stages

NAME = "distillation"  # name of the stages in messages
MEASURED = 1_000_000  # maximum number of pairs for measuring the median ratio of their lengths


class Texts(NamedTuple):
    stages: Stages  # `Stages` that made them
    files: list  # a list of (source file, file of translations, file of scores by --reverse)

    def flag(self, column):
        """Returns the value of a flag of t2t-prepare that names all files of a column."""
        return ",".join(str(files[column]) for files in self.files)


def translated_texts(plan, inputs):
    """Writes the sources and translates them; returns the `Texts`.

    The stages of real and monolingual text do not depend on each other, so that other monolingual
    text does not translate the real text again.
    """
    folder, longest = plan.texts_folder, plan.experiment.data.cleaning.max_characters
    texts, translated = folder / "texts", folder / "translated"
    stages = {
        name: Stages(folder, NAME)
        for name, given in (("real", plan.data), ("mono", plan.mono))
        if given
    }
    normalization, known = Normalization(), None
    if plan.data:
        normalization = load_tokenizer(Path(plan.data) / "vocabulary").normalization
        known = texts / "real.txt"
    write = {
        "real": lambda: write_real(texts, plan.data, longest),
        "mono": lambda: write_mono(texts, plan.mono, normalization, longest, known),
    }
    for name, each in stages.items():
        mono = [inputs.texts["text of --mono"]] * (name == "mono")
        each.call_once(
            stage=f"texts-{name}",
            function=write[name],
            creates=texts / f"{name}.json",
            depends_on=[inputs.texts["text of --data"], longest, *mono],
        )
    lines = {name: read_json(texts / f"{name}.json").get("written", 0) for name in stages}
    if not any(lines.values()):
        raise ValueError(
            "There is no text to translate: neither --data nor --mono has a usable line"
        )
    outputs = {name: translated / f"{name}.txt" for name in stages}
    sources = {name: texts / f"{name}.txt" for name in stages}
    translated.mkdir(parents=True, exist_ok=True)
    for name in stages:
        translate(plan, inputs, stages[name], name, sources[name], outputs[name])
    if plan.choose == "reference":
        outputs["real"] = chosen_texts(plan, stages["real"], texts, outputs["real"])
    scores = {name: folder / "scores" / f"{name}.txt" for name in stages}
    joined = Stages(folder, NAME)
    for name, each in stages.items():
        if plan.reverse:
            score(plan, inputs, each, outputs[name], sources[name], scores[name])
        joined.history += each.history
    return Texts(joined, [(sources[name], outputs[name], scores[name]) for name in stages])


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


def score(plan, inputs, stages, translations, sources, output):
    """Writes log P per piece of each source, given its translation, by the model of --reverse."""
    name, scored = output.stem, output.with_suffix(".tsv")
    output.parent.mkdir(exist_ok=True)
    stages.run_once(
        stage=f"score-{name}",
        command="score",
        arguments=[],
        creates=scored,
        depends_on=inputs.texts["weights of --reverse"],
        unrecorded=[
            *(plan.reverse, f"--source={translations}", f"--target={sources}"),
            f"--output={scored}",
        ],
    )

    def write_scores():
        with open(scored, encoding="utf-8") as lines, atomic_file(output) as file:
            for line in lines:
                log_p, _, pieces = line.split("\t")
                file.write(f"{float(log_p) / int(pieces):.6f}\n".encode())

    stages.call_once(stage=f"scores-{name}", function=write_scores, creates=output)


def cleaning_flags(plan, texts):
    """Returns the flags of t2t-prepare that drop bad translations."""
    rules = {"empty": True, "max_added_repetitions": plan.repetitions}
    if plan.ratio:
        most = plan.experiment.data.cleaning.max_ratio or plan.ratio
        rules |= {"max_ratio": min(plan.ratio, most), "length_ratio": length_ratio(plan, texts)}
    return [f"--config.data.cleaning.{name}={value}" for name, value in rules.items()]


def length_ratio(plan, texts):
    """Returns the median ratio of the lengths of translations and sources, in characters."""

    def measure():
        normalization = Normalization(nfc=False)
        ratios = array.array("d")
        for sources, translations, _ in texts.files:
            with open(sources, newline="\n") as ours, open(translations, newline="\n") as theirs:
                pairs = zip(ours, map(normalization, theirs), strict=False)
                pairs = itertools.islice(pairs, max(0, MEASURED - len(ratios)))
                ratios.extend(len(target) / (len(source) - 1) for source, target in pairs if target)
        return statistics.median(ratios) if ratios else 1.0

    return once(plan.texts_folder / "length_ratio.json", texts.stages.history, measure)
