"""The PriceOracle port on three independent price sources; excludes scoring."""
