"""Sources of images, and which images are used for training and which for testing."""
