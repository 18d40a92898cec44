"""The pages of results.

`unseen.report` is the function of that name (`unseen.report.of_runs`), not this package: import from its modules
(`from unseen.report.of_runs import report_on`).
"""
