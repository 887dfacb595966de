"""MoE, a rival in Table 2 (mixtures of experts): at the size of its paper, or for Multi30k.

    t2t-prepare --config=moe --tfds=wmt14_translate/de-en --languages=en,de --output=data/ende
    t2t-train --config=moe --data=data/ende --run=runs/moe
    t2t-train --config=moe:multi30k --data=data/multi30k --run=runs/moe_multi30k \\
        --dev_source=val.en --dev_target=val.de

Prepare `data/multi30k` with `--config=multi30k`. The training settings are the Transformer's. At
the paper's size, the model has 8.7 billion weights. Every GPU holds all weights; with gradients and
Adam's moments, they take 139 GB. Shazeer et al. 2017 report 26.03 BLEU on newstest2014 (Table 2).
For results on little text at the Transformer's training cost, see "The Transformer and its rivals"
in t2t_keras/reproduction/RESULTS.md.
"""

from t2t_keras.experiment import rival_experiment
from t2t_keras.rivals.moe import MoEConfig


def get_config(variant="paper"):
    multi30k = MoEConfig(
        vocab_size=8000,
        source_vocab_size=None,
        tie_output=True,
        d_model=128,
        units=128,
        attention_units=128,
        experts=16,
        chosen=2,
        expert_units=128,
        dropout=0.3,
    )
    return rival_experiment(variant, MoEConfig(), multi30k, pieces=32_000)
