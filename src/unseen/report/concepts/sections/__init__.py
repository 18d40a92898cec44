"""The sections of the concept page, one file each; `unseen.report.core.discover` finds them."""
