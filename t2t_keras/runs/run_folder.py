"""The files of a run, read without TensorFlow and Keras."""

import dataclasses
from pathlib import Path

from pipelines.atomic_files import file_digest, json_digest, read_json
from pipelines.tokenizers import load_tokenizer
from pipelines.tokenizers.tags import chosen_tag, tagged
from t2t_keras.decoding.alignment import AlignmentHead
from t2t_keras.runs.config_file import read_config, search_in
from t2t_keras.runs.plugins.plugin_files import trust_plugins_of
from t2t_keras.runs.training.averaged_weights import AveragedWeights
from t2t_keras.training.checkpoints import Checkpoints, state_digest
from t2t_keras.training.logs.metrics_file import MetricsFile
from t2t_keras.translating.languages import languages_in

ALIGNMENT = "alignment.json"
CHOOSE_AGAIN = "Run t2t-attention --choose_alignment again, or delete the file"


class RunFolder:
    """The folder of a run: vocabulary, tags, and the files with the weights; arguments as `Run`."""

    def __init__(self, folder, to=None, trust=False):
        self.folder, self.to = Path(folder), to
        if trust:
            trust_plugins_of(self.folder)

    @property
    def config_file(self):
        return self.folder / "config.json"

    @property
    def averaged(self):
        return AveragedWeights(self.folder)

    @property
    def averaged_weights(self):
        return self.averaged.path

    @property
    def checkpoints(self):
        return Checkpoints(self.folder / "checkpoints")

    def vocabulary(self):
        """Returns the tokenizer without a tag."""
        return load_tokenizer(self.folder / "vocabulary")

    def tokenizer(self):
        """Returns the tokenizer, which puts the tag of `to` before each source."""
        try:
            return tagged(self.vocabulary(), chosen_tag(self.to, self.tags()))
        except ValueError as error:
            raise ValueError(f"{self.folder}: {error}") from error

    def tags(self):
        """Returns the tag of each training corpus, or None for a corpus without a tag."""
        return read_config(self.config_file).get("tags") or [None]

    def languages(self):
        """Returns the `Languages` of the run, or None if they are not recorded."""
        return languages_in(read_config(self.config_file))

    def init(self):
        """Returns the folder of the run whose weights initialized this run, or None."""
        return read_config(self.config_file).get("init") if self.config_file.exists() else None

    def prepared_with(self, name):
        """Returns an entry of the prepared data's `preparation.json`, or None if there is none."""
        return read_config(self.config_file)["preparation"].get(name)

    def splits_texts(self):
        """Returns whether texts are translated sentence by sentence, unless a request differs.

        A run that was trained on parse trees or on documents translates a text as a whole.
        """
        return not (self.prepared_with("leaves") or self.prepared_with("toy documents"))

    def alignment_choice(self):
        """Returns the `AlignmentHead` that `Run.choose_alignment` stored, or None."""
        path = self.folder / ALIGNMENT
        contents = read_json(path, remedy=CHOOSE_AGAIN)
        try:
            return None if contents is None else AlignmentHead(**contents["head"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path} has no usable choice ({error}). {CHOOSE_AGAIN}") from error

    def search_settings(self):
        """Returns the `SearchConfig` in the run's settings."""
        return search_in(self.config_file)

    def evaluations(self, required=False):
        """Returns the lines of `metrics.jsonl`: one dict for each evaluation during training.

        If `required`, raises `ValueError` if there are none yet.
        """
        lines = MetricsFile(self.folder / "metrics.jsonl").read()
        if required and not lines:
            training = read_config(self.config_file)["experiment"]["training"]
            raise ValueError(
                f"{self.folder} has no evaluation in its metrics.jsonl yet. The first comes "
                f"after {training['evaluate_every']:,} steps"
            )
        return lines

    def intervals(self):
        """Returns the lines of `training.jsonl`: a dict for every `log_every` training steps."""
        return MetricsFile(self.folder / "training.jsonl").read()

    def settings_digest(self):
        """Returns a digest of the settings and files that affect translations.

        The weights and the search settings are not included.
        """
        contents, vocabulary = read_config(self.config_file), self.folder / "vocabulary"
        files = sorted(path for path in vocabulary.rglob("*") if path.is_file())
        if not files:
            raise ValueError(f"{vocabulary} is missing. Restore it from a copy of the run")
        facts = {
            "model": contents["experiment"].get("model"),
            "architecture": contents.get("architecture"),
            "tags": contents.get("tags"),
            "leaves": self.prepared_with("leaves"),
            "vocabulary": {
                path.relative_to(vocabulary).as_posix(): file_digest(path) for path in files
            },
        }
        return json_digest(facts)

    def translations_digest(self):
        """Returns a digest of everything that translations with the default weights depend on."""
        search = dataclasses.asdict(self.search_settings())
        return json_digest([self.weights_file_digest(), self.settings_digest(), search])

    def default_weights(self):
        """Returns the weights that were chosen when training ended: "averaged", or a step.

        Without such a choice, or after further training, the averaged weights are returned if they
        exist, otherwise the newest checkpoint.
        """
        if self.averaged_weights.exists():
            return self.chosen_weights() or "averaged"
        steps = self.checkpoints.steps()
        if not steps:
            read_config(self.config_file)  # raises a clear error if the folder is not a run
            raise ValueError(f"{self.folder} has no weights yet: its first checkpoint is to come")
        return str(steps[-1])

    def chosen_weights(self):
        """Returns the name of the chosen weights from the record of the average, or None."""
        chosen = (self.averaged.record() or {}).get("chosen")
        steps = self.checkpoints.steps()
        if chosen in (None, "averaged") or chosen in map(str, steps):
            return chosen
        if steps:  # further training has deleted the checkpoint
            return None
        raise ValueError(
            f"{self.folder} is to be used with the weights of step {int(chosen):,}, which were "
            f"better than the averaged ones, but {self.checkpoints.path(int(chosen))} is missing. "
            "Restore it from a copy, or give --weights=averaged"
        )

    def weights_file(self, weights=None):
        """Returns the path of the file that holds the weights."""
        weights = self.default_weights() if weights is None else str(weights)
        files = {str(step): self.checkpoints.path(step) for step in self.checkpoints.steps()}
        if files:
            files["newest"] = files[str(self.checkpoints.steps()[-1])]
            if (best := self.checkpoints.best()) is not None:
                files["best"] = self.checkpoints.path(best)
        if self.averaged_weights.exists():
            files["averaged"] = self.averaged_weights
        if weights not in files:
            known = ", ".join(files) or "none yet"
            raise ValueError(f"{self.folder} has no weights {weights!r}. It has: {known}")
        return files[weights]

    def weights_key(self, weights):
        """Returns a key that changes whenever the weights change while this process runs.

        It includes the time of the last change, which cannot be set, unlike the modification time.
        """
        path = self.weights_file(weights)
        status = path.stat()
        return str(path), status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def weights_file_digest(self, weights=None):
        """Returns the digest of the weights, computed from the checksums in their file."""
        return state_digest(self.weights_file(weights))

    def weights_steps(self, weights=None):
        """Returns the steps of the checkpoints that the weights come from, or None if unknown."""
        path = self.weights_file(weights)
        if path != self.averaged_weights:
            return [step_of(path)]
        return (self.averaged.record() or {}).get("steps")


def step_of(path):
    """Returns the step in the name of a checkpoint's file."""
    return int(path.stem.removeprefix("step-"))
