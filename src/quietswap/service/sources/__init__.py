"""The sources: how each vendor is asked for a route, and the pools of Uniswap."""
