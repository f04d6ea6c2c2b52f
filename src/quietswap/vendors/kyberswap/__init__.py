"""KyberSwap."""
