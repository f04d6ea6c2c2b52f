"""The process: settings, which object gets which, readiness, shutdown."""
