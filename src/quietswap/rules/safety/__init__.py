"""What a call can do to a wallet: decoding by proven methods, effects, losses."""
