"""Small models that learn from a larger one's translations: `t2t-distill --config=student:…`.

    t2t-distill runs/teacher --data=data/ende --run=runs/student --config=student:tiny
    t2t-parameters --config=student:small_1

`tiny`, `small` and `base` have 6 encoder layers, 2 decoder layers and the widths of the students
of Firefox and browsermt (https://github.com/browsermt/students), whose decoders have recurrent
units (SSRU) instead of self-attention. Like these, they train without dropout and label smoothing:
millions of translations are too many to be learned by heart. `multi30k` has the encoder, half the
decoder and the training settings of the config `multi30k:pre_norm`. Each has a variant with one
decoder layer: `tiny_1`.

On LiteRT in int8, `tiny` has 28 MB, `small` 43, `base` 63 and `multi30k` 4.4. On one core of an AMD
EPYC (AVX-512 VNNI), `multi30k` translates a sentence of 16 tokens greedily in 2.0 ms, `multi30k_1`
in 1.7 (with norms behind, which are two fewer); the teacher takes 4.9 ms with beam 4. `tiny` takes
at most 11 ms, `small` 32, `base` 52: the machine was busy (t2t_keras/distillation/RESULTS.md).
"""

from t2t_keras.checks import check_choice
from t2t_keras.experiment import Experiment, load_experiment
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig

WIDTHS = {"tiny": (256, 1536), "small": (384, 1536), "base": (512, 2048)}  # {name: (d_model, d_ff)}
SIZES = (*WIDTHS, "multi30k")
VARIANTS = (*SIZES, *(f"{size}_1" for size in SIZES))


def get_config(variant="tiny"):
    check_choice("variant", variant, VARIANTS)
    size, _, layers = variant.partition("_")
    experiment = (
        load_experiment("multi30k:pre_norm") if size == "multi30k" else published(*WIDTHS[size])
    )
    experiment.model.decoder_layers = int(layers or 2)
    return experiment


def published(d_model, d_ff):
    """Returns the experiment of a published student, whose widths are given."""
    experiment = Experiment(
        model=TransformerConfig(
            vocab_size=32_000, num_layers=6, d_model=d_model, d_ff=d_ff, dropout=0.0
        ),
        training=TrainingConfig(steps=200_000, label_smoothing=0.0),
    )
    experiment.data.vocabulary.size = 32_000
    return experiment
