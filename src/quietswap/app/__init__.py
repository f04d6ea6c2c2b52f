"""The composition root: builds all objects from the settings and starts them."""
