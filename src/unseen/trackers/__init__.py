"""Writers of scores for experiment trackers, which receive them while they are measured."""
