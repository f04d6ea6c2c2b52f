"""Use cases of the operator view: sessions, figures of all orders, and actions with their audit."""
