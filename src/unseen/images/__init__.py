"""Where images come from, and which of them are for training and which for testing."""
