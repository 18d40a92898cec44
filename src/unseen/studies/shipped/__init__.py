"""The studies that come with the package: one TOML file each, found by its name."""
