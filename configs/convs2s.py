"""ConvS2S, a rival in Table 2: at the size of its paper, or for Multi30k.

    t2t-prepare --config=convs2s --tfds=wmt14_translate/de-en --languages=en,de \\
        --output=data/ende
    t2t-train --config=convs2s --data=data/ende --run=runs/convs2s
    t2t-train --config=convs2s:multi30k --data=data/multi30k --run=runs/convs2s_multi30k \\
        --dev_source=val.en --dev_target=val.de

Prepare `data/multi30k` with `--config=multi30k`. The training settings are the Transformer's.
Gehring et al. 2017 report 25.16 BLEU on newstest2014 (Table 2). For results on little text at the
Transformer's training cost, see "The Transformer and its rivals" in
t2t_keras/reproduction/RESULTS.md.
"""

from t2t_keras.experiment import rival_experiment
from t2t_keras.rivals.convs2s import ConvS2SConfig


def get_config(variant="paper"):
    multi30k = ConvS2SConfig(
        vocab_size=8000,
        source_vocab_size=None,
        tie_output=True,
        num_layers=5,
        d_model=128,
        units=160,
        wide_layers=0,
        top_layers=0,
        max_length=256,
        dropout=0.3,
    )
    return rival_experiment(variant, ConvS2SConfig(), multi30k, pieces=40_000)
