"""The diagram of orders is drawn from their table."""

from tools.order_diagram import diagram

from quietswap.rules.orders.order import TRANSITIONS


def test_the_diagram_has_every_move_of_the_table() -> None:
    arrows = [line.split(":") for line in diagram().splitlines()[2:]]
    drawn = {(place.strip(), word.strip()) for place, words in arrows for word in words.split(",")}
    table = {
        (f"{origin} --> {target}", event_type.value)
        for origin, row in TRANSITIONS.items()
        for event_type, target in row.items()
    }
    assert drawn == table
