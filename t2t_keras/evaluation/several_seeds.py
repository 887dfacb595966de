"""Compares the mean BLEU of systems that were trained with several seeds each."""

import math

import numpy as np
import sacrebleu
from sacrebleu.significance import _bootstrap_resample, _compute_p_value

from t2t_keras.evaluation.bleu import SAMPLES, check_lines, reference_lists


def p_of_means(systems, references):
    """Returns the p-value of each system but the first: "its mean BLEU equals the first system's".

    The test is paired bootstrap resampling of the lines. All runs get the same samples. With a
    single run of each system, the p-values equal those of `paired_bleu`.

    Args:
        systems: a list for each system: the translations by each of its runs.
        references: see bleu.py.
    """
    metric = sacrebleu.BLEU()

    def scores(hypotheses):
        """Returns BLEU of all lines, and of each sample."""
        check_lines(hypotheses, references)
        statistics = metric._extract_corpus_statistics(hypotheses, reference_lists(references))
        _, samples = _bootstrap_resample(statistics, metric, SAMPLES)
        return [each.score for each in (metric._aggregate_and_compute(statistics), *samples)]

    first, *others = (np.mean([scores(each) for each in runs], axis=0) for runs in systems)
    p_values = []
    for mean in others:
        difference, *of_samples = np.abs(mean - first)
        p_value = _compute_p_value(of_samples - np.mean(of_samples), difference)
        p_values.append(1.0 if math.isclose(difference, 0, abs_tol=1e-9) else p_value)
    return p_values
