"""Checks everything that a distillation starts from, and records it."""

from pathlib import Path
from typing import Any, NamedTuple

from pipelines.atomic_files import digest, json_digest, read_json
from pipelines.text.cleaning_rules import RULES
from pipelines.text.opened_text import find_files
from pipelines.text.sources import digest_of
from pipelines.tokenizers import load_tokenizer
from pipelines.tokenizers.tags import tag_id
from t2t_keras.distillation.models import (
    GivenModel,
    check_directions,
    check_reverse,
    given_teachers,
)

TEACHERS = "weights of the teachers"  # an entry that is always among the settings
# Settings of the plan that the prepared text does not depend on, or only on the files they name.
NOT_OF_TEXTS = (
    *("teachers", "experiment", "command", "run", "texts", "data", "mono", "reverse", "real"),
    *("beam_options", "dev_source", "dev_target", "test"),
)


class Inputs(NamedTuple):
    teachers: list  # list of `GivenModel`s
    reverse: Any  # the `GivenModel` of --reverse, or None
    languages: Any  # the `Languages` of the student, or None
    tag: str | None  # the tag before each source of --data, or None
    vocabulary: Path | None  # folder of the student's vocabulary, or None if one is to be learned
    texts: dict  # settings of the texts, {flag or input: value or digest}
    student: dict  # settings of the student, including the settings of the texts


def inputs_of(plan):
    """Checks everything that can be checked before the work, and returns the `Inputs`."""
    shards = read_json(Path(plan.data) / "store.json") if plan.data else None
    if plan.data and shards is None:
        raise ValueError(
            f"--data must be a folder with finished data. t2t-prepare writes one. Received: "
            f"{plan.data}"
        )
    teachers = given_teachers(plan)
    reverse = GivenModel(plan.reverse, "--reverse") if plan.reverse else None
    if reverse:
        check_reverse(reverse)
    preparation = read_json(Path(plan.data) / "preparation.json", {}) if plan.data else {}
    vocabulary = None if plan.vocabulary_size else teachers[0].vocabulary
    if plan.vocabulary == "data":
        vocabulary = Path(plan.data) / "vocabulary"
    tag = preparation.get("tag")
    if tag and vocabulary:
        check_tag(plan, vocabulary, tag)
    rules = plan.experiment.data.cleaning.own_settings()
    settings = {
        f"--{name}": value for name, value in vars(plan).items() if name not in NOT_OF_TEXTS
    }
    digests = {
        TEACHERS: json_digest([teacher.digest() for teacher in teachers]),
        "weights of --reverse": reverse and reverse.digest(),
        "text of --data": plan.data and json_digest([preparation, shards]),
        "vocabulary": vocabulary and digest(load_tokenizer(vocabulary).contents()),
        "text of --mono": plan.mono and digest_of(find_files("mono", plan.mono)),
    }
    if plugins := [each.path for each in RULES.plugins(rules)]:
        digests["plug-ins that clean"] = digest_of(plugins)
    texts = settings | digests | preparation_settings(plan.experiment)
    flat = plan.experiment.flat()
    student = {name: value for name, value in flat.items() if name not in texts}
    dev = [plan.dev_source, plan.dev_target] if plan.dev_source else []
    student |= {"--real": plan.real, "held-out text": digest_of(map(Path, dev)) if dev else None}
    return Inputs(
        teachers=teachers,
        reverse=reverse,
        languages=check_directions(plan, teachers, reverse),
        tag=tag,
        vocabulary=vocabulary,
        texts=texts,
        student=student | texts,
    )


def check_tag(plan, vocabulary, tag):
    """Rejects a vocabulary without the tag that is before the sources of --data."""
    try:
        tag_id(load_tokenizer(vocabulary), tag)
    except ValueError as error:
        raise ValueError(
            f"--data={plan.data} has a tag before each source, but {vocabulary}: {error}. Or give "
            "--vocabulary=data"
        ) from error


def preparation_settings(experiment):
    """Returns {setting: value} of the settings that t2t-prepare uses.

    The size of the vocabulary is not among them: --vocabulary determines it.
    """
    parts = ("data.cleaning.", "data.vocabulary.", "data.encodings.")
    return {
        name: value
        for name, value in experiment.flat().items()
        if name.startswith(parts) and name != "data.vocabulary.size"
    }
