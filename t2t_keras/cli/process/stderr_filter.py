"""Holds back known messages of C++ libraries, which write to file descriptor 2 at any time.

Descriptor 2 becomes a pipe to a child process, which writes everything except the lines in
`CHATTER` to the original descriptor. It is a process, not a thread, so that the last messages of a
process that dies are shown. The command's own messages go to the original descriptor directly,
because `streams.begin` has given `sys.stderr` a separate descriptor.
"""

import contextlib
import os
import re
import select
import signal

# Patterns of lines that do not help a user.
CHATTER = (
    # Precedes TensorFlow's first message. TensorFlow has no setting to call that function.
    rb"WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR",
    # oneDNN supports integer sums on no processor. TensorFlow logs that at level ERROR.
    rb"E\d{4} .*\] oneDNN supports DT_INT\d+ only on platforms with AVX-512\..*",
    # LiteRT's note on its own library.
    rb"INFO: Created TensorFlow Lite XNNPACK delegate for CPU\.",
    # The converter's notes, and its messages about a model that LiteRT cannot compute, which
    # t2t-export reports in one line.
    rb"W\d{4} .* tf_tfl_flatbuffer_helpers\.cc:\d+\] Ignored .*",
    rb"loc\(.*\): error: '.*' op is neither a custom op nor a flex op",
    rb"error: failed while converting: '.*': *",
    rb"Some ops are not supported by the native TFLite runtime, .*",
    rb"TF Select ops: .*",
    rb"Details:",
    rb"\ttf\.\w+\(.*",
    # SentencePiece's notes on vocabularies in tensorflow_text, which has no setting for them.
    rb"\w+\.cc\(\d+\) LOG\(INFO\) .*",
)
PAUSE = 0.5  # seconds after which an incomplete line, such as a question, is shown
END_OF_LINE = rb"(?<=[\r\n])"
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class StderrFilter:
    """The filter of this process, from now to its end."""

    def __init__(self):
        self.token = os.urandom(16)  # begins a command in the pipe
        reader, self.pipe = os.pipe()
        self.answers, answer = os.pipe()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED)
        if not os.fork():
            try:
                pass_on(reader, answer, self.token)
            finally:
                os._exit(0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(reader)
        os.close(answer)
        os.dup2(self.pipe, 2)

    def hold(self):
        """Holds back everything until `release`, or until the process dies."""
        self.tell(b"h")

    def release(self, show):
        """Ends `hold`, and shows or drops what was held back."""
        self.tell(b"s" if show else b"d")

    def tell(self, command):
        """Sends a command through the same pipe as the messages, and waits until it is done."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.pipe, self.token + command)
            os.read(self.answers, 1)


def pass_on(reader, answer, token):
    """Runs the child process, which ends when no process has the pipe open for writing."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, IGNORED)
    os.dup2(reader, 0)
    os.dup2(answer, 1)
    os.closerange(3, min(os.sysconf("SC_OPEN_MAX"), 65536))
    os.chdir("/")
    messages = Messages()
    while True:
        if not select.select([0], [], [], PAUSE if messages.line else None)[0]:
            messages.show_incomplete()
        elif data := os.read(0, 2**20):  # more than a pipe holds, so that commands are read whole
            text, *commands = data.split(token)
            messages.add(text)
            for each in commands:
                messages.obey(each[:1])
                os.write(1, each[:1])
                messages.add(each[1:])
        else:
            messages.obey(b"s")
            return


class Messages:
    """Divides messages into lines, and writes all except chatter to descriptor 2."""

    def __init__(self):
        self.line = b""  # the last, incomplete line
        self.begun = False  # whether the beginning of the line has been written
        self.held = None  # bytes held back. None: nothing is being held back
        self.is_chatter = re.compile(rb"(?:%b)[\r\n]*" % b"|".join(CHATTER)).fullmatch

    def add(self, data):
        *lines, self.line = re.split(END_OF_LINE, self.line + data)
        for line in lines:
            self.write(line)
            self.begun = False

    def show_incomplete(self):
        self.write(self.line)
        self.begun, self.line = self.begun or bool(self.line), b""

    def obey(self, command):
        self.show_incomplete()
        if command == b"h":
            self.held = b""
            return
        held, self.held = self.held, None
        if command == b"s" and held:
            write_all(held)

    def write(self, line):
        if self.held is not None:
            self.held += line
        elif self.begun or not self.is_chatter(line):
            write_all(line)


def write_all(data):
    """Writes to descriptor 2. If nobody reads it any more, the data is dropped."""
    while data:
        try:
            data = data[os.write(2, data) :]
        except BlockingIOError:
            select.select([], [2], [])
        except OSError:
            return
