// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeToken} from "./SafeToken.sol";

/// Augustus' fees, which it takes after its check of the minimum. The list of tokens without fees
/// is left out: it never reduces what a wallet receives.
abstract contract VeloraFees {
    using SafeToken for address;

    error InsufficientBalanceToPayFees();

    address private constant FEE_WALLET = 0x0000fEe00000000000000000000000000000fEE1;
    address private constant FEE_VAULT = 0x0000fee00000000000000000000000000000fEe2;

    uint256 private constant FEE_BPS = 0x3FFF;
    uint256 private constant SURPLUS_TO_USER = 1 << 90;
    uint256 private constant DIRECT_TRANSFER = 1 << 91;
    uint256 private constant CAP_SURPLUS = 1 << 92;
    uint256 private constant REFERRAL = 1 << 94;
    uint256 private constant TAKE_SURPLUS = 1 << 95;

    /// Pays `to` what remains after fees and `dust`. Returns that amount and both fees.
    function _pay(
        address to,
        address token,
        uint256 partnerAndFee,
        uint256 received,
        uint256 quoted,
        uint256 dust
    ) internal returns (uint256 left, uint256 ours, uint256 partners) {
        uint256 surplus = _surplus(partnerAndFee, received, quoted);
        bool direct = true;
        if (partnerAndFee >> 96 == 0) {
            ours = surplus;
        } else {
            (ours, partners, direct) = _shares(partnerAndFee, received, quoted, surplus);
        }
        if (ours + partners > received) revert InsufficientBalanceToPayFees();
        left = received - ours - partners;
        if (direct) {
            if (ours > 0) token.send(FEE_WALLET, ours);
            if (partners > 0) token.send(address(uint160(partnerAndFee >> 96)), partners);
        } else if (ours + partners > 0) {
            token.send(FEE_VAULT, ours + partners);
        }
        // the original's subtraction is unchecked too: the transfer fails if fees left nothing
        unchecked {
            left -= dust;
        }
        token.send(to, left);
    }

    /// The surplus above the quote, if it exceeds 11 units; with a flag at most 1 %.
    function _surplus(uint256 fees, uint256 received, uint256 quoted) private pure returns (uint256 surplus) {
        if (received <= quoted + 11) return 0;
        surplus = received - quoted;
        if (fees & CAP_SURPLUS != 0 && surplus > quoted / 100) surplus = quoted / 100;
    }

    /// A fee in bps excludes any share of the surplus. Without a flag the surplus is Velora's.
    function _shares(
        uint256 fees,
        uint256 received,
        uint256 quoted,
        uint256 surplus
    ) private pure returns (uint256 ours, uint256 partners, bool direct) {
        direct = fees & DIRECT_TRANSFER != 0;
        uint256 bps = fees & FEE_BPS > 200 ? 200 : fees & FEE_BPS;
        if (bps > 0) {
            uint256 base = received > quoted + surplus ? quoted + surplus : received;
            uint256 fee = (base * bps) / 10_000;
            partners = (fee * 8500) / 10_000;
            return (fee - partners, partners, direct);
        }
        if (fees & REFERRAL != 0) return (surplus / 2, surplus / 4, direct);
        if (fees & TAKE_SURPLUS == 0) return (surplus, 0, true);
        ours = surplus / 2;
        if (fees & SURPLUS_TO_USER != 0) return (ours, 0, true);
        return (ours, surplus - ours, direct);
    }
}
