import keras
import numpy as np
import pytest
from support.models.helpers import TINY, pairs

from t2t_keras import TransformerConfig
from t2t_keras.config_files import find_config, load_config_file, shipped_configs
from t2t_keras.experiment import Experiment, differences, load_experiment
from t2t_keras.training.training_config import TrainingConfig


def test_shipped_configs_are_found_by_name():
    assert {"base", "big", "parsing", "table3"} <= set(shipped_configs())
    assert load_experiment("base").model == load_experiment("table3").model == TransformerConfig()
    assert load_experiment("big:enfr").model.dropout == 0.1
    parsing = load_experiment("parsing:wsj")
    model, search = parsing.model.resolved(), parsing.search
    assert (model.num_layers, model.d_model, model.d_k) == (4, 1024, 128)
    assert (search.beam, search.alpha, search.extra_length) == (21, 0.3, 300)


def test_the_config_of_table_3_has_the_rows_and_values_that_the_paper_prints():
    table3 = load_config_file(find_config("table3"))
    base = {
        **{"num_layers": 6, "d_model": 512, "d_ff": 2048, "num_heads": 8, "d_k": 64, "d_v": 64},
        **{"dropout": 0.1, "positions": "sinusoidal", "label_smoothing": 0.1},
    }
    printed = {
        "base": {},
        "A_h1": {"num_heads": 1, "d_k": 512, "d_v": 512},
        "A_h4": {"num_heads": 4, "d_k": 128, "d_v": 128},
        "A_h16": {"num_heads": 16, "d_k": 32, "d_v": 32},
        "A_h32": {"num_heads": 32, "d_k": 16, "d_v": 16},
        "B_dk16": {"d_k": 16},
        "B_dk32": {"d_k": 32},
        **{f"C_N{layers}": {"num_layers": layers} for layers in (2, 4, 8)},
        "C_dmodel256": {"d_model": 256, "d_k": 32, "d_v": 32},
        "C_dmodel1024": {"d_model": 1024, "d_k": 128, "d_v": 128},
        **{f"C_dff{width}": {"d_ff": width} for width in (1024, 4096)},
        **{f"D_dropout{rate}": {"dropout": rate} for rate in (0.0, 0.2)},
        **{f"D_smoothing{rate}": {"label_smoothing": rate} for rate in (0.0, 0.2)},
        "E_learned": {"positions": "learned"},
        "big": {"d_model": 1024, "d_ff": 4096, "num_heads": 16, "dropout": 0.3},
    }
    assert list(table3.MODELS) == [*printed, "big_100K"]
    big, short = (table3.get_config(row) for row in ("big", "big_100K"))
    assert differences(big, short) == {"training.steps": (300_000, 100_000)}
    assert load_experiment("big").model == big.model
    for row, differing in printed.items():
        experiment = table3.get_config(row)
        settings = vars(experiment.model.resolved()) | vars(experiment.training)
        assert {name: settings[name] for name in base} == base | differing, row


def test_students_have_a_deep_encoder_and_a_shallow_decoder():
    for variant, shape in {
        "tiny": (32_000, 6, 2, 256, 1536),
        "base_1": (32_000, 6, 1, 512, 2048),
        "multi30k": (8000, 4, 2, 128, 512),
    }.items():
        experiment = load_experiment(f"student:{variant}")
        experiment.validate()
        model = experiment.model
        assert (model.vocab_size, *model.layers, model.d_model, model.d_ff) == shape
        assert experiment.data.vocabulary.size == model.vocab_size
        assert model.pre_norm == (variant == "multi30k")
    assert experiment.training == load_experiment("multi30k:pre_norm").training


CONFIG = (
    "from t2t_keras.experiment import Experiment\n"
    "from t2t_keras.training.training_config import TrainingConfig\n"
    "def get_config(variant=''):\n"
    "    return Experiment(training=TrainingConfig(warmup_steps=int(variant or 7)))\n"
)


