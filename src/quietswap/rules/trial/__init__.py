"""The trial of a swap in the next block: how it is built, read and judged."""
