"""A backbone, a probe and a metric as users write them, with the documented imports; they are copied as data."""
