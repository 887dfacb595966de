"""Text in, batches out. This package imports nothing from `t2t_keras`."""

import sys

from pipelines.old_names import OldModules

sys.meta_path.append(OldModules())  # last, so it is asked only for modules that no other finder has
