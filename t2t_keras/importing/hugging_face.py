"""Marian models in Hugging Face's layout, such as Helsinki-NLP's OPUS-MT."""

from t2t_keras.checks import (
    check_boolean,
    check_choice,
    check_integer,
    check_not_negative,
    check_rate,
)
from t2t_keras.importing.accompanying_files import read_json_file
from t2t_keras.importing.converter import SIDES, STACKS, Converter, Names
from t2t_keras.importing.files.pytorch_file import read_pytorch
from t2t_keras.importing.files.safetensors_file import read_safetensors
from t2t_keras.importing.ids import ABSENT, Ids
from t2t_keras.importing.sentencepiece_models import read_sentencepiece
from t2t_keras.importing.settings import Settings, same_in_both
from t2t_keras.importing.tensors import Tensors

READERS = {"model.safetensors": read_safetensors, "pytorch_model.bin": read_pytorch}
ACTIVATIONS = {
    **{"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"},
    **{"gelu_new": "gelu_tanh", "gelu_fast": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"},
    "quick_gelu": "gelu_sigmoid",
}
SOURCE, TARGET = (f"model.{stack}.embed_tokens.weight" for stack in STACKS)
SHARED, OUTPUT = "model.shared.weight", "lm_head.weight"
NAMES = Names(
    block="model.{stack}.layers.{number}",
    attentions=("self_attn", "encoder_attn"),
    projections=tuple(f"{{block}}.{{attention}}.{p}_proj.{{part}}" for p in ("q", "k", "v", "out")),
    network=("{block}.fc1.{part}", "{block}.fc2.{part}"),
    norms=("{block}.{attention}_layer_norm.{part}", "{block}.final_layer_norm.{part}"),
    dense=("weight", "bias"),
    norm=("weight", "bias"),
    transposed=True,
)
SPECIAL = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}


def read(folder):
    """Reads a folder with a Marian model of Hugging Face and returns an `Imported`."""
    return HuggingFaceFolder(folder).imported()


