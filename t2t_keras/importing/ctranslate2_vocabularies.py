"""The vocabularies in a CTranslate2 folder, and the begin and end tokens of its model."""

from t2t_keras.importing.accompanying_files import read_json_file, read_lines
from t2t_keras.importing.ids import ABSENT, Ids
from t2t_keras.importing.imported import Pieces
from t2t_keras.importing.sentencepiece_models import compared, sentencepiece_fields

BEGIN = 1
PADDING_TOKENS = ("<blank>", "<pad>", "<padding>", "[PAD]")
# (entry of config.json, attribute of the model in versions before 6, default)
SOURCE_BEGIN = "add_source_bos", "with_source_bos", 0
SOURCE_END = "add_source_eos", "with_source_eos", 0
DEFAULT_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


class Vocabularies:
    """The vocabularies of source and target.

    Args:
        folder: the folder of CTranslate2.
        settings: contents of config.json.
        attributes: attributes of the model.
        given: dict with `source_begin` and `source_end`, if the user set them.
        is_complete: see `ctranslate2.read`.

    Attributes:
        own: whether our export wrote the folder, so that it contains our vocabulary files.
        orders: the `Ids` of "source" and "target"; set by `read`.
        start: id of the token that the decoder starts from, or `ABSENT` for a vector of zeros.
        source_start: id of the token before the source, or None if there is none.
        notes: notes for the user.
    """

    def __init__(self, folder, settings, attributes, given, is_complete=False):
        self.folder, self.settings, self.attributes = folder, settings, attributes
        self.own = (folder / "vocabulary").is_dir()  # written by our export
        if self.own and given:
            raise ValueError(
                f"{folder} is an export of this package, which says how its source begins and "
                f"ends. Leave out --{min(given)}"
            )
        self.notes = []
        self.zeros_first = bool(self.attributes.get("decoder/start_from_zero_embedding", 0))
        self.source_begin = given.get("source_begin", self.flag(*SOURCE_BEGIN))
        self.source_end = given.get("source_end", self.flag(*SOURCE_END))
        is_known = is_complete or self.own or "source_end" in given
        if not self.source_end and not is_known:
            self.add_end_or_note()
        self.special = {
            name: self.setting(name, name, None) or default
            for name, default in DEFAULT_TOKENS.items()
        }
        for name, token in self.special.items():
            if not isinstance(token, str):
                raise ValueError(f"{folder}: {name} must be a string. Received: {token!r}")

    def setting(self, name, old_name, default):
        return self.settings.get(name, self.attributes.get(old_name, default))

    def flag(self, name, old_name, default):
        value = self.setting(name, old_name, default)
        if value not in (0, 1):
            raise ValueError(f"{self.folder}: {name} must be true or false. Received: {value!r}")
        return bool(value)

    def add_end_or_note(self):
        """If the folder does not request an end token after the source, adds one or a note.

        The setting may be missing by mistake: the converter for Hugging Face's models never writes
        add_source_eos, because the tokenizers of these models add the end token.
        """
        if self.zeros_first:  # a model of Marian, which always has an end token
            self.source_end = True
            self.notes.append(
                f"{SOURCE_END[0]} is not set, but the source has an end, as in every model of "
                "Marian; for a model that was trained without it, import with --nosource_end"
            )
        else:
            self.notes.append(
                f"the source has no end, as {SOURCE_END[0]} is not set; for a model that was "
                "trained with it, such as one of Hugging Face, import with --source_end"
            )

    def read(self, source_rows, target_rows):
        """Reads the vocabularies for matrices with these numbers of rows."""
        sizes = {"source": source_rows, "target": target_rows}
        self.tokens = {side: self.tokens_of(side, size) for side, size in sizes.items()}
        self.orders = {side: self.order_of(tokens) for side, tokens in self.tokens.items()}
        self.start = self.start_id()
        self.source_start = self.source_start_id() if self.source_begin else None

    @property
    def shared(self):
        return self.tokens["source"] == self.tokens["target"]

    def tokens_of(self, side, size):
        """Returns one side's tokens, ordered by id."""
        names = f"{side}_vocabulary", "shared_vocabulary"
        tokens = next((each for each in map(self.file, names) if each is not None), None)
        if tokens is None:
            raise ValueError(
                f"{self.folder} has no vocabulary of the {side}: neither {names[0]} nor "
                f"{names[1]}, .json or .txt"
            )
        unknown = self.special["unk_token"]
        if len(tokens) == size - 1 and unknown not in tokens:
            tokens.append(unknown)
        if len(tokens) != size:
            raise ValueError(
                f"{self.folder}: the vocabulary of the {side} has {len(tokens):,} tokens, but its "
                f"matrix {size:,} rows"
            )
        if len(set(tokens)) != len(tokens):
            raise ValueError(f"{self.folder}: a token occurs twice in the vocabulary of the {side}")
        return tokens

    def file(self, name):
        """Returns the tokens in a file, or None if there is no such file."""
        path = self.folder / f"{name}.json"
        tokens = read_json_file(path, None, kind=list)
        if tokens is None and path.with_suffix(".txt").exists():
            tokens = read_lines(path.with_suffix(".txt"))
        if tokens is not None and not all(isinstance(token, str) for token in tokens):
            raise ValueError(f"{path} must be a list of strings")
        return tokens

    def order_of(self, tokens):
        def id_of(token):
            return tokens.index(token) if token in tokens else ABSENT

        if self.own:
            return Ids(len(tokens), *range(4))
        padding = next((id_of(token) for token in PADDING_TOKENS if token in tokens), ABSENT)
        begin, end, unknown = (id_of(self.special[name]) for name in DEFAULT_TOKENS)
        if end == ABSENT:
            raise ValueError(
                f"{self.folder}: the end, {self.special['eos_token']!r}, is not in the vocabulary"
            )
        if begin == end:  # as in models whose decoder starts from the end token
            begin = ABSENT
        return Ids(len(tokens), padding, begin, end, unknown)

    def start_id(self):
        if self.zeros_first:
            return ABSENT
        token = self.settings.get("decoder_start_token")
        if token is None and "decoder_start_token" in self.settings:
            raise ValueError(
                f"{self.folder}/config.json has decoder_start_token=null: the first token of a "
                "translation, such as its language, is chosen for each text. Such a model is not "
                "imported, unless decoder_start_token names the one token that it shall start from"
            )
        if token is None:
            begins = self.attributes.get("with_target_bos", 1)
            token = self.special["bos_token" if begins else "eos_token"]
        if token not in self.tokens["target"]:
            raise ValueError(
                f"{self.folder}: the decoder starts from {token!r}, which is not in the vocabulary"
            )
        return self.tokens["target"].index(token)

    def source_start_id(self):
        token = self.special["bos_token"]
        if token not in self.tokens["source"]:
            raise ValueError(
                f"{self.folder}: the source begins with {token!r}, which is not in its vocabulary"
            )
        return self.tokens["source"].index(token)

    def pieces(self):
        """Returns the `Pieces` of source and target."""
        sides = [
            Pieces(pieces, **self.sentencepiece(side, pieces))
            for side, pieces in (
                (side, self.orders[side].ordered(tokens)) for side, tokens in self.tokens.items()
            )
        ]
        sides[0].begin = self.source_begin
        return sides if sides[0] != sides[1] else [sides[0]] * 2

    def sentencepiece(self, side, pieces):
        """Returns the fields of `Pieces` for a SentencePiece model; {} if there is none.

        It is in the same folder, or in the folder above, as in an Argos package. A model above that
        does not fit is a different one's.
        """
        if self.own:
            return {}
        if fields := sentencepiece_fields(self.folder, side, pieces):
            return fields
        above = self.folder.absolute().parent
        fields = sentencepiece_fields(above, side, pieces)
        if fields and not (found := compared(fields["model"], pieces)).fits:
            self.notes.append(f"the SentencePiece model in {above} is not used: {found} ({side})")
            return {}
        return fields
