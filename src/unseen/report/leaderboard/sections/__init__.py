"""The sections of the leaderboard, one file each; `unseen.report.core.discover` finds them."""
