"""The systems of Table 2: their configs and texts, and the figures that the paper prints."""

from typing import NamedTuple


class PaperRow(NamedTuple):
    config: str  # shipped config with the row's settings
    data_set: str  # TensorFlow data set of the text
    languages: tuple  # source and target language
    checkpoints: int  # number of checkpoints that the training wrote, one every ten minutes
    averaged: int  # number of final checkpoints that were averaged
    bleu: float | None  # in the paper, or None if not given
    flops: float | None  # training cost in the paper, or None if not given


EN_DE = ("wmt14_translate/de-en", ("en", "de"))
EN_FR = ("wmt14_translate/fr-en", ("en", "fr"))
# (checkpoints that the training writes, checkpoints averaged)
BASE = (72, 5)  # 12 hours of training
BIG = (504, 20)  # 3.5 days of training
PAPER = {
    "ende_base": PaperRow("wmt14_ende:base", *EN_DE, *BASE, 27.3, 3.3e18),
    "ende_big": PaperRow("wmt14_ende:big", *EN_DE, *BIG, 28.4, 2.3e19),
    "enfr_base": PaperRow("wmt14_enfr:base", *EN_FR, *BASE, 38.1, 3.3e18),
    "enfr_big": PaperRow("wmt14_enfr:big", *EN_FR, *BIG, 41.8, 2.3e19),  # 41.0 in version 1
    "ende_bytenet": PaperRow("bytenet", *EN_DE, *BASE, 23.75, None),
    "ende_gnmt": PaperRow("gnmt", *EN_DE, *BASE, 24.6, 2.3e19),
    "ende_convs2s": PaperRow("convs2s", *EN_DE, *BASE, 25.16, 9.6e18),
    "ende_moe": PaperRow("moe", *EN_DE, *BASE, 26.03, 2.0e19),
    "ende_deepatt": PaperRow("gnmt:deep_att", *EN_DE, *BASE, None, None),
    "enfr_deepatt": PaperRow("gnmt:deep_att", *EN_FR, *BASE, 39.2, 1.0e20),
    "enfr_gnmt": PaperRow("gnmt", *EN_FR, *BASE, 39.92, 1.4e20),
    "enfr_convs2s": PaperRow("convs2s", *EN_FR, *BASE, 40.46, 1.5e20),
    "enfr_moe": PaperRow("moe", *EN_FR, *BASE, 40.56, 1.2e20),
}
# {row: (BLEU, training cost)} of the ensembles in the paper.
ENSEMBLES = {
    "ende_gnmt": (26.30, 1.8e20),
    "ende_convs2s": (26.36, 7.7e19),
    "enfr_deepatt": (40.4, 8.0e20),
    "enfr_gnmt": (41.16, 1.1e21),
    "enfr_convs2s": (41.29, 1.2e21),
}
# Rows that are reproduced by default: the paper's own models.
OWN = ("ende_base", "ende_big", "enfr_base", "enfr_big")
