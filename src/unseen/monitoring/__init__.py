"""Probes of a network while it trains: the same data sets, probes and scores as in a study, at some of its steps."""
