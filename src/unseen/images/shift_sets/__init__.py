"""Test sets under distribution shift, and the in-distribution test sets they belong to."""
