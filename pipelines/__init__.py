"""Text in, batches out. This package imports nothing from `t2t_keras`."""

import sys

from pipelines.old_names import OldModules

sys.meta_path.append(OldModules())  # the last finder: it is asked for modules that do not exist
