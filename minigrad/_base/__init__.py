"""The basis of everything else: dtypes, devices, warnings and other plain data."""
