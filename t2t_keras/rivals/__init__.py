"""The other systems of Table 2: models with the interface of `Transformer`."""
