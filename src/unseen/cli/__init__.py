"""The command line. Modules here import Typer only; everything heavier is imported inside the commands."""
