"""DEX aggregators, one module each. They do not import each other."""
