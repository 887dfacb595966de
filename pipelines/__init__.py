"""From text to batches. Imports nothing of `t2t_keras`: datasets and tokenizers are handed in."""
