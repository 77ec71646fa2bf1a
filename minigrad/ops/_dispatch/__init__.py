"""What stands between a call of an op and its formula: argument parsing, promotion, devices, `out=`."""
