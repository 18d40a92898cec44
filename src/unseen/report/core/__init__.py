"""What all pages and figures share."""
