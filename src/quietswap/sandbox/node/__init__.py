"""The node proxy before anvil that can lag, fork and fail; excludes mining."""
