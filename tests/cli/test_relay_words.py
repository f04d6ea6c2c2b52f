"""An order's progress tells the words of a relay that did not take it, once for each change."""

from quietswap.cli.output.console import SafeConsole
from quietswap.cli.output.order_progress import OrderProgress
from quietswap.rules.orders.order import OrderStatus
from quietswap.service.orders.order_response import order_status_response
from tests.stored_orders import order, recorded


def test_each_new_answer_of_the_relay_is_one_line() -> None:
    screen = SafeConsole(stderr=False, width=80)
    progress = OrderProgress(screen)
    said = ("fee too low", "fee too low", None, "[b]no[/b]\x1b[2J", None)
    with screen.capture() as shown:
        for words in said:
            placed = order(status=OrderStatus.PENDING, relay_answer=words)
            progress.state(order_status_response(recorded(placed)))
    lines = [line.split("answer: ")[1] for line in shown.get().splitlines() if "answer" in line]
    assert lines == ["fee too low", "[b]no[/b]�[2J"]
