"""The paper's big model (Table 3, row "big"): 214 million parameters with 37,000 pieces.

    t2t-parameters --config=big          # English–German: dropout 0.3
    t2t-parameters --config=big:enfr     # English–French: dropout 0.1 (§6.1)

For English–French the vocabulary has 32,000 word pieces (§5.1).
"""

from pipelines.tokenizers.vocabulary import VocabularyConfig
from t2t_keras.checks import check_choice
from t2t_keras.experiment import Experiment
from t2t_keras.transformer_config import TransformerConfig

DROPOUT = {"": 0.3, "ende": 0.3, "enfr": 0.1}


def get_config(variant=""):
    check_choice("variant", variant, DROPOUT)
    experiment = Experiment(
        model=TransformerConfig(d_model=1024, d_ff=4096, num_heads=16, dropout=DROPOUT[variant])
    )
    if variant == "enfr":
        experiment.model.vocab_size = 32000
        experiment.data.vocabulary = VocabularyConfig(kind="word_pieces", size=32000)
    return experiment
