"""The settings of a run, and the configs that define them.

A config is a Python file with a function `get_config()`, or `get_config(variant)`, that returns an
`Experiment`. It states only what differs from the paper's base model.
"""

import contextlib
import dataclasses
import inspect
import re
from typing import Any

import keras

from pipelines.atomic_files import with_tuples
from pipelines.data_config import DataConfig
from pipelines.registry import Plugin
from t2t_keras.checks import check, check_choice, nearest
from t2t_keras.config_files import find_config, load_config_file
from t2t_keras.decoding.search import METHODS
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.losses import NoTokenLoss, named_loss, token_loss
from t2t_keras.metrics import Perplexity, TokenAccuracy
from t2t_keras.models import architecture_of, model_class
from t2t_keras.plugins import absolute, executing, load_plugins
from t2t_keras.training.hardware.program_cache import prepare_jax
from t2t_keras.training.optimizers import named_optimizer
from t2t_keras.training.step.trainable_models import trainable
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig


@dataclasses.dataclass
class Experiment:
    """All settings of a run. The defaults are the paper's base model (§5).

    Args:
        model: settings of any model in `MODELS`.
        training: settings of the training.
        data: settings of the data.
        search: settings of the search.
        imports: paths of plug-in files, which are loaded first; in a config file, relative to that
            file. See `plugins.py`.
    """

    model: Any = dataclasses.field(default_factory=TransformerConfig)
    training: TrainingConfig = dataclasses.field(default_factory=TrainingConfig)
    data: DataConfig = dataclasses.field(default_factory=DataConfig)
    search: SearchConfig = dataclasses.field(default_factory=SearchConfig)
    imports: tuple[str, ...] = ()

    def __post_init__(self):
        check(not isinstance(self.imports, str), "imports", self.imports, "a tuple of paths")
        self.imports = tuple(absolute(path) for path in self.imports)
        load_plugins(self.imports)
        # Relations between the parts are checked by `validate`, after the parts are complete.
        self.validate_parts()

    def validate(self):
        """Raises `ValueError` for the first setting that is wrong or contradicts another part."""
        self.validate_parts()
        check_names(self)
        with settings_of("training"):
            self.training.validate()
        longest, length = self.model.longest, self.data.batches.max_length
        allowed = f"at most {longest}, the length of the longest sequence that the positional "
        allowed += "encoding of the model allows (model.max_length − model.position_offset)"
        check(longest is None or length <= longest, "data.batches.max_length", length, allowed)

    def validate_parts(self):
        architecture_of(self.model)
        checks = {
            "model": self.model.validate,
            "training": self.training.validate_values,
            "search": self.search.validate,
        }
        for part, check_part in checks.items():
            with settings_of(part):
                check_part()
        self.data.validate()
        METHODS[self.search.method]  # refuses an unknown one

    def flat(self):
        """Returns {NAME in --config.NAME=VALUE, such as "model.d_ff": value} of all settings."""
        return dict(flat(dataclasses.asdict(self)))

    def new_model(self, dtype=None):
        """Returns the model with newly initialized weights.

        Args:
            dtype: a Keras dtype policy. None: `training.precision`.
        """
        make = trainable(model_class(self.model))
        return make(self.model, dtype=dtype or self.training.precision)

    def schedule(self):
        """Returns the learning rate schedule."""
        return self.training.learning_rates(self.model.d_model)

    def loss(self):
        """Returns the loss. Raises `ValueError` if it gives no value for each token."""
        name, training = self.training.loss, self.training
        with settings_of("training"):
            loss = named_loss(name, training.loss_options, training.label_smoothing)
        try:
            return token_loss(loss, self.model.vocab_size)
        except NoTokenLoss as error:
            raise ValueError(f"`training.loss`: {name!r} cannot be trained: {error}") from error

    def optimizer(self, model):
        """Returns the optimizer for a model."""
        training = self.training
        arguments = training.optimizer, self.schedule(), training.optimizer_options, model
        with settings_of("training"):
            return named_optimizer(*arguments)

    def compiled_model(self, **compile_options):
        """Returns the model with its optimizer, schedule and loss.

        Args:
            **compile_options: passed to `model.compile`, for example `metrics`.
        """
        self.validate()
        training, on_tensorflow = self.training, keras.config.backend() == "tensorflow"
        for name, off in (("r_drop", 0), ("accumulate", 1)):
            value, allowed = getattr(training, name), f"{off} on other backends than TensorFlow"
            check(on_tensorflow or value == off, f"training.{name}", value, allowed)
        if keras.config.backend() == "jax":
            prepare_jax(training.tf32)
        model = self.new_model()
        freeze(model, training.freeze)
        options = {
            "weighted_metrics": [Perplexity(), TokenAccuracy(in_training=False)],
            "jit_compile": {"auto": "auto", "on": True, "off": False}[training.xla],
            "guided_alignment": training.guided_alignment,
        }
        optimizer = self.optimizer(model)
        if not on_tensorflow:
            optimizer.global_clipnorm = training.clip_norm or optimizer.global_clipnorm
        else:
            names = "accumulate", "clip_norm", "r_drop"
            options |= {name: getattr(training, name) for name in names}
        model.compile(optimizer=optimizer, loss=self.loss(), **{**options, **compile_options})
        return model


