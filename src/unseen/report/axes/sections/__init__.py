"""The sections of the page across axes, one file each; `unseen.report.core.discover` finds them."""
