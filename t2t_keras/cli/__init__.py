"""The commands, one file each: flags in, one call, lines out.

Their modules import nothing heavy, so that --help and wrong flags are answered at once.
"""
