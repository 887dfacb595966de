"""t2t-distill: trains a small student on the translations of a teacher.

t2t-distill runs/big --data=data/ende --run=runs/small --config=student:small
t2t-distill runs/a runs/b runs/c --data=data/ende --run=runs/small --config=student:small
t2t-distill runs/big --mono='news.*.en.gz' --engine=litert --dtype=int8 --run=runs/small \\
    --config=student:small
t2t-distill runs/big --data=data/ende --choose=reference --real=0.2 --reverse=runs/deen \\
    --dev_source=dev.en --dev_target=dev.de --test=news=test.en,test.de --run=runs/small \\
    --config=student:small
t2t-distill runs/big --data=data/ende --texts=distilled --run=runs/tiny --config=student:tiny

The teacher, a run or an export, translates the sources of --data, and the text of --mono. Several
runs are an ensemble. Bad translations are dropped, and the student is trained on the others. It is
exported for LiteRT and compared with its teacher on each --test: BLEU, chrF, milliseconds per
sentence, megabytes.

Run the same command to resume an interrupted one; finished stages are kept. The files are in
--run/distillation, or for several students that share translations and prepared data, in --texts. A
student that has begun to train keeps its settings.
"""

from t2t_keras.cli.flags.config_flag import CONFIG, config_loader
from t2t_keras.cli.flags.field_flags import define_flag, help_of
from t2t_keras.cli.flags.shared_flags import shared_flag, trust_given
from t2t_keras.cli.main import command_line, will_resume
from t2t_keras.cli.process.backend import load_backend
from t2t_keras.distillation import distill
from t2t_keras.distillation.plan import settings

LOAD_CONFIG = config_loader()

FLAGS_OF_PLAN = [
    define_flag(field, field.default, help_of(field.metadata["description"]))
    for field in settings()
]
TRUST = shared_flag("trust")


def main(arguments):
    if not arguments:
        raise ValueError(
            "takes the teacher: a run, several for an ensemble, or an export. Received: none"
        )
    if CONFIG.value is None:
        raise ValueError(
            "--config=NAME is required: the settings of the student, such as --config=student:small"
        )
    given = {flag.name: flag.value for flag in FLAGS_OF_PLAN if flag.present}
    if "run" not in given:
        raise ValueError("--run=FOLDER is required: the student, new or to resume")
    will_resume()
    trust_given([*arguments, given.get("reverse")])
    load_backend()
    print(
        distill(arguments, CONFIG.value, given.pop("run"), command=command_line(), **given), end=""
    )
