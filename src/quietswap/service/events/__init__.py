"""Events of orders: the feed and its stream."""
