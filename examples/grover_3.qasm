// Grover's search for 101 among eight: two rounds find it with probability 0.945.
OPENQASM 2.0;
include "qelib1.inc";
gate mark a, b, c { x b; h c; ccx a, b, c; h c; x b; }
gate reflect a, b, c { h a; h b; h c; x a; x b; x c; h c; ccx a, b, c; h c; x a; x b; x c; h a; h b; h c; }
qreg q[3];
creg c[3];
h q;
mark q[0], q[1], q[2];
reflect q[0], q[1], q[2];
mark q[0], q[1], q[2];
reflect q[0], q[1], q[2];
measure q -> c;
