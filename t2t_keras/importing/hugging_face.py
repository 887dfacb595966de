"""Marian models in Hugging Face's layout, such as Helsinki-NLP's OPUS-MT."""

import numpy as np

from t2t_keras.checks import check, check_boolean, check_choice, check_integer, check_rate
from t2t_keras.importing.accompanying_files import read_json_file, read_sentencepiece
from t2t_keras.importing.files.pytorch_file import read_pytorch
from t2t_keras.importing.files.safetensors_file import read_safetensors
from t2t_keras.importing.ids import ABSENT, Ids
from t2t_keras.importing.imported import Imported, ImportedWeights, Pieces
from t2t_keras.importing.tensors import Tensors, zeros
from t2t_keras.transformer_config import TransformerConfig

READERS = {"model.safetensors": read_safetensors, "pytorch_model.bin": read_pytorch}
ACTIVATIONS = {
    "relu": "relu",
    "swish": "swish",
    "silu": "swish",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "quick_gelu": "gelu_sigmoid",
}
SOURCE = "model.encoder.embed_tokens.weight"
TARGET = "model.decoder.embed_tokens.weight"
SHARED, OUTPUT = "model.shared.weight", "lm_head.weight"
NORM_EPSILON = 1e-5  # PyTorch's default, which the models do not change


def read(folder):
    """Reads a folder with a Marian model of Hugging Face and returns an `Imported`."""
    return HuggingFaceFolder(folder).imported()


