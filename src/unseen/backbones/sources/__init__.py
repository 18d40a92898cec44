"""Sources of backbones by name, one file each: every module here that defines `SOURCE` is one, found by its prefix."""
