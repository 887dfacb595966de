"""The trained models that a distillation uses, by folder: runs and exports.

Nothing here loads TensorFlow, which would keep the memory of a GPU from the stages.
"""

import dataclasses
import json
from pathlib import Path

from pipelines.atomic_files import json_digest, read_json
from pipelines.text.sources import digest_of
from pipelines.tokenizers import load_tokenizer
from pipelines.tokenizers.tags import chosen_tag
from t2t_keras.export.ctranslate2_package import import_ctranslate2
from t2t_keras.runs.exports.fitting import fitting, requested
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.translating.exports import check_kind, engine_of, is_export, newest_in, record_of
from t2t_keras.translating.languages import Languages, languages_of


class GivenModel:
    """A run or an export.

    Args:
        folder: its folder. For an export, the newest version in it is used.
        flag: name of the argument or flag that names it, for messages.
    """

    def __init__(self, folder, flag):
        self.name, self.flag = folder, flag
        self.is_export = is_export(folder)
        self.folder = newest_in(folder) if self.is_export else Path(folder)
        if not self.is_export and not RunFolder(folder).config_file.exists():
            raise ValueError(
                f"{flag} must be a run or an export. {folder} is neither: it has no config.json. "
                "t2t-train and t2t-import create runs"
            )

    @property
    def vocabulary(self):
        return self.folder / "vocabulary"

    def tokenizer(self):
        return load_tokenizer(self.vocabulary)

    def languages(self):
        """Returns the recorded `Languages`, or None."""
        return languages_of(self.folder)

    def beam(self):
        """Returns the beam width that the model translates with by default."""
        if self.is_export:
            return record_of(self.folder)["search"]["beam"]
        return RunFolder(self.name).search_settings().beam

    def digest(self):
        """Returns a digest of everything that the model's translations depend on."""
        if self.is_export:
            files = sorted(path for path in self.folder.rglob("*") if path.is_file())
            return digest_of(path for path in files if path.name != ".lock")
        run = RunFolder(self.name)
        search = json.loads(json.dumps(dataclasses.asdict(run.search_settings())))
        return json_digest([run.weights_file_digest(), run.settings_digest(), search])


def given_teachers(plan):
    """Returns the `GivenModel` of each teacher. An ensemble needs runs with the same vocabulary."""
    teachers = [GivenModel(folder, "TEACHER") for folder in plan.teachers]
    if len(teachers) > 1:
        if any(teacher.is_export for teacher in teachers):
            raise ValueError(
                f"an export cannot join an ensemble. Received: {' '.join(plan.teachers)}"
            )
        if plan.engine not in ("auto", "tensorflow") or plan.dtype not in (None, "float32"):
            raise ValueError(
                "--engine and --dtype are for one teacher: an ensemble is TensorFlow's. Received: "
                f"{' '.join(plan.teachers)}"
            )
        first, *others = (teacher.tokenizer().contents() for teacher in teachers)
        if any(contents != first for contents in others):
            raise ValueError(
                "The teachers of an ensemble need the same vocabulary. Received: "
                f"{' '.join(plan.teachers)}"
            )
    if plan.apache_beam and not (len(teachers) == 1 and teachers[0].is_export):
        raise ValueError(
            "--apache_beam needs one teacher that is an export. t2t-train and t2t-export leave one "
            f"in RUN/export_litert. Received: {' '.join(plan.teachers)}"
        )
    if len(teachers) == 1:
        check_export(plan, teachers[0])
    return teachers


def check_export(plan, teacher):
    """Rejects an engine, a type of weights or a beam width that the teacher has no export for."""
    if teacher.is_export:
        export, engine = teacher.folder, engine_of(teacher.folder)
        check_kind(export, plan.engine, plan.dtype)
    else:
        engine, must = requested(plan.engine, plan.dtype)
        if engine == "tensorflow" or not must:
            return
        export = fitting(RunFolder(teacher.name), engine, plan.dtype or "float32")
    if engine == "ctranslate2":  # its beam may have any width
        import_ctranslate2("Translating on CTranslate2")
        return
    widest, beam = record_of(export)["search"]["beam"], max(plan.beam or 1, plan.n_best or 1)
    if beam > widest:
        name, value = ("beam", plan.beam) if plan.beam else ("n_best", plan.n_best)
        remedy = f"Export its run again with t2t-export --beam={beam}"
        if not teacher.is_export:  # an export in the run would need the run's own beam width
            remedy = (
                f"Give as the teacher what t2t-export {teacher.name} --format={engine} "
                f"--dtype={plan.dtype or 'float32'} --beam={beam} --output=FOLDER writes"
            )
        raise ValueError(
            f"--{name} must be at most {widest}, the beam width of {export}. Received: "
            f"--{name}={value}. {remedy}"
        )


def check_reverse(reverse):
    """Rejects a reverse model that translates into several languages: none could be chosen."""
    if not reverse.is_export:
        try:
            chosen_tag(None, RunFolder(reverse.name).tags())
        except ValueError as error:
            raise ValueError(
                "--reverse must be a model that translates into one language. Received: "
                f"{reverse.name}, whose training data has several tags"
            ) from error


def data_languages(data):
    """Returns the `Languages` that prepared data records, or None."""
    found = read_json(Path(data) / "preparation.json", {}).get("languages") if data else None
    return Languages(*found) if found else None


def check_directions(plan, teachers, reverse):
    """Rejects models and data whose recorded languages contradict each other.

    Args:
        plan: a `DistillationPlan`.
        teachers: `given_teachers(plan)`.
        reverse: the `GivenModel` of --reverse, or None.

    Returns:
        The `Languages` of the student, or None if nothing records them.
    """
    known = {f"--data={plan.data}": data_languages(plan.data)} if plan.data else {}
    known |= {teacher.name: teacher.languages() for teacher in teachers}
    known = {name: languages for name, languages in known.items() if languages}
    first = next(iter(known), None)
    for name, languages in known.items():
        if languages != known[first]:
            raise ValueError(
                f"Teacher and data must be of one direction. Received: {first}, which is "
                f"{'-'.join(known[first])}, and {name}, which is {'-'.join(languages)}"
            )
    if reverse is not None:
        if any(Path(reverse.name).resolve() == Path(each.name).resolve() for each in teachers):
            raise ValueError(
                f"--reverse must be a model for the other direction. Received: {reverse.name}, the "
                "teacher itself"
            )
        theirs = reverse.languages()
        if first and theirs and theirs != known[first][::-1]:
            raise ValueError(
                "--reverse must be a model for the other direction, "
                f"{'-'.join(known[first][::-1])}. Received: {reverse.name}, which translates "
                f"{'-'.join(theirs)}"
            )
    return known.get(first)
