"""Plain data that everything else is built on: dtypes, devices, warnings."""
