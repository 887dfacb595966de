"""Marian's models: model.npz, which includes the settings, and vocabularies next to it."""

import dataclasses
from pathlib import Path

import numpy as np

from t2t_keras.importing.accompanying_files import find_vocabularies, sentencepiece_fields
from t2t_keras.importing.files.npz_file import NpzFile
from t2t_keras.importing.imported import Imported, ImportedWeights
from t2t_keras.importing.marian_settings import Settings
from t2t_keras.importing.marian_vocabulary import SUFFIXES, read_vocabulary
from t2t_keras.importing.tensors import Tensor, Tensors, zeros
from t2t_keras.transformer_config import TransformerConfig

SETTINGS = "special:model.yml"
ACTIVATIONS = ("relu", "swish", "gelu")
# {(transformer-preprocess, -postprocess, -postprocess-top), without dropout: whether pre-norm}
NORMS = {("", "an", ""): False, ("n", "a", "n"): True}
# {setting: values of the paper's model}. Other values are rejected.
REQUIRED = {
    "type": ("transformer",),
    "transformer-decoder-autoreg": ("", "self-attention"),
    "transformer-postprocess-emb": ("", "d"),
    "transformer-ffn-activation": ACTIVATIONS,
    "transformer-ffn-depth": ("", "2"),
    "transformer-decoder-ffn-depth": ("", "0", "2"),
    "transformer-attention-mask": ("", "default"),
    "lemma-dim-emb": ("", "0"),
    "transformer-no-projection": ("", "false"),
    "transformer-pool": ("", "false"),
    "transformer-disable-position-embeddings": ("", "false"),
    "ulr": ("", "false"),
    "right-left": ("", "false"),
}
SIDES = ("source", "target")


def read(folder, model=None):
    """Reads a folder with a model of Marian and returns an `Imported`.

    Args:
        folder: path of the folder.
        model: path of the .npz file. None: the file that decoder.yml names, or the only one.
    """
    return MarianFolder(folder, model).imported()


