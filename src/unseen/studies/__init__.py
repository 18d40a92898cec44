"""The studies of concepts, tasks and shifts, and the comparison across them."""
