"""`python -m unseen` is `unseen`."""

from unseen.cli.main import run

run()
