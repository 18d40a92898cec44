"""Studies: each is a TOML file here, named by an entry point."""
