"""The seen concepts and the levels of unseen ones as data sets, and the drawings that ship with the package."""
