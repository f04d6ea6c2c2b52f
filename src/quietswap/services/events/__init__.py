"""The events of orders as streams for the clients of this process. Excludes HTTP framing."""
