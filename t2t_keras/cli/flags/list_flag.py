"""Flags with several values, `--name=a,b`, which may be given several times."""

from absl import flags


class ListFlag(flags.Flag):
    """A flag whose values add up: `--imports=a.py --imports=b.py` is `--imports=a.py,b.py`.

    With `flags.DEFINE_list`, the last of them would replace the others without a word.
    """

    def parse(self, argument):
        earlier = self.value if self.present else []
        super().parse(argument)
        self.value = [*earlier, *self.value]


def define_list(name, default, help_text, parser=None):
    """Defines a `ListFlag`. Its arguments are those of `flags.DEFINE_list`, and the parser."""
    parser = parser or flags.ListParser()
    serializer = flags.CsvListSerializer(",")
    return flags.DEFINE_flag(ListFlag(parser, serializer, name, default, help_text))
