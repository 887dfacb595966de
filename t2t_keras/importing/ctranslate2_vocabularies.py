"""The vocabularies in a CTranslate2 folder, and the begin and end tokens of its model."""

from t2t_keras.importing.accompanying_files import read_json_file, read_lines
from t2t_keras.importing.converter import SIDES
from t2t_keras.importing.ids import ABSENT, Ids
from t2t_keras.importing.sentencepiece_models import sentencepiece_fields
from t2t_keras.importing.settings import require

PADDING_TOKENS = ("<blank>", "<pad>", "<padding>", "[PAD]")
DEFAULT_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


class Vocabularies:
    """The vocabularies of source and target.

    Args:
        settings, attributes: contents of config.json, and the model's attributes, which hold the
            settings in versions before 6.
        given: dict with `source_begin` and `source_end`, if the user set them.

    Attributes:
        own: whether our export wrote the folder, with our vocabulary files.
        texts: the `Pieces` of source and target.
        start, source_start: ids of the tokens that the decoder and the source start from, see
            `Ids.rows`.
        source_end: whether the source has an end token.
        notes: for the user.
    """

    def __init__(self, folder, settings, attributes, given, package, matrices):
        self.folder, self.settings, self.attributes = folder, settings, attributes
        self.package = package
        self.own = (folder / "vocabulary").is_dir()
        if self.own and given:
            raise ValueError(
                f"{folder} is an export of this package, which says how its source begins and "
                f"ends. Leave out --{min(given)}"
            )
        self.notes = []
        zeros_first = bool(attributes.get("decoder/start_from_zero_embedding", 0))
        source_begin, self.source_end = (
            given.get(f"source_{end}", self.flag(f"add_source_{token}", f"with_source_{token}"))
            for end, token in (("begin", "bos"), ("end", "eos"))
        )
        if not (self.source_end or package or self.own or "source_end" in given):
            # The converter for Hugging Face's models never writes add_source_eos, because their
            # tokenizers add the end. A decoder that starts from zeros is Marian's.
            self.source_end = zeros_first
            self.notes.append(
                "add_source_eos is not set, but the source has an end, as in every model of "
                "Marian; for a model that was trained without it, import with --nosource_end"
                if zeros_first
                else "the source has no end, as add_source_eos is not set; for a model that was "
                "trained with it, such as one of Hugging Face, import with --source_end"
            )
        self.special = {
            name: settings.get(name, attributes.get(name)) or default
            for name, default in DEFAULT_TOKENS.items()
        }
        source, target = (
            self.tokens_of(side, matrix.shape[0])
            for side, matrix in zip(SIDES, matrices, strict=False)
        )
        self.texts = [self.text("source", source), self.text("target", target)]
        self.texts[0].begin = source_begin
        self.start, self.source_start = ABSENT, None
        if not zeros_first:
            self.start = self.id_of(self.start_token(), target, "target", "the decoder starts from")
        if source_begin:
            bos = self.special["bos_token"]
            self.source_start = self.id_of(bos, source, "source", "the source begins with")

    def flag(self, name, attribute):
        value = self.settings.get(name, self.attributes.get(attribute, False))
        require(self.folder, name, value, (True, False))
        return bool(value)

    def tokens_of(self, side, size):
        """Returns one side's tokens, ordered by id."""
        names = [
            f"{name}_vocabulary.{suffix}" for name in (side, "shared") for suffix in ("json", "txt")
        ]
        path = next((self.folder / each for each in names if (self.folder / each).exists()), None)
        if path is None:
            raise ValueError(
                f"{self.folder} has no vocabulary of the {side}: none of {', '.join(names)}"
            )
        tokens = read_lines(path) if path.suffix == ".txt" else read_json_file(path, [], kind=list)
        if not all(isinstance(token, str) for token in tokens):
            raise ValueError(f"{path} must be a list of strings")
        unknown = self.special["unk_token"]
        if len(tokens) == size - 1 and unknown not in tokens:
            tokens.append(unknown)
        if len(tokens) != size or len(set(tokens)) != size:
            raise ValueError(
                f"{path} has {len(set(tokens)):,} different tokens, but the matrix of the {side} "
                f"{size:,} rows"
            )
        return tokens

    def text(self, side, tokens):
        if self.own:
            return Ids(len(tokens), *range(4)).pieces(tokens)

        def id_of(*names):
            return next((tokens.index(name) for name in names if name in tokens), ABSENT)

        begin, end, unknown = (id_of(self.special[name]) for name in DEFAULT_TOKENS)
        if end == ABSENT:
            raise ValueError(
                f"{self.folder}: the end, {self.special['eos_token']!r}, is not in the vocabulary"
            )
        if begin == end:  # as in models whose decoder starts from the end token
            begin = ABSENT
        fields = sentencepiece_fields(self.package or self.folder, side, tokens)
        return Ids(len(tokens), id_of(*PADDING_TOKENS), begin, end, unknown).pieces(
            tokens, **fields
        )

    def start_token(self):
        token = self.settings.get("decoder_start_token")
        if token is None and "decoder_start_token" in self.settings:
            raise ValueError(
                f"{self.folder}/config.json has decoder_start_token=null: the first token of a "
                "translation, such as its language, is chosen for each text. Such a model is not "
                "imported, unless decoder_start_token names the one token that it shall start from"
            )
        default = "bos_token" if self.attributes.get("with_target_bos", 1) else "eos_token"
        return self.special[default] if token is None else token

    def id_of(self, token, tokens, side, what):
        if token not in tokens:
            raise ValueError(
                f"{self.folder}: {what} {token!r}, which is not in the vocabulary of the {side}"
            )
        return tokens.index(token)
