"""ByteNet on sub-words, a rival in Table 2: at the size of its paper, or for Multi30k.

    t2t-prepare --config=bytenet --tfds=wmt14_translate/de-en --languages=en,de \\
        --output=data/ende
    t2t-train --config=bytenet --data=data/ende --run=runs/bytenet
    t2t-train --config=bytenet:multi30k --data=data/multi30k --run=runs/bytenet_multi30k \\
        --dev_source=val.en --dev_target=val.de

Prepare `data/multi30k` with `--config=multi30k`. The training settings are the Transformer's.
Kalchbrenner et al. 2016 report 23.75 BLEU on newstest2014 (Table 2), for a model of characters. For
results on little text at the Transformer's training cost, see "The Transformer and its rivals" in
t2t_keras/reproduction/RESULTS.md.
"""

from t2t_keras.experiment import rival_experiment
from t2t_keras.rivals.bytenet import ByteNetConfig


def get_config(variant="paper"):
    multi30k = ByteNetConfig(vocab_size=8000, num_layers=10, d_model=192, units=96, dropout=0.3)
    return rival_experiment(variant, ByteNetConfig(), multi30k, pieces=37_000)
