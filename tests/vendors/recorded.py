"""What must be read from each recorded answer; the bodies are no part of the project."""

from dataclasses import dataclass, field
from decimal import Decimal

from quietswap.chain import address as addresses
from quietswap.quoting.quote import NoRouteReason, RouteRequest
from quietswap.tokens.token import Token

ETH = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"
WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
USDT = "0xdAC17F958D2ee523a2206206994597C13D831ec7"
DAI = "0x6B175474E89094C44Da98b954EedeAC495271d0F"
SUSHI = "0x6B3595068778DD592e39A122f4f5a5cF09C90fE2"
ZRX = "0xE41d2489571d322189246DaFA5ebDe1F4699F498"
ONEINCH = "0x111111111117dC0aa78b770fA6A738034120C302"
BASE_USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
BASE_WETH = "0x4200000000000000000000000000000000000006"
POLYGON_WETH = "0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619"
POLYGON_USDC = "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174"


def of(sell: str, buy: str, amount: int, wallet: str, bps: int = 50) -> RouteRequest:
    """Return the request a body answers; the decimals play no part in reading it."""
    return RouteRequest(
        sell=Token(addresses.from_any_case(sell), 18),
        buy=Token(addresses.from_any_case(buy), 18),
        sell_amount=amount,
        wallet=addresses.from_any_case(wallet),
        slippage_bps=bps,
        gas_price_wei=10**9,
        deadline=1_800_000_000,
    )


VITALIK = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
RECORDER = "0xEe7aE85f2Fe2239E27D9c1E23fFFe168D63b4055"
ANY = of(WETH, USDC, 10**18, VITALIK)


@dataclass(frozen=True)
class Answered:
    """A route: `says` what must be read, `verdict` what the money rules say, None for nothing;
    `without_value` the same for the calldata alone, as if no ETH were asked for."""

    source: str
    files: tuple[str, ...]
    request: RouteRequest
    says: dict[str, object]
    verdict: str | None = None
    without_value: str | None = None


ROUTES = [
    Answered(
        "kyberswap",
        ("kyberswap-routes-polygon-spec", "kyberswap-build-polygon-spec"),
        of(POLYGON_WETH, POLYGON_USDC, 10**18, "0x0513c794bC2c65C6f374a86D6ad04425e32Df22e", 0),
        {
            "dex": "dodo",
            "path": (POLYGON_WETH, POLYGON_USDC),
            "buy_amount": 1_666_243_758,
            "min_buy_amount": 1_666_243_758,
            "gas": 253_000,
            "impact_percent": None,
        },
        verdict="it asks for 1000000000000000000 wei",
    ),
    Answered(
        "velora",
        ("velora-swap-v62-usdc-weth-base",),
        of(BASE_USDC, BASE_WETH, 500_000_000, RECORDER, 100),
        {
            "dex": "AerodromeSlipstream",
            "path": (BASE_USDC, BASE_WETH),
            "buy_amount": 254_925_067_249_422_958 - 25_492_506_724_942,
            "min_buy_amount": 252_350_578_995_271_035,
            "gas": 290_740,
            "impact_percent": None,
        },
    ),
    Answered(
        "velora",
        ("velora-swap-v62-usdc-eth-base",),
        of(BASE_USDC, ETH, 500_000_000, RECORDER, 100),
        {
            "dex": "PancakeswapV3",
            "path": (BASE_USDC, ETH),
            "buy_amount": 244_784_867_794_068_258 - 24_478_486_779_406,
            "min_buy_amount": 242_312_785_414_215_963,
            "gas": 161_300,
        },
        verdict="trades native ETH",
        without_value="trades native ETH",
    ),
    Answered(
        "velora",
        ("velora-swap-v5router-buy-weth-zrx-mainnet-2023",),
        of(WETH, ZRX, 123_703_440_917_771_661, "0xe0b3700e0aADcB18ed8d4BFF648Bc99896a18ad1"),
        {"dex": "SushiSwap", "buy_amount": 10**21, "gas": 106_935},
        verdict="0xDEF171Fe48CF0115B1d80b88dc8eAB59176FEe57 is not a pinned router",
        without_value="is not a pinned router",
    ),
    Answered(
        "sushi",
        ("sushi-swap-v7-eth-sushi-mainnet",),
        of(ETH, SUSHI, 10**16, VITALIK, 10),
        {
            "dex": "sushi",
            "path": (ETH, WETH, SUSHI),
            "buy_amount": 28_376_709_246_572_527_616,
            "min_buy_amount": 28_348_332_537_325_955_088,
            "gas": 162_561,
            "impact_percent": Decimal("-0.2204113661183449"),
        },
        verdict="it asks for 10000000000000000 wei",
        without_value="trades native ETH",
    ),
    Answered(
        "zeroex",
        ("zeroex-quote-eth-usdc-base",),
        of(ETH, BASE_USDC, 10**18, "0xDeaD00000000000000000000000000000000BEEf", 100),
        {
            "dex": "Kipseli",
            "path": (ETH, BASE_WETH, BASE_USDC),
            "buy_amount": 2_052_237_020,
            "min_buy_amount": 2_031_683_820,
            "gas": 771_154,
        },
        verdict="it asks for 1000000000000000000 wei",
        without_value="trades native ETH",
    ),
    Answered(
        "zeroex",
        ("zeroex-openapi-200",),
        of(USDC, USDT, 100_000_000, VITALIK, 100),
        {"dex": "SolidlyV3", "buy_amount": 100_037_537, "min_buy_amount": 99_037_162},
        verdict="is not a pinned router",
        without_value="is not a pinned router",
    ),
    Answered(
        "oneinch",
        ("oneinch-swap-v60-spec-example",),
        of(ONEINCH, ONEINCH, 10**16, VITALIK),
        {"dex": "oneinch", "buy_amount": 62_131_879_850_006_790_961, "gas": 121_363},
        verdict="is not a pinned router",
        without_value="is not a pinned router",
    ),
]


