"""The sections of the fine-tuning page, one file each; `unseen.report.core.discover` finds them."""
