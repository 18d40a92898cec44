"""Reading of files that others may have written: bounded, typed, and failing only with `UserError`."""