@dataclass(frozen=True)
class Missed:
    """A body that holds no route for us, and what it must be read as."""

    source: str
    files: tuple[str, ...]
    miss: NoRouteReason
    reason: str = ""
    status: int = 200
    request: RouteRequest = field(default=ANY)


CUT = "the calldata is not hex"
HYPER = of(ETH, USDC, 10**17, VITALIK)
MISSES = [
    Missed(
        "kyberswap",
        ("kyberswap-routes-eth-usdc-mainnet-route-emptied", "kyberswap-error-4227-estimate-gas"),
        NoRouteReason.NO_ROUTE,
        "TransferHelper: TRANSFER_FROM_FAILED” (code 4227)",
    ),
    Missed(
        "kyberswap",
        (
            "kyberswap-routes-eth-usdc-mainnet-route-emptied",
            "kyberswap-build-hyperevm-truncated-calldata",
        ),
        NoRouteReason.BAD_REPLY,
        "another amount",
        request=of(ETH, USDC, 10**18, VITALIK),
    ),
    Missed(
        "kyberswap",
        (
            "kyberswap-routes-eth-usdc-mainnet-route-emptied",
            "kyberswap-build-hyperevm-truncated-calldata",
        ),
        NoRouteReason.BAD_REPLY,
        CUT,
        request=HYPER,
    ),
    Missed(
        *("kyberswap", ("kyberswap-error-4008-no-route",), NoRouteReason.NO_ROUTE),
        *("vendor: “route not found” (code 4008)", 400),
    ),
    Missed(
        *("velora", ("velora-error-norates",), NoRouteReason.NO_ROUTE),
        *("vendor: “No routes found with enough liquidity”", 400),
    ),
    Missed(
        "velora",
        ("velora-prices-noversion-weth-usdc-mainnet",),
        NoRouteReason.BAD_REPLY,
        "txParams",
    ),
    Missed(
        "velora",
        ("velora-swap-v62-usdc-dai-mainnet-doc-abridged",),
        NoRouteReason.BAD_REPLY,
        "shape",
    ),
    Missed(
        "sushi",
        ("sushi-quote-v7-eth-sushi-mainnet",),
        NoRouteReason.BAD_REPLY,
        "neither a route nor a reason",
        request=of(ETH, SUSHI, 10**16, VITALIK),
    ),
    Missed(
        "sushi", ("sushi-swap-v7-eth-sushi-mainnet",), NoRouteReason.BAD_REPLY, "another amount"
    ),
    Missed(
        *("sushi", ("sushi-error-422-04",), NoRouteReason.REFUSED),
        *("vendor: “Insufficient allowance”", 422),
    ),
    Missed(
        "openocean",
        ("openocean-swap-eth-usdc-doc-abridged",),
        NoRouteReason.BAD_REPLY,
        CUT,
        request=of(ETH, USDC, 10**18, VITALIK),
    ),
    Missed(
        "openocean", ("openocean-swap-eth-usdc-doc-abridged",), NoRouteReason.BAD_REPLY, "inToken"
    ),
    Missed(
        "openocean",
        ("openocean-quote-eth-usdc-doc-abridged",),
        NoRouteReason.BAD_REPLY,
        "to is not an address",
        request=of(ETH, USDC, 10**18, VITALIK),
    ),
    Missed("openocean", ("openocean-gasprice-eth",), NoRouteReason.NO_ROUTE),
    Missed(
        "zeroex",
        ("zeroex-quote-100weth-dai-mainnet",),
        NoRouteReason.BAD_REPLY,
        CUT,
        request=of(WETH, DAI, 10**20, VITALIK, 100),
    ),
    Missed("zeroex", ("zeroex-quote-100weth-dai-mainnet",), NoRouteReason.BAD_REPLY, "buyToken"),
    Missed(
        "zeroex", ("zeroex-price-100weth-dai-mainnet",), NoRouteReason.BAD_REPLY, "neither a trans"
    ),
    Missed("oneinch", ("oneinch-swap-v61-disableEstimate-abridged",), NoRouteReason.BAD_REPLY, CUT),
    Missed(
        "oneinch",
        ("oneinch-swap-v5shape-weth-zrx-mainnet-2023",),
        NoRouteReason.BAD_REPLY,
        "dstAmount",
    ),
    Missed(
        "oneinch", ("oneinch-quote-v60-spec-example",), NoRouteReason.BAD_REPLY, "no transaction"
    ),
    Missed("oneinch", ("oneinch-error-insufficient-liquidity",), NoRouteReason.NO_ROUTE, "", 400),
    Missed(
        "oneinch", ("oneinch-error-insufficient-liquidity-2023",), NoRouteReason.NO_ROUTE, "", 400
    ),
    Missed(
        *("oneinch", ("oneinch-error-not-enough-allowance",), NoRouteReason.REFUSED),
        *("vendor: “Not enough allowance. Amount: 1000000. Allowance: 0.", 400),
    ),
]
READ_ELSEWHERE = {
    "kyberswap-errors-spec",
    "velora-errors-official",
    "velora-contracts-official",
    "lifi-quote-usdc-eth-base",  # a source the service does not ask
    "lifi-error-429",
}
