"""GNMT-style model with mixtures of experts between its layers (Shazeer et al. 2017)."""

import dataclasses

import keras

from pipelines.checks import check, setting
from t2t_keras.rivals.gnmt import GNMT, GNMTConfig
from t2t_keras.rivals.sparse_experts import SparseExperts


@dataclasses.dataclass
class MoEConfig(GNMTConfig):
    """The settings of `MoE`. The defaults are from Shazeer et al. 2017, appendix E.

    For the simplifications, see "Differences from the papers" in this folder's README.

    Args:
        experts: number of experts of a mixture.
        chosen: number of experts that compute a token, at least 2. The gate of a single expert is
            always 1, so the translation loss would not train it.
        expert_units: width of an expert's hidden layer.
        balance: weight of the losses that balance the use of the experts.
    """

    # The experts need a layer between the first and the last.
    num_layers: int = setting(3, at_least=3)
    decoder_layers: int | None = setting(2, at_least=1)
    d_model: int = setting(512, at_least=1)
    dropout: float = setting(0.4, at_least=0, below=1)
    units: int = setting(512, at_least=1)
    attention_units: int = setting(512, at_least=1)
    experts: int = setting(2048, at_least=1)
    chosen: int = setting(4, at_least=2)
    expert_units: int = setting(2048, at_least=1)
    balance: float = setting(0.01, above=0)

    widths = (*GNMTConfig.widths, "expert_units")

    def validate(self):
        super().validate()
        check(self.chosen <= self.experts, "chosen", self.chosen, f"at most experts={self.experts}")
        check(not self.fast_forward, "fast_forward", True, "False: the experts are residual")

    def use_of(self, path):
        """Returns `chosen / experts` for an expert's matrices; for others, see `GNMTConfig`."""
        layer, weight = path.split("/")[0], path.split("/")[-1]
        of_experts = layer.endswith("_experts") and weight in ("inner", "outer")
        return self.chosen / self.experts if of_experts else super().use_of(path)


@keras.saving.register_keras_serializable("t2t_keras")
class MoE(GNMT):
    """`GNMT` with `SparseExperts` before the last encoder layer and after the first decoder layer.

    Every layer whose input is as wide as its output has a residual connection.

    For args and call arguments, see `GNMT`. `config` is a `MoEConfig`.

    References:
        Shazeer et al. 2017 (arXiv 1701.06538).
    """

    config_class = MoEConfig

    def build_layers(self):
        super().build_layers()
        config = self.config
        self.experts = {
            stack: SparseExperts(
                *(config.experts, config.chosen, config.expert_units, config.balance),
                dtype=self.dtype_policy,
                name=f"{stack}_experts",
            )
            for stack in ("encoder", "decoder")
        }
        for experts in self.experts.values():
            experts.build((None, None, config.units))

    def summed(self, index, x, y):
        return x + y if x.shape[-1] == y.shape[-1] else y

    def after_layer(self, stack, index, x, mask, training):
        before = {"encoder": self.config.num_layers - 2, "decoder": 0}
        if index != before[stack]:
            return x
        mixed = self.experts[stack](x, mask=mask, training=training)
        return x + self.dropout(mixed, training=training)
