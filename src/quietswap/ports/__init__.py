"""What the use cases need from outside, as protocols. Adapters and stores implement them."""
