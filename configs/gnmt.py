"""A GNMT-style model, a rival in Table 2: at the size of its paper, or for Multi30k.

The variants `deep_att` and `deep_att_multi30k` have the fast-forward connections of Deep-Att (Zhou
et al. 2016), and else the same settings.

    t2t-prepare --config=gnmt --tfds=wmt14_translate/de-en --languages=en,de --output=data/ende
    t2t-train --config=gnmt --data=data/ende --run=runs/gnmt
    t2t-train --config=gnmt:multi30k --data=data/multi30k --run=runs/gnmt_multi30k \\
        --dev_source=val.en --dev_target=val.de

Prepare `data/multi30k` with `--config=multi30k`. The training settings are the Transformer's.
Wu et al. 2016 report 24.6 BLEU on newstest2014 (Table 2). For results on little text at the
Transformer's training cost, see "The Transformer and its rivals" in
t2t_keras/reproduction/RESULTS.md.
"""

from t2t_keras.checks import check_choice
from t2t_keras.experiment import rival_experiment
from t2t_keras.rivals.gnmt import GNMTConfig

VARIANTS = ("paper", "multi30k", "deep_att", "deep_att_multi30k")


def get_config(variant="paper"):
    check_choice("variant", variant, VARIANTS)
    size = "multi30k" if variant.endswith("multi30k") else "paper"
    fast_forward = variant.startswith("deep_att")
    multi30k = GNMTConfig(
        vocab_size=8000,
        source_vocab_size=None,
        tie_output=True,
        num_layers=3,
        d_model=128,
        units=160,
        attention_units=128,
        dropout=0.3,
        fast_forward=fast_forward,
    )
    paper = GNMTConfig(fast_forward=fast_forward)
    return rival_experiment(size, paper, multi30k, pieces=32_000)
