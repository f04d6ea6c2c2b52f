"""Domain values to contract structs, error bodies and encoded answers; excludes use cases."""
