"""Networks trained end to end on boxes and maps: the protocols of Ericsson et al. 2021, A.4 to A.6."""
