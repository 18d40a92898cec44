"""How many test images, concepts or seeds would resolve a difference, planned from a pilot run or a typical one."""