@contextlib.contextmanager
def settings_of(part):
    """Names settings in messages as flags do: `training.steps` instead of `steps`."""
    try:
        yield
    except ValueError as error:
        name = re.compile(r"(?<=^`)(?=[a-z_\d]+[`:])|(?<=Received: )(?=[a-z_\d]+[:=])")
        raise ValueError(name.sub(f"{part}.", str(error))) from error


def check_names(settings, prefix=""):
    """Rejects attributes that are no settings: a misspelled name would have no effect."""
    names = [field.name for field in dataclasses.fields(settings)]
    for name, value in vars(settings).items():
        if name not in names:
            raise ValueError(f"there is no setting `{prefix}{name}`{nearest(name, names)}")
        if dataclasses.is_dataclass(value):
            check_names(value, f"{prefix}{name}.")


def freeze(model, names):
    """Excludes the layers with these names from training."""
    layers = {layer.name: layer for layer in model.layers if layer.weights}
    for name in names:
        check(name in layers, "training.freeze", name, f"among {', '.join(layers)}")
        layers[name].trainable = False
    allowed = "names that leave a layer to be trained"
    check(len(model.trainable_weights) > 0, "training.freeze", tuple(names), allowed)


def flat(settings, prefix=""):
    for name, value in settings.items():
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            yield from flat(value, f"{prefix}{name}.")
        else:
            # Settings from JSON have lists in place of tuples.
            yield prefix + name, with_tuples(value)


def differences(before, after):
    """Returns {setting: (value before, value after)} where two experiments differ.

    Settings that only one of the models has are left out.
    """
    before, after = before.flat(), after.flat()
    both = (name for name in before if name in after)
    return {name: (before[name], after[name]) for name in both if before[name] != after[name]}


def set_value(experiment, path, value):
    """Changes the setting of an experiment at a path such as "data.batches.tokens"."""
    *parts, field = path.split(".")
    settings = experiment
    for part in parts:
        settings = getattr(settings, part)
    setattr(settings, field, value)


def load_experiment(config):
    """Loads the `Experiment` of `NAME_OR_FILE[:VARIANT]`: "base", "table3:B_dk16", "mine.py".

    A config may load plug-in files, but adds no entries itself: a run contains plug-in files, not
    the config.

    Args:
        config: a path or, if there is no such file, the name of a shipped config.
    """
    name, colon, variant = config.partition(":")
    path = find_config(name)
    with executing(Plugin(path, loaded=[])) as config:
        get_config = load_config_file(path).get_config
        if colon and not inspect.signature(get_config).parameters:
            raise ValueError(f"the config {name} has no variants. Received: {name}:{variant}")
        try:
            experiment = get_config(variant) if colon else get_config()
        except TypeError as error:
            raise ValueError(f"{path}: {error}") from error
        if not isinstance(experiment, Experiment):
            raise ValueError(
                f"get_config must return an Experiment. Received: {type(experiment).__name__}, "
                f"from {path}"
            )
        load_plugins(experiment.imports)  # perhaps assigned after the `Experiment` was made
    experiment.imports = tuple(config.loaded)
    return experiment


def rival_experiment(variant, paper, multi30k, pieces):
    """Returns the experiment of a rival's config (Table 2).

    Args:
        variant: "paper", or "multi30k" for the settings of the config `multi30k`.
        paper: settings of the model at its paper's size.
        multi30k: settings of a model that trains as long as the Transformer of `multi30k`.
        pieces: size of the paper's vocabulary.
    """
    check_choice("variant", variant, ("paper", "multi30k"))
    if variant == "multi30k":
        return dataclasses.replace(load_experiment("multi30k"), model=multi30k)
    experiment = Experiment(model=paper, training=TrainingConfig(steps=100_000))
    experiment.data.vocabulary.size = pieces
    return experiment
