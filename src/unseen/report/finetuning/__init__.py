"""The page of fine-tuning in the task study."""
