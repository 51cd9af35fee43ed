# Read by ctest before it runs tests, which inherit it: plans as on any machine, tuned or not.
set(ENV{TILEWAVE_RATES} off)
