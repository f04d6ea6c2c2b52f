"""DEX aggregators, one page each. They never see each other."""
