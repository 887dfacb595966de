"""The paper's Figures 1 and 2, drawn from the layers of a model."""
