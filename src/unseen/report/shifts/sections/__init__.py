"""The sections of the page of a fit, one file each; `unseen.report.core.discover` finds them."""
