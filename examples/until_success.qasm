// A coin until it shows heads, three times at most, then a switch on how often it was thrown.
OPENQASM 3.0;
include "stdgates.inc";
qubit coin;
qubit[2] q;
bit heads;
bit[2] throws;

def throw(qubit a) -> bit {
  reset a;
  h a;
  return measure a;
}

int n = 0;
for int i in [1:3] {
  if (!heads) {
    heads = throw(coin);
    n += 1;
  }
}
switch (n) {
  case 1 { x q[0]; }
  case 2 { x q[1]; }
  default { ctrl @ x coin, q[0]; negctrl @ x coin, q[0]; x q[1]; }
}
throws = measure q;
