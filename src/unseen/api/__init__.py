"""The functions of `import unseen`: what they take and give. Each is imported when it is asked for."""
