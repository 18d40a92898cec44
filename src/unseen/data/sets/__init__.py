"""Published data sets: one file each, with `DATASET` or `DATASETS` and the code that reads their files."""
