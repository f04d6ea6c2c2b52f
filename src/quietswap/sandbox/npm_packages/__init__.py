"""The npm packages that an installed sandbox needs, pinned, and their installation."""