def test_a_path_takes_precedence_over_a_shipped_name(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(CONFIG)
    assert load_experiment(f"{tmp_path / 'mine.py'}:9").training.warmup_steps == 9
    (tmp_path / "base").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"must be a Python file ending in .py"):
        load_experiment("base")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("bsae", r"no config 'bsae'.*did you mean 'base'.*Shipped are"),
        ("table3:Bdk16", r"`variant` must be one of .*did you mean 'B_dk16'"),
        ("base:big", "the config base has no variants"),
        ("student:tiny_2", r"`variant` must be one of .*Received: variant='tiny_2'"),
        (__file__, "must define get_config"),
    ],
)
def test_wrong_configs_and_variants_are_named(config, message):
    with pytest.raises(ValueError, match=message):
        load_experiment(config)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def get_config(variant=''):\n    return {}\n", "must return an Experiment. .*dict"),
        ("def get_config(:\n", "does not run: SyntaxError"),
        ("import not_installed\n", "does not run: ModuleNotFoundError: .*not_installed"),
        (CONFIG.replace("warmup_steps", "wramup_steps"), "keyword argument 'wramup_steps'"),
    ],
)
def test_an_error_in_a_config_file_is_named_with_the_file(tmp_path, code, message):
    (tmp_path / "mine.py").write_text(code)
    with pytest.raises(ValueError, match=rf"(?s)mine.py.*{message}|{message}.*mine.py"):
        load_experiment(str(tmp_path / "mine.py"))


def test_settings_are_listed_by_their_names_on_the_command_line():
    settings = Experiment(model=TransformerConfig(d_ff=99)).flat()
    assert settings["model.d_ff"] == 99
    assert settings["data.vocabulary.symbols"] == ()
    assert not any(isinstance(value, dict) for value in settings.values())


def test_a_misspelled_setting_is_refused():
    experiment = load_experiment("quickstart")
    experiment.training.stps = 3
    with pytest.raises(ValueError, match=r"no setting `training.stps` \(did you mean 'steps'\?\)"):
        experiment.validate()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"label_smoothing": 1.0}, r"`training\.label_smoothing` must be"),
        ({"warmup_steps": 0}, r"`training\.warmup_steps` must be"),
        ({"schedule": "constnt"}, r"`training.schedule` must be .*did you mean 'constant'"),
        ({"schedule": "constant"}, r"`training.learning_rate` must be below 0.1 .* such as 1e-4"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Experiment(training=TrainingConfig(**settings))


def test_the_schedule_is_the_papers_or_has_the_given_peak():
    def rates(**settings):
        experiment = Experiment(training=TrainingConfig(warmup_steps=10, **settings))
        return [float(experiment.schedule()(step)) for step in (9, 39)]

    assert rates() == pytest.approx([512**-0.5 * 10**-0.5, 512**-0.5 * 40**-0.5])
    assert rates(schedule="inverse_sqrt", learning_rate=1e-4) == pytest.approx([1e-4, 0.5e-4])
    assert rates(schedule="constant", learning_rate=1e-4) == pytest.approx([1e-4, 1e-4])
    assert rates(schedule="linear", learning_rate=1e-4, steps=69) == pytest.approx([1e-4, 0.5e-4])


def test_sequences_longer_than_learned_positions_are_refused_before_training():
    settings = {**TINY, "num_layers": 1, "positions": "learned", "max_length": 300}
    experiment = Experiment(model=TransformerConfig(**settings, position_offset=44))
    experiment.validate()
    experiment.data.batches.max_length = 257
    message = r"`data.batches.max_length` must be at most 256, .* Received: .*max_length=257"
    for call in (experiment.validate, experiment.compiled_model):
        with pytest.raises(ValueError, match=message):
            call()


def test_the_compiled_model_has_the_papers_optimizer_schedule_and_loss():
    experiment = Experiment(
        model=TransformerConfig(**TINY | {"num_layers": 1}),
        training=TrainingConfig(label_smoothing=0.2, warmup_steps=50),
    )
    model = experiment.compiled_model()
    adam = model.optimizer
    assert (adam.beta_1, adam.beta_2, adam.epsilon) == (0.9, 0.98, 1e-9)
    assert model.loss.label_smoothing == 0.2
    assert float(adam.learning_rate) == pytest.approx(16**-0.5 * 50**-1.5)
    inputs = pairs()
    model.run_eagerly = True  # tracing takes longer than the training
    history = model.fit(inputs, inputs["target"], verbose=0).history
    assert sorted(history) == ["loss", "perplexity"]
    assert np.isfinite(history["loss"]).all()


@pytest.mark.parametrize(("name", "value", "off"), [("r_drop", 5.0, 0), ("accumulate", 2, 1)])
def test_settings_are_refused_where_the_step_does_not_have_them(monkeypatch, name, value, off):
    experiment = load_experiment("quickstart")
    setattr(experiment.training, name, value)
    monkeypatch.setattr(keras.config, "backend", lambda: "jax")
    with pytest.raises(ValueError, match=rf"`training\.{name}` must be {off} on other backends"):
        experiment.compiled_model()
