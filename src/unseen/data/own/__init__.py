"""A user's own data: described by a folder, a list, a TOML file or a record, and checked before it is used."""
