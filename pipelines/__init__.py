"""Text in, batches out. This package imports nothing from `t2t_keras`."""
