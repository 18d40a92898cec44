"""Networks trained on boxes and maps end to end: the protocols of Ericsson et al. 2021, A.4 to A.6."""