class MarianFolder:
    """A folder with a model.npz, vocabularies, and often a decoder.yml that names them."""

    def __init__(self, folder, model=None):
        self.folder = folder
        self.decoder = self.decoder_settings()
        file = NpzFile(model or self.model_path())
        if SETTINGS not in file.others:
            raise ValueError(f"{file.path} is not a model of Marian: it has no {SETTINGS}")
        try:
            text = file.read_bytes(SETTINGS).rstrip(b"\0").decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{file.path}: {SETTINGS} must be UTF-8: {error}") from error
        self.settings = Settings(text, f"{SETTINGS} in {file.path}")
        self.tensors = Tensors(file.tensors, file.path)
        self.refuse_foreign()

    def decoder_settings(self):
        found = sorted(self.folder.glob("*decoder.yml"))
        found = [path for path in found if path.name == "decoder.yml"] or found
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise ValueError(f"{self.folder} must have one file decoder.yml. It has: {names}")
        text = found[0].read_text("utf-8", "replace") if found else ""
        return Settings(text, found[0] if found else "decoder.yml")

    def model_path(self):
        named = self.decoder.list("models")
        if len(named) > 1:
            raise ValueError(
                f"{self.decoder.origin} names several models, an ensemble. Import each of them "
                f"alone, with one in `models`: {', '.join(named)}"
            )
        if named:
            return self.file(named[0])
        found = [p for p in self.folder.glob("*.npz") if not p.name.endswith(".optimizer.npz")]
        found = [path for path in found if path.name == "model.npz"] or found
        if len(found) != 1:
            raise ValueError(
                f"{self.folder} must have one .npz file, one with the name model.npz, or a "
                f"decoder.yml that names one. It has: {', '.join(p.name for p in found) or 'none'}"
            )
        return found[0]

    def file(self, name):
        """Returns the path of a file that decoder.yml names. It must be in this folder."""
        path = self.folder / Path(name).name
        if not path.is_file():
            raise ValueError(f"{self.decoder.origin} names {name}, and {path} does not exist")
        return path

    def refuse_foreign(self):
        settings = self.settings
        for name, allowed in REQUIRED.items():
            value = settings.text(name)
            if value not in allowed:
                raise ValueError(
                    f"{settings.origin} has {name}={value!r}. Models are imported with: "
                    f"{', '.join(filter(None, allowed))}"
                )
        operations = [
            settings.text(f"transformer-{name}").replace("d", "")
            for name in ("preprocess", "postprocess", "postprocess-top")
        ]
        if tuple(operations) not in NORMS:
            raise ValueError(
                f"{settings.origin}: transformer-preprocess, -postprocess and -postprocess-top "
                "must be '', 'dan' and '' (post-norm), or 'n', 'da' and 'n' (pre-norm). Received: "
                f"{', '.join(map(repr, operations))}, without d"
            )
        self.pre_norm = NORMS[tuple(operations)]
        if len(settings.list("dim-vocabs")) > 2:
            raise ValueError(f"{settings.origin}: models with several sources are not imported")
        inner = settings.number("transformer-dim-ffn")
        if settings.number("transformer-decoder-dim-ffn", inner) not in (0, inner):
            raise settings.wrong("transformer-decoder-dim-ffn", f"transformer-dim-ffn, {inner}")

    def imported(self):
        self.d_model = self.settings.number("dim-emb")
        source, target, output = self.matrices()
        vocabularies = self.vocabularies()
        orders, texts, notes = {}, {}, []
        for side, matrix in zip(SIDES, (source, target), strict=True):
            vocabulary, rows = vocabularies[side], matrix.shape[0]
            sizes = (
                f"the {side} vocabulary has {len(vocabulary.names):,} tokens, and the matrix "
                f"{rows:,} rows"
            )
            if len(vocabulary.names) < rows // 2 or max(vocabulary.end, vocabulary.unknown) >= rows:
                raise ValueError(
                    f"{self.folder}: {sizes}; </s> has the id {vocabulary.end:,} and <unk> "
                    f"{vocabulary.unknown:,}. Check that it belongs to the model"
                )
            if len(vocabulary.names) != rows:
                notes.append(f"{sizes}; check that it belongs to the model")
            orders[side], texts[side] = vocabulary.in_our_order(rows)
        self.add_sentencepiece(texts)
        weights = ImportedWeights()
        config = self.config(weights)
        matrix = orders["target"].input_matrix(target)
        weights.by_path["embedding/matrix"] = matrix
        if source is target and texts["source"] == texts["target"]:
            texts["source"] = texts["target"]
        else:
            config["source_vocab_size"] = len(orders["source"])
            weights.by_path["source_embedding/matrix"] = orders["source"].input_matrix(source)
        config |= {"vocab_size": len(orders["target"]), "tie_output": output is target}
        name = "embedding"
        if output is not target:
            name = "output_embedding"
            weights.by_path[f"{name}/matrix"] = orders["target"].output_matrix(output)
        optional = self.settings.flag("output-omit-bias")
        bias = self.vector("decoder_ff_logit_out_b", output.shape[0], optional)
        weights.by_path[f"{name}/bias"] = orders["target"].output_bias(bias)
        self.tensors.check_all_used()
        return Imported(
            "Marian",
            TransformerConfig(**config),
            weights.by_path,
            *texts.values(),
            search=self.search(),
            notes=notes,
        )

    def matrices(self):
        """Returns the matrices of source, target and output. Tied matrices are the same object."""
        take, flag, d = self.tensors.take, self.settings.flag, self.d_model
        tied_all, tied_source = flag("tied-embeddings-all"), flag("tied-embeddings-src")
        if tied_all or tied_source:
            source = target = take("Wemb", None, d)
        else:
            source, target = take("encoder_Wemb", None, d), take("decoder_Wemb", None, d)
        if tied_all or flag("tied-embeddings"):
            return source, target, target
        rows = target.shape[0]
        if "decoder_ff_logit_out_W" in self.tensors:  # the name in early versions
            return source, target, take("decoder_ff_logit_out_W", d, rows).transposed
        return source, target, take("decoder_ff_logit_out_Wt", rows, d)

    def vocabularies(self):
        """Returns the `Vocabulary` of each side."""
        named = self.decoder.list("vocabs")
        paths = [self.file(name) for name in named]
        if not named:
            expected = (
                "one file vocab.yml (or .spm, .json, .txt), two with the names vocab.source.yml "
                "and vocab.target.yml, or a decoder.yml that lists them under `vocabs`"
            )
            paths = find_vocabularies(self.folder, SUFFIXES, expected)
        if len(paths) not in (1, 2):
            raise ValueError(
                f"{self.decoder.origin} must name one or two vocabularies. Received: "
                f"{', '.join(named)}"
            )
        read = {path: read_vocabulary(path) for path in paths}
        return {"source": read[paths[0]], "target": read[paths[-1]]}

    def add_sentencepiece(self, texts):
        """Adds SentencePiece models from files next to a vocabulary."""
        for side, text in texts.items():
            if text.model is None:
                fields = sentencepiece_fields(self.folder, side, text.pieces)
                texts[side] = dataclasses.replace(text, **fields)

    def config(self, weights):
        """Returns settings of the `TransformerConfig`, and collects the weights of all blocks."""
        settings = self.settings
        layers = [settings.number(name, 6) for name in ("enc-depth", "dec-depth")]
        heads, self.d_ff = (
            settings.number(f"transformer-{name}", default)
            for name, default in (("heads", 8), ("dim-ffn", 2048))
        )
        if min(*layers, heads, self.d_ff, self.d_model) < 1 or max(layers) > 1000:
            raise ValueError(
                f"{settings.origin}: enc-depth, dec-depth, transformer-heads, transformer-dim-ffn "
                f"and dim-emb must be positive. Received: {layers}, {heads}, {self.d_ff} and "
                f"{self.d_model}"
            )
        for stack, depth in zip(("encoder", "decoder"), layers, strict=True):
            for i, theirs in enumerate(self.numbers_of_layers(stack, depth)):
                self.block(stack, theirs, f"{stack}/block_{i}", weights)
            if self.pre_norm:
                weights.norm(f"{stack}/norm", *self.norm(f"{stack}_top"))
        positions = {"positions": "concatenated", "embedding_scale": None}
        if table := self.tensors.find("Wpos", None, self.d_model):
            # With learned positions, Marian does not multiply embeddings by √d_model.
            positions = {"positions": "learned", "max_length": table.shape[0]}
            positions["embedding_scale"] = 1.0
            for side in SIDES:
                weights.by_path[f"{side}_positions/table"] = table
        return {
            **{"num_layers": layers[0], "decoder_layers": layers[1], "num_heads": heads},
            **{"d_model": self.d_model, "d_ff": self.d_ff, "pre_norm": self.pre_norm},
            **{"activation": settings.text("transformer-ffn-activation"), **positions},
            **{"attention_bias": True, "output_bias": True, "norm_epsilon": 1e-6, "dropout": 0.1},
        }

    def numbers_of_layers(self, stack, depth):
        """Returns, for each layer, the number (from 1) of the layer whose weights it uses."""
        tied = self.settings.numbers("transformer-tied-layers") if stack == "decoder" else []
        if tied and len(tied) != depth:
            raise self.settings.wrong("transformer-tied-layers", f"a list of {depth} numbers")
        return tied or range(1, depth + 1)

    def block(self, stack, number, path, weights):
        theirs = f"{stack}_l{number}"
        kinds = {"self": "self_attention", "context": "cross_attention"}
        for kind, ours in list(kinds.items())[: 1 if stack == "encoder" else 2]:
            norm = self.norm(f"{theirs}_{kind}_Wo", "_pre" if self.pre_norm else "")
            layers = [
                self.dense(f"{theirs}_{kind}", part, self.d_model, self.d_model) for part in "qkvo"
            ]
            weights.attention(f"{path}/{ours}", norm, *layers)
        norm = self.norm(f"{theirs}_ffn_ffn", "_pre" if self.pre_norm else "")
        inner = self.dense(f"{theirs}_ffn", "1", self.d_model, self.d_ff)
        outer = self.dense(f"{theirs}_ffn", "2", self.d_ff, self.d_model)
        weights.feed_forward(f"{path}/feed_forward", norm, inner, outer)

    def dense(self, path, part, width, units):
        kernel = self.tensors.take(f"{path}_W{part}", width, units)
        optional = self.settings.flag("transformer-no-bias")
        return kernel, self.vector(f"{path}_b{part}", units, optional) or zeros(units)

    def norm(self, path, suffix=""):
        optional, d = self.settings.flag("transformer-no-affine"), self.d_model
        scale = self.vector(f"{path}_ln_scale{suffix}", d, optional)
        bias = self.vector(f"{path}_ln_bias{suffix}", d, optional)
        return scale or Tensor([d], lambda: np.ones(d, "float32")), bias or zeros(d)

    def vector(self, name, size, optional):
        """Returns a tensor that Marian stores as `[1, size]`; None if it is optional and absent."""
        if optional and name not in self.tensors:
            return None
        tensor = self.tensors.take(name)
        if tensor.shape not in ((1, size), (size,)):
            self.tensors.take(name, 1, size)
        return tensor.reshaped(size)

    def search(self):
        """Returns changes to the `SearchConfig`. Marian's default is no length penalty."""
        decoder, text = self.decoder, self.decoder.text("normalize", "0")
        try:
            alpha = float({"true": "1", "false": "0"}.get(text.lower(), text))
        except ValueError as error:
            raise decoder.wrong("normalize", "a number") from error
        search = {"alpha": alpha, "penalty": "marian"}
        if not decoder.flag("allow-unk"):
            search["banned"] = (3,)
        if beam := decoder.number("beam-size"):
            search["beam"] = beam
        return search