class HuggingFaceFolder:
    """A folder written by `save_pretrained` of `MarianMTModel` and `MarianTokenizer`."""

    def __init__(self, folder):
        self.folder = folder
        self.settings = read_json_file(self.file("config.json"), {})
        if (kind := self.settings.get("model_type")) != "marian":
            raise ValueError(
                f"{folder} holds a model of Hugging Face's type {kind!r}. Only those of the type "
                "'marian' are imported"
            )
        self.tokenizer = read_json_file(folder / "tokenizer_config.json", {})
        self.path = self.weights_file()
        self.tensors = Tensors(READERS[self.path.name](self.path), self.path)

    def file(self, name):
        """Returns the path of a required file."""
        if not (self.folder / name).is_file():
            raise ValueError(f"{self.folder} has no {name}, which is part of a Marian model")
        return self.folder / name

    def weights_file(self):
        for name in READERS:
            if (self.folder / name).is_file():
                return self.folder / name
        raise ValueError(
            f"{self.folder} has no weights: neither {' nor '.join(READERS)}. Download one of them. "
            "A model in several files must be saved as one"
        )

    def imported(self):
        weights = ImportedWeights()
        config = self.config()
        matrices = self.matrices(config["d_model"])
        shared = matrices["source"] is matrices["target"]
        vocabularies = self.vocabularies(matrices, shared)
        orders = {side: self.order_of(pieces) for side, pieces in vocabularies.items()}
        source, target = (orders[side] for side in ("source", "target"))
        tied = matrices["output"] is matrices["target"]
        config |= {"vocab_size": len(target), "tie_output": tied, "output_bias": True}
        start = self.setting(check_integer, "decoder_start_token_id", at_least=0)
        if start >= target.size:
            raise ValueError(
                f"{self.folder}/config.json: decoder_start_token_id {start} is not among the "
                f"{target.size:,} ids"
            )
        weights.by_path["embedding/matrix"] = target.input_matrix(matrices["target"], start)
        if not shared:
            config["source_vocab_size"] = len(source)
            weights.by_path["source_embedding/matrix"] = source.input_matrix(matrices["source"])
        if not tied:
            output = target.output_matrix(matrices["output"])
            weights.by_path["output_embedding/matrix"] = output
        bias = self.tensors.find("final_logits_bias", 1, target.size)
        bias = target.output_bias(bias and bias.reshaped(target.size))
        weights.by_path["embedding/bias" if tied else "output_embedding/bias"] = bias
        for stack in ("encoder", "decoder"):
            self.check_positions(stack, config["d_model"])
            self.blocks(stack, config, weights)
        self.tensors.check_all_used()
        notes = []
        return Imported(
            "Hugging Face, Marian",
            TransformerConfig(**config),
            weights.by_path,
            *(
                self.text(side, orders[side].ordered(vocabularies[side]))
                for side in ("source", "target")
            ),
            search=self.search(target, notes),
            notes=notes,
        )

    def setting(self, check, name, default=None, **allowed):
        """Returns a setting of config.json after checking it with the function `check`."""
        value = self.settings.get(name, default)
        try:
            check(name, value, **allowed)
        except ValueError as error:
            raise ValueError(f"{self.folder}/config.json: {error}") from error
        return value

    def integer(self, name):
        return self.setting(check_integer, name)

    def both(self, name):
        """Returns an integer setting that must be the same for encoder and decoder."""
        values = [self.integer(f"{stack}_{name}") for stack in ("encoder", "decoder")]
        if values[0] != values[1]:
            raise ValueError(
                f"{self.folder} is not imported: its encoder and decoder must have the same "
                f"{name}. Received: {values[0]} and {values[1]}"
            )
        return values[0]

    def config(self):
        """Returns settings of the `TransformerConfig`, except settings of the matrices."""
        choices = {"choices": list(ACTIVATIONS)}
        activation = self.setting(check_choice, "activation_function", "gelu", **choices)
        scaled = self.setting(check_boolean, "scale_embedding", False)
        return {
            "num_layers": self.integer("encoder_layers"),
            "decoder_layers": self.integer("decoder_layers"),
            "d_model": self.integer("d_model"),
            "d_ff": self.both("ffn_dim"),
            "num_heads": self.both("attention_heads"),
            "activation": ACTIVATIONS[activation],
            "embedding_scale": None if scaled else 1.0,
            "dropout": self.setting(check_rate, "dropout", 0.1),
            "attention_dropout": self.setting(check_rate, "attention_dropout", 0.0),
            "positions": "hugging_face",
            "norm_epsilon": NORM_EPSILON,
            "attention_bias": True,
        }

    # Weights

    def matrices(self, d_model):
        """Returns the matrices of source, target and output; tied matrices are the same object."""
        tied = self.setting(check_boolean, "tie_word_embeddings", True)
        shared = self.setting(check_boolean, "share_encoder_decoder_embeddings", True)
        if tied and shared:
            source = target = output = self.only_one(d_model, SHARED, SOURCE, TARGET, OUTPUT)
        elif tied:
            source = self.only_one(d_model, SOURCE)
            target = output = self.only_one(d_model, TARGET, OUTPUT)
        else:
            source, target = (
                # transformers 4 shares the input matrices, transformers 5 does not.
                self.only_one(d_model, SHARED if shared and name not in self.tensors else name)
                for name in (SOURCE, TARGET)
            )
            if shared:
                self.tensors.ignore([SHARED])  # transformers 5 stores it, but does not use it
                if equal(source, target):
                    target = source
            output = self.only_one(d_model, OUTPUT)
        return {"source": source, "target": target, "output": output}

    def only_one(self, d_model, *names):
        """Returns a matrix that is stored under at least one of these names."""
        found = [name for name in names if name in self.tensors]
        if not found:
            raise ValueError(f"{self.path} has no matrix {' or '.join(names)}")
        first, *others = (self.tensors.take(name, None, d_model) for name in found)
        for name, other in zip(found[1:], others, strict=True):
            if not equal(first, other):
                raise ValueError(
                    f"{self.path} is not imported: {found[0]} and {name} differ, but config.json "
                    "ties them. Some releases of transformers wrote such files. Save the model "
                    "again with the release that it was trained with"
                )
        return first

    def check_positions(self, stack, d_model):
        """Raises `ValueError` if the file has positional encodings that differ from the formula."""
        table = self.tensors.find(f"model.{stack}.embed_positions.weight", None, d_model)
        if table is None:
            return
        half = d_model // 2
        angles = np.outer(np.arange(table.shape[0]), 1e4 ** (-np.arange(half) / half))
        formula = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        if (
            d_model % 2 or np.abs(table.read() - formula).max(initial=0) > 0.01
        ):  # the tolerance allows for 16-bit numbers
            raise ValueError(
                f"{self.path} is not imported: its {stack} has a table of positions that is not "
                "the formula of Hugging Face's Marian models"
            )

    def blocks(self, stack, config, weights):
        d_model, d_ff = config["d_model"], config["d_ff"]
        layers = config["num_layers" if stack == "encoder" else "decoder_layers"]
        for i in range(layers):
            theirs, ours = f"model.{stack}.layers.{i}", f"{stack}/block_{i}"
            kinds = {"self_attn": "self_attention"}
            if stack == "decoder":
                kinds["encoder_attn"] = "cross_attention"
            for kind, name in kinds.items():
                projections = (
                    self.dense(f"{theirs}.{kind}.{part}_proj", d_model, d_model)
                    for part in ("q", "k", "v", "out")
                )
                norm = self.norm(f"{theirs}.{kind}_layer_norm", d_model)
                weights.attention(f"{ours}/{name}", norm, *projections)
            weights.feed_forward(
                f"{ours}/feed_forward",
                self.norm(f"{theirs}.final_layer_norm", d_model),
                self.dense(f"{theirs}.fc1", d_model, d_ff),
                self.dense(f"{theirs}.fc2", d_ff, d_model),
            )

    def norm(self, name, d_model):
        return [self.tensors.take(f"{name}.{part}", d_model) for part in ("weight", "bias")]

    def dense(self, name, width_in, width_out):
        """Returns (kernel, bias) of a dense layer."""
        kernel = self.tensors.take(f"{name}.weight", width_out, width_in).transposed
        return kernel, self.tensors.find(f"{name}.bias", width_out) or zeros(width_out)

    # Text

    def vocabularies(self, matrices, shared):
        """Returns each side's tokens, ordered by id."""
        names = {"source": "vocab.json", "target": "vocab.json"}
        if self.tokenizer.get("separate_vocabs") or (self.folder / "target_vocab.json").is_file():
            names["target"] = "target_vocab.json"
        result = {
            side: self.vocabulary(name, matrices[side].shape[0]) for side, name in names.items()
        }
        if shared and result["source"] != result["target"]:
            raise ValueError(
                f"{self.folder} is not imported: vocab.json and target_vocab.json differ, but "
                "config.json gives source and target one embedding matrix"
            )
        return result

    def vocabulary(self, name, size):
        path = self.file(name)
        ids = read_json_file(path, {})
        if not all(type(id) is int and 0 <= id < size for id in ids.values()):
            raise ValueError(f"{path} must give each token an id from 0 to {size - 1:,}")
        if len(set(ids.values())) != len(ids):
            raise ValueError(f"{path} gives two tokens the same id")
        tokens = {id: token for token, id in ids.items()}
        # Matrices may have more rows than there are tokens, because some sizes are faster.
        missing = (id for id in range(size) if id not in tokens)
        tokens |= {id: f"<unused_{id}>" for id in missing}
        return [tokens[id] for id in range(size)]

    def order_of(self, pieces):
        """Returns the `Ids` of a vocabulary."""
        found = {}
        defaults = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
        for name, default in defaults.items():
            token = self.tokenizer.get(name) or default
            token = token.get("content") if isinstance(token, dict) else token
            found[name] = pieces.index(token) if token in pieces else ABSENT
        end = self.settings.get("eos_token_id", 0)
        if found["eos_token"] == ABSENT or end != found["eos_token"]:
            raise ValueError(
                f"{self.folder}: the end of a text must be one token, {defaults['eos_token']} in "
                f"vocab.json and eos_token_id in config.json. Received: ids {found['eos_token']} "
                f"and {end}"
            )
        padding = found["pad_token"]
        if padding == ABSENT and "pad_token_id" in self.settings:
            # Some vocabularies do not name the padding token. The model never writes it.
            id = self.setting(check_integer, "pad_token_id", at_least=0)
            padding = id if id < len(pieces) and id not in (end, found["unk_token"]) else ABSENT
        return Ids(len(pieces), padding, ABSENT, end, found["unk_token"])

    def text(self, side, pieces):
        """Returns the `Pieces` of a side. Sources may begin with language codes, such as >>de<<."""
        model, _ = read_sentencepiece(self.file(f"{side}.spm"))
        return Pieces(pieces, "sentencepiece", model, codes=side == "source")

    def search(self, order, notes):
        """Returns changes to the `SearchConfig`. log P is divided by length^alpha.

        Args:
            order: the target's `Ids`.
            notes: a list to which unused settings are added.
        """
        # Newer releases write search settings to generation_config.json.
        generation = read_json_file(self.folder / "generation_config.json", {})
        self.settings = {**self.settings, **generation}
        beam = self.setting(check_integer, "num_beams", 1)
        alpha = self.setting(check_alpha, "length_penalty", 1.0)
        search = {"beam": beam, "alpha": alpha, "penalty": "marian"}
        if size := self.setting(check_integer, "no_repeat_ngram_size", 0, at_least=0):
            search["no_repeat_ngram"] = size
        words = self.settings.get("bad_words_ids") or []
        if not isinstance(words, list) or not all(isinstance(word, list) for word in words):
            raise ValueError(f"{self.folder}: bad_words_ids must be a list of lists of ids")
        ids = [word[0] for word in words if len(word) == 1]
        # Padding and begin tokens are never written, and the end token must not be banned.
        ours = {int(theirs): id for id, theirs in enumerate(order.theirs) if id > 2 and theirs >= 0}
        banned = tuple(sorted({ours[id] for id in ids if type(id) is int and id in ours}))
        if banned:
            search["banned"] = banned
        if len(ids) < len(words):
            notes.append(
                f"{len(words) - len(ids)} of bad_words_ids are sequences, which a search here "
                "cannot exclude"
            )
        return search


def check_alpha(name, value):
    number = isinstance(value, int | float) and not isinstance(value, bool)
    check(number and 0 <= value < float("inf"), name, value, "a number of at least 0")


def equal(one, other):
    """Returns whether two tensors contain the same numbers."""
    if one is other:
        return True
    return one.shape == other.shape and np.array_equal(one.stored(), other.stored())
