"""Formats of files that several data sets share."""
