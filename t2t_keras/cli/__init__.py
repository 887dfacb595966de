"""The commands, one file each. Each parses its flags, makes one call and prints the result.

Heavy imports are inside functions, so that --help and wrong flags are handled without delay.
"""
