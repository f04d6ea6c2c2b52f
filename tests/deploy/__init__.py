"""What an operator deploys and reads: files of `deploy/` and pages of `docs/`."""
