"""The public functions of `import unseen`. Each one is imported when it is first used."""
