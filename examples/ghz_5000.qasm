// 5000 qubits in a GHZ state, far more than memory holds amplitudes of: the gates are Clifford gates, which the stabilizer
// engine runs. The first and the last qubit always agree.
OPENQASM 3.0;
include "stdgates.inc";
qubit[5000] q;
bit[2] ends;
h q[0];
for int k in [0:4998] {
  cx q[k], q[k + 1];
}
ends[0] = measure q[0];
ends[1] = measure q[4999];
