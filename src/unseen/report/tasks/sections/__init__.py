"""The sections of the task page, one file each; `unseen.report.core.discover` finds them."""
