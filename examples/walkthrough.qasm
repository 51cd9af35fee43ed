// Three qubits from gates to the answer, as docs/statevec-planning.md follows them: 001 and 100, half of the shots each.
OPENQASM 2.0;
include "qelib1.inc";
qreg q[3];
h q[0];
h q[1];
h q[2];
cz q[0], q[1];
cz q[1], q[2];
h q[0];
h q[2];
cx q[0], q[1];
x q[2];
swap q[0], q[2];
