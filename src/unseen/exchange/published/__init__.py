"""Published descriptions of formats of others; README.md names their sources and licences."""
