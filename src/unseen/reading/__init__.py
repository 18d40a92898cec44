"""The one way in for files that others may have written: bounded, typed, and wrong only by `UserError`."""
