// The phase 2 pi 5/16 of a gate, digit by digit: what was measured turns what is measured next.
OPENQASM 3.0;
include "stdgates.inc";

const int digits = 4;
qubit work;
qubit eigenstate;
bit[digits] c;

x eigenstate;
float turn = 0;  // of the digits so far
for int k in [0:digits - 1] {
  reset work;
  h work;
  pow(2 ** (digits - 1 - k)) @ cp(2 * pi * 5 / 16) work, eigenstate;
  p(-turn) work;
  h work;
  c[k] = measure work;
  if (c[k]) turn += pi;
  turn /= 2;
}