class HuggingFaceFolder:
    """A folder written by `save_pretrained` of `MarianMTModel` and `MarianTokenizer`."""

    def __init__(self, folder):
        self.folder = folder
        path = self.file("config.json")
        self.settings = Settings(read_json_file(path, {}), path)
        self.setting = self.settings.checked
        if (kind := self.settings.get("model_type")) != "marian":
            raise ValueError(
                f"{folder} holds a model of Hugging Face's type {kind!r}. Only models of the type "
                "'marian' are imported"
            )
        self.tokenizer = read_json_file(folder / "tokenizer_config.json", {})
        self.path = next((folder / name for name in READERS if (folder / name).is_file()), None)
        if self.path is None:
            raise ValueError(
                f"{folder} has no weights: neither {' nor '.join(READERS)}. Download one of them. "
                "A model in several files must be saved as one"
            )
        self.tensors = Tensors(READERS[self.path.name](self.path), self.path)

    def file(self, name):
        if not (self.folder / name).is_file():
            raise ValueError(f"{self.folder} has no {name}, which is part of a Marian model")
        return self.folder / name

    def imported(self):
        matrices = self.matrices()
        rows, d_model = matrices[1].shape
        texts = self.texts(matrices)
        start = self.setting(check_integer, "decoder_start_token_id", at_least=0)
        if start >= rows:
            raise ValueError(
                f"{self.folder}/config.json: decoder_start_token_id {start} is not among the "
                f"{rows:,} ids"
            )
        heads = [self.setting(check_integer, f"{stack}_attention_heads") for stack in STACKS]
        heads = same_in_both(self.folder, "attention_heads", heads)
        converter = Converter(self.tensors, NAMES, optional=True)
        converter.blocks(d_model, heads, pre_norm=False)
        bias = self.tensors.find("final_logits_bias", 1, rows)
        converter.embeddings(matrices, texts, bias and bias.reshaped(rows), start)
        # Some files contain the positions, which are constants.
        self.tensors.ignore([f"model.{stack}.embed_positions.weight" for stack in STACKS])
        activation = self.setting(
            check_choice, "activation_function", "gelu", choices=list(ACTIVATIONS)
        )
        scaled = self.setting(check_boolean, "scale_embedding", False)
        settings = {
            "activation": ACTIVATIONS[activation],
            "embedding_scale": None if scaled else 1.0,
            "dropout": self.setting(check_rate, "dropout", 0.1),
            "attention_dropout": self.setting(check_rate, "attention_dropout", 0.0),
            "positions": "hugging_face",
            "norm_epsilon": 1e-5,  # PyTorch's default, which the models do not change
        }
        notes = []
        search = self.search(texts[1].ids, notes)
        return converter.imported("Hugging Face, Marian", search, notes, **settings)

    def matrices(self):
        """Returns the matrices of source, target and output; tied matrices are the same object."""
        tied = self.setting(check_boolean, "tie_word_embeddings", True)
        shared = self.setting(check_boolean, "share_encoder_decoder_embeddings", True)
        if tied and shared:
            return [self.only_one(SHARED, SOURCE, TARGET, OUTPUT)] * 3
        if tied:
            target = self.only_one(TARGET, OUTPUT)
            return [self.only_one(SOURCE), target, target]
        source, target = (
            # transformers 4 shares the input matrices, transformers 5 does not.
            self.only_one(SHARED if shared and name not in self.tensors else name)
            for name in (SOURCE, TARGET)
        )
        if shared:
            self.tensors.ignore([SHARED])  # transformers 5 stores it, but does not use it
            target = source if source.equals(target) else target
        return [source, target, self.only_one(OUTPUT)]

    def only_one(self, *names):
        """Returns a matrix that is stored under at least one of these names."""
        found = [name for name in names if name in self.tensors]
        if not found:
            raise ValueError(f"{self.path} has no matrix {' or '.join(names)}")
        first, *others = (self.tensors.take(name, None, None) for name in found)
        for name, other in zip(found[1:], others, strict=True):
            if not first.equals(other):
                raise ValueError(
                    f"{self.path} is not imported: {found[0]} and {name} differ, but config.json "
                    "ties them. Some releases of transformers wrote such files. Save the model "
                    "again with the release that it was trained with"
                )
        return first

    def texts(self, matrices):
        """Returns the `Pieces` of source and target."""
        names = ["vocab.json", "vocab.json"]
        if self.tokenizer.get("separate_vocabs") or (self.folder / "target_vocab.json").is_file():
            names[1] = "target_vocab.json"
        sizes = (matrix.shape[0] for matrix in matrices[:2])
        return [self.text(*each) for each in zip(SIDES, names, sizes, strict=True)]

    def text(self, side, name, size):
        """Returns the `Pieces` of a side. Sources may begin with language codes, such as >>de<<."""
        path = self.file(name)
        ids = read_json_file(path, {})
        if not all(type(id) is int and 0 <= id < size for id in ids.values()):
            raise ValueError(f"{path} must give each token an id from 0 to {size - 1:,}")
        tokens = {id: token for token, id in ids.items()}
        if len(tokens) != len(ids):
            raise ValueError(f"{path} gives two tokens the same id")
        # Matrices may have more rows than there are tokens, because some sizes are faster.
        tokens = [tokens.get(id, f"<unused_{id}>") for id in range(size)]
        model, _ = read_sentencepiece(self.file(f"{side}.spm"))
        fields = {"kind": "sentencepiece", "model": model, "codes": side == "source"}
        return self.ids_of(tokens).pieces(tokens, **fields)

    def ids_of(self, pieces):
        found = []
        for name, default in SPECIAL.items():
            token = self.tokenizer.get(name) or default
            token = token.get("content") if isinstance(token, dict) else token
            found.append(pieces.index(token) if token in pieces else ABSENT)
        padding, end, unknown = found
        if end == ABSENT or end != self.settings.get("eos_token_id", 0):
            raise ValueError(
                f"{self.folder}: the end of a text must be one token, {SPECIAL['eos_token']} in "
                f"vocab.json and eos_token_id in config.json. Received: ids {end} and "
                f"{self.settings.get('eos_token_id', 0)}"
            )
        if padding == ABSENT and self.settings.get("pad_token_id") is not None:
            # Some vocabularies do not name the padding token. The model never writes it.
            id = self.setting(check_integer, "pad_token_id", at_least=0)
            padding = id if id < len(pieces) and id not in (end, unknown) else ABSENT
        return Ids(len(pieces), padding, ABSENT, end, unknown)

    def search(self, ids, notes):
        """Returns changes to the `SearchConfig`, and adds settings without a counterpart to notes.

        log P is divided by length^alpha.
        """
        # Newer releases write search settings to generation_config.json.
        self.settings.values |= read_json_file(self.folder / "generation_config.json", {})
        beam = self.setting(check_integer, "num_beams", 1)
        alpha = self.setting(check_not_negative, "length_penalty", 1.0)
        search = {"beam": beam, "alpha": alpha, "penalty": "marian"}
        if size := self.setting(check_integer, "no_repeat_ngram_size", 0, at_least=0):
            search["no_repeat_ngram"] = size
        words = self.settings.get("bad_words_ids", [])
        if not isinstance(words, list) or not all(isinstance(word, list) for word in words):
            raise ValueError(f"{self.folder}: bad_words_ids must be a list of lists of ids")
        single = [word[0] for word in words if len(word) == 1]
        # Padding and begin tokens are never written, and the end token must not be banned.
        banned = [i for i, theirs in enumerate(ids.theirs) if i > 2 and int(theirs) in single]
        if banned:
            search["banned"] = tuple(banned)
        if len(single) < len(words):
            notes.append(
                f"{len(words) - len(single)} of bad_words_ids are sequences, which a search here "
                "cannot exclude"
            )
        return search
