"""The paper's model for English constituency parsing (§6.3): 4 layers, d_model = 1024.

    t2t-parameters --config=parsing                  # WSJ only, 16,000 pieces
    t2t-parameters --config=parsing:semi_supervised  # 32,000 pieces

The paper selected its dropout rates on section 22 but does not state them. The value 0.2 is from
`transformer_parsing_base` in tensor2tensor, the authors' code. The heads have d_k = d_model / h =
128. The search uses beam 21, α = 0.3 and outputs of at most 300 tokens more than the source.
"""

from t2t_keras.checks import check_choice
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.experiment import Experiment
from t2t_keras.transformer_config import TransformerConfig

VOCABULARY = {"": 16000, "wsj": 16000, "semi_supervised": 32000}


def get_config(variant=""):
    check_choice("variant", variant, VOCABULARY)
    experiment = Experiment(
        model=TransformerConfig(
            vocab_size=VOCABULARY[variant],
            num_layers=4,
            d_model=1024,
            dropout=0.2,
            attention_dropout=0.2,
        ),
        search=SearchConfig(beam=21, alpha=0.3, extra_length=300),
    )
    experiment.data.vocabulary.size = VOCABULARY[variant]
    # A tree is much longer than its sentence, and different sentences may have the same brackets.
    experiment.data.cleaning.max_ratio = 0
    experiment.data.cleaning.max_characters = 0
    experiment.data.cleaning.duplicates = False
    return experiment
