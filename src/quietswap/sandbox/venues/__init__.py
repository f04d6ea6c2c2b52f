"""The vendors of prices, each speaking its real HTTP protocol over the sandbox's real pools."""
