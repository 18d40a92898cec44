"""The page across axes: the same backbones on concepts, tasks and shifts."""
