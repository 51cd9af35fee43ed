"""Programs in OpenQASM 3 as people write them by hand, each with what it must give: the probabilities of its outcomes.

Keys are those of tilewave.sample: registers separated by blanks, the last declared leftmost. Values are probabilities; one outcome alone is certain.
"""
from math import sin, sqrt

import pytest

import tilewave as tw

HEAD = 'OPENQASM 3.0;\ninclude "stdgates.inc";\n'


def half(angle):
    """P(1) after rx(angle) or ry(angle)."""
    return sin(angle / 2) ** 2


PROGRAMS = {
    "outputs alone are returned": ("""
        qubit[2] q; bit[2] all; output bit c; output int[8] k; output angle[4] a;
        x q[0]; h q[1]; all = measure q;
        c = all[0]; k = -5; a = pi / 2;
        if (all[1]) { k += 7; end; }
        k += 1;
    """, {"0100 00000010 1": 0.5, "0100 11111100 1": 0.5}),

    "the mean of what was found, where something was": ("""
        def mean(int n, int total) -> float {
          if (n == 0) { return 0.0; }
          float m = float(total) / n;
          return m * (m / n);
        }
        qubit[2] q; bit[2] c; bit far;
        h q; c = measure q;
        far = mean(popcount(c), 4) > 2.0;
    """, {"0 00": 0.25, "1 01": 0.25, "1 10": 0.25, "0 11": 0.25}),

    "a key of 100 bits": ("""
        qubit[100] q; bit[100] sent; bit[100] key; output bit same; output uint[8] ones;
        for int k in [0:3:99] { x q[k]; }
        sent = measure q;
        key = rotl(~sent, 1) ^ (sent >> 64);
        same = ~key == (rotl(sent, 1) ^ (sent >> 64));
        ones = popcount(key);
    """, {"00110110 1": 1}),

    "teleportation": ("""
        qubit[3] q; bit c0; bit c1; bit out;
        ry(0.7) q[0];
        h q[1]; cx q[1], q[2];
        cx q[0], q[1]; h q[0];
        c0 = measure q[0]; c1 = measure q[1];
        if (c1 == 1) x q[2];
        if (c0 == 1) { z q[2]; }
        out = measure q[2];
    """, {f"{o} {b} {a}": (half(0.7) if o else 1 - half(0.7)) / 4 for o in (0, 1) for b in (0, 1) for a in (0, 1)}),

    "teleportation in a subroutine": ("""
        def bell(qubit a, qubit b) { h a; cx a, b; }
        def send(qubit from, qubit here, qubit there) {
          bell(here, there);
          cx from, here; h from;
          bit[2] m;
          m[0] = measure from; m[1] = measure here;
          if (m[1]) x there;
          if (m[0]) z there;
        }
        qubit[3] q; bit out;
        rx(1.1) q[0];
        send(q[0], q[1], q[2]);
        out = measure q[2];
    """, {"0": 1 - half(1.1), "1": half(1.1)}),

    "phase estimation": ("""
        const int n = 4; const float phase = 2 * pi * 5 / 16;
        qubit[n] counting; qubit target; bit[n] c;
        x target; h counting;
        for int k in [0:n-1] { ctrl @ pow(2**k) @ p(phase) counting[k], target; }
        for uint k in [0:n/2-1] { swap counting[k], counting[n-1-k]; }
        for int j in [0:n-1] {
          for int k in [0:j-1] { cp(-pi / 2**(j-k)) counting[k], counting[j]; }
          h counting[j];
        }
        c = measure counting;
    """, {"0101": 1}),

    "iterative phase estimation with while and feedback": ("""
        def step(qubit a, qubit t, int power, angle back) -> bit {
          reset a; h a;
          for int i in [1:power] { cp(2 * pi * 11 / 16) a, t; }
          rz(back) a; h a;
          return measure a;
        }
        qubit a; qubit t; bit[4] c; x t;
        int k = 3; float back = 0;
        while (k >= 0) {
          c[3 - k] = step(a, t, 1 << k, -2 * pi * back);
          back = back / 2;
          if (c[3 - k]) back += 0.25;
          k -= 1;
        }
    """, {"1011": 1}),

    "phase estimation, corrections by switch": ("""
        qubit a; qubit t; bit[2] c; x t;
        h a; ctrl @ pow(2) @ p(3 * pi / 2) a, t; h a; c[0] = measure a; reset a;
        h a; ctrl @ p(3 * pi / 2) a, t;
        switch (int(c[0])) { case 0 { } case 1 { p(-pi / 2) a; } }
        h a; c[1] = measure a;
    """, {"11": 1}),

    "repeat until success": ("""
        qubit[2] q; bit flag = 1; bit[2] tries = 0; bit out; int n = 0;
        while (flag && n < 3) {
          reset q[0]; h q[0]; flag = measure q[0]; n += 1;
        }
        tries = bit[2](n);
        if (!flag) x q[1];
        out = measure q[1];
    """, {"1 01 0": 1 / 2, "1 10 0": 1 / 4, "1 11 0": 1 / 8, "0 11 1": 1 / 8}),

    "ripple-carry adder": ("""
        gate majority a, b, c { cx c, b; cx c, a; ccx a, b, c; }
        gate unmaj a, b, c { ccx a, b, c; cx c, a; cx a, b; }
        qubit[1] cin; qubit[4] a; qubit[4] b; qubit[1] cout; bit[5] ans;
        uint[4] a_in = 1; uint[4] b_in = 15;
        for uint i in [0:3] {
          if (bool(a_in[i])) x a[i];
          if (bool(b_in[i])) x b[i];
        }
        majority cin[0], b[0], a[0];
        for uint i in [0:2] { majority a[i], b[i + 1], a[i + 1]; }
        cx a[3], cout[0];
        for uint i in [2:-1:0] { unmaj a[i], b[i + 1], a[i + 1]; }
        unmaj cin[0], b[0], a[0];
        ans[0:3] = measure b[0:3];
        ans[4] = measure cout[0];
    """, {"10000": 1}),

    "inverse Fourier transform with classical control": ("""
        qubit[4] q; bit[4] c; reset q; h q;
        barrier q;
        h q[0]; c[0] = measure q[0];
        if (int(c[0:0]) == 1) { rz(pi / 2) q[1]; }
        h q[1]; c[1] = measure q[1];
        if (int(c[0:1]) == 1) { rz(pi / 4) q[2]; }
        if (int(c[0:1]) == 2) { rz(pi / 2) q[2]; }
        if (int(c[0:1]) == 3) { rz(3 * pi / 4) q[2]; }
        h q[2]; c[2] = measure q[2];
        h q[3]; c[3] = measure q[3];
    """, {"0000": 1}),

    "error correction of three bits": ("""
        qubit[3] q; qubit[2] a; bit[3] c; bit[2] syn;
        def syndrome(qubit[3] d, qubit[2] a) -> bit[2] {
          bit[2] b;
          cx d[0], a[0]; cx d[1], a[0]; cx d[1], a[1]; cx d[2], a[1];
          b = measure a;
          return b;
        }
        x q; x q[1];
        syn = syndrome(q, a);
        if (int(syn) == 1) x q[0];
        if (int(syn) == 2) x q[2];
        if (int(syn) == 3) x q[1];
        c = measure q;
    """, {"11 111": 1}),

    "arrays of angles": ("""
        qubit[3] q; bit[3] c;
        const array[float[64], 3] angles = {pi, 0.0, pi};
        for int i in [0:2] { rx(angles[i]) q[i]; }
        c = measure q;
    """, {"101": 1}),

    "arrays of two dimensions": ("""
        qubit[4] q; bit[4] c;
        array[int[8], 2, 2] edges = {{0, 1}, {2, 3}};
        x q[0]; x q[2];
        for int k in [0:sizeof(edges, 0) - 1] { cx q[edges[k, 0]], q[edges[k][1]]; }
        edges[1, 1] = 0;
        x q[edges[1, 1]];
        c = measure q;
    """, {"1110": 1}),

    "arrays in subroutines": ("""
        def total(readonly array[int[32], 4] v) -> int[32] {
          int[32] sum = 0;
          for int i in [0:3] { sum += v[i]; }
          return sum;
        }
        def fill(mutable array[int[32], #dim = 1] v, int[32] with) {
          for int i in [0:sizeof(v) - 1] { v[i] = with; }
        }
        array[int[32], 4] a = {1, 2, 3, 4};
        qubit[5] q; bit[5] c;
        int[32] t = total(a);
        fill(a, 4);
        t += total(a);
        for int k in [0:4] { if ((t >> k) & 1 == 1) x q[k]; }
        c = measure q;
    """, {"11010": 1}),

    "loop over an array": ("""
        qubit[5] q; bit[5] c;
        array[uint[8], 3] marked = {0, 3, 4};
        for uint[8] k in marked { x q[k]; }
        c = measure q;
    """, {"11001": 1}),

    "measured results in an array": ("""
        qubit[2] q; bit[2] c; array[int[8], 2] seen = {0, 0};
        h q[0];
        c[0] = measure q[0];
        seen[1] = int[8](c[0]) + 1;
        if (seen[1] == 2) x q[1];
        c[1] = measure q[1];
    """, {"00": 1 / 2, "11": 1 / 2}),

    "constants and their functions": ("""
        const int n = 2 ** 2 - 1; const float theta = arccos(sqrt(1 - 0.25)) * 2; const bool on = n > 2 && !(n == 4);
        const uint[8] mask = 0b1010_0101 & 0x0F; const int m = mod(17, 5) + popcount(mask);
        qubit[n] q; bit[n] c;
        if (on) ry(theta) q[0];
        if (m == 4) x q[1];
        if (ceiling(2.1) == 3.0 && floor(-0.5) == -1.0 && exp(0) == 1.0) x q[2];
        c = measure q;
    """, {"110": 0.75, "111": 0.25}),

    "loops over sets and ranges with steps": ("""
        qubit[8] q; bit[8] c;
        for int i in [0:3:6] { x q[i]; }
        for int i in {1, 5} { x q[i]; }
        for int i in [7:-7:0] { x q[i]; }
        for bit b in "101" { if (b) x q[2]; else x q[4]; }
        c = measure q;
    """, {"11111010": 1}),

    "nested control, inverse and power": ("""
        qubit[4] q; bit[4] c;
        x q[0];
        ctrl @ negctrl @ x q[0], q[1], q[2];
        inv @ ctrl @ pow(0.5) @ x q[0], q[3];
        ctrl @ inv @ pow(0.5) @ x q[0], q[3];
        ctrl(2) @ inv @ inv @ x q[0], q[2], q[1];
        pow(-3) @ x q[0];
        c = measure q;
    """, {"1110": 1}),

    "global phase under control": ("""
        gate minus q { gphase(pi); }
        qubit[3] q; bit[3] c;
        h q;
        ctrl @ gphase(pi) q[0];
        ctrl @ minus q[1], q[0];
        ctrl @ pow(2) @ gphase(pi / 2) q[2];
        gphase(0.3);
        h q;
        c = measure q;
    """, {"111": 1}),

    "gates of gates with parameters": ("""
        gate cphase2(a) x, y { U(0, 0, a / 2) x; CX x, y; U(0, 0, -a / 2) y; CX x, y; U(0, 0, a / 2) y; }
        gate twice(a, b) x, y { cphase2(a) x, y; inv @ cphase2(-b) x, y; }
        qubit[2] q; bit[2] c;
        x q[0]; h q[1];
        twice(pi / 4, 3 * pi / 4) q[0], q[1];
        h q[1];
        c = measure q;
    """, {"11": 1}),

    "bits as numbers": ("""
        qubit[4] q; bit[4] c; bit[4] a = "0110"; bit[4] b = "0011";
        c = a ^ b;
        for int i in [0:3] { if (c[i]) x q[i]; }
        c = measure q;
        c = c << 1 | c >> 3;
        c = rotl(c, 1);
        c = ~c & "1111";
    """, {"0011 0110 1010": 1}),

    "casts and arithmetic of widths": ("""
        qubit[3] q; bit[3] c; uint[4] u = 15; int[4] i = 7; u += 2; i = i + 1;
        if (u == 1) x q[0];
        if (i == -8) x q[1];
        if (uint[2](u + 6) == 3 && int(3.9) == 3 && bool(u) && float(u) / 2 == 0.5) x q[2];
        c = measure q;
    """, {"111": 1}),

    "angles wrap around": ("""
        qubit q; bit c; angle[8] a = 3 * pi / 2; angle b = pi;
        a += b;
        rx(2 * a) q;
        c = measure q;
    """, {"1": 1}),

    "measured index in let": ("""
        qubit[3] q; bit[2] c; bit[3] r;
        h q[0]; c[0] = measure q[0]; reset q[0];
        int i = int(c[0]) + 1;
        let t = q[i];
        x t;
        r = measure q;
    """, {"010 00": 1 / 2, "100 01": 1 / 2}),

    "measured ends of a range": ("""
        qubit[4] q; bit[2] c; bit[4] r;
        h q[0]; h q[1]; c = measure q[0:1]; reset q;
        uint[2] i = c;
        x q[i:3];
        z q[0:i];
        r = measure q;
    """, {"1111 00": 1 / 4, "1110 01": 1 / 4, "1100 10": 1 / 4, "1000 11": 1 / 4}),

    "measured range in let": ("""
        qubit[4] q; bit c; bit[4] r;
        h q[0]; c = measure q[0]; reset q[0];
        let part = q[int(c):2:3];
        x part;
        r = measure q;
    """, {"0101 0": 1 / 2, "1010 1": 1 / 2}),

    "measured parts as arguments": ("""
        def pair(qubit[2] a) { x a[0]; cx a[0], a[1]; }
        def flip(qubit a) { x a; }
        qubit[4] q; bit c; bit[4] r;
        h q[0]; c = measure q[0]; reset q[0];
        let t = q[int(c):int(c) + 1];
        pair(t); flip(t[1]);
        r = measure q;
    """, {"0001 0": 1 / 2, "0010 1": 1 / 2}),

    "a measured part named before a loop that measures again": ("""
        qubit[3] q; bit c; bit d; bit[3] r;
        h q[0]; c = measure q[0]; d = c; reset q[0];
        let t = q[int(c) + 1];
        c = 1;
        while (c) { reset q[0]; h q[0]; c = measure q[0]; }
        x t;
        r = measure q;
    """, {"010 0 0": 1 / 2, "100 1 0": 1 / 2}),

    "a measured part of a classical register": ("""
        qubit[3] q; bit[3] c; bit[3] r = "000";
        h q[0]; c = measure q;
        let b = r[int(c[0]) + 1];
        b = 1;
    """, {"010 000": 1 / 2, "100 001": 1 / 2}),

    "fraction of a gate with a measured angle": ("""
        qubit[2] q; bit c; bit r;
        h q[0]; c = measure q[0];
        pow(0.5) @ rx(pi * int(c)) q[1];
        r = measure q[1];
    """, {"0 0": 1 / 2, "0 1": 1 / 4, "1 1": 1 / 4}),

    "controlled fraction with a measured angle": ("""
        gate turn(a) x { ry(a) x; }
        qubit[3] q; bit c; bit r;
        h q[0]; c = measure q[0]; x q[2];
        ctrl @ pow(1 / 4.0) @ turn(4 * int(c) * 0.9) q[2], q[1];
        r = measure q[1];
    """, {"0 0": 1 / 2, "0 1": (1 - half(0.9)) / 2, "1 1": half(0.9) / 2}),

    "concatenated aliases": ("""
        qubit[2] a; qubit[3] b; bit[5] c;
        let all = a ++ b; let odd = all[1:2:4]; let last = all[-1]; let some = all[{0, 3}];
        x odd; x last; x some[0]; cx some[0], some[1];
        c = measure all;
    """, {"10011": 1}),

    "early end": ("""
        qubit[2] q; bit[2] c;
        h q[0]; c[0] = measure q[0];
        if (c[0]) { end; }
        x q[1]; c[1] = measure q[1];
    """, {"01": 1 / 2, "10": 1 / 2}),

    "break and continue on measurements": ("""
        qubit[4] q; bit[4] c; h q[0];
        for int i in [0:3] {
          c[i] = measure q[i];
          if (i == 1) continue;
          if (c[i]) break;
          if (i < 3) x q[i + 1];
        }
    """, {"0001": 1 / 2, "1010": 1 / 2}),

    "dynamical decoupling with delays and boxes": ("""
        qubit q; bit c; duration gap = 100ns; stretch s;
        h q; delay[gap] q; x q; delay[gap + s] q;
        box[1us] { x q; nop q; delay[2 * gap] q; }
        h q; c = measure q;
    """, {"0": 1}),

    "unicode names and constants": ("""
        qubit[2] ψ; bit[2] c; const float θ = π / 2; angle δ = τ / 4;
        rx(θ) ψ[0]; rx(δ) ψ[0]; ry(2 * θ) ψ[1];
        c = measure ψ;
    """, {"11": 1}),

    "an index from a measured array": ("""
        qubit[3] q; bit[2] c; bit[3] r; array[uint[4], 2] where = {2, 0};
        h q[1]; c[0] = measure q[1]; reset q[1];
        x q[where[int(c[0])]];
        where[int(c[0])] = 1;
        x q[where[0]];
        r = measure q;
    """, {"110 00": 1 / 2, "101 01": 1 / 2}),

    "array filled in a loop that runs": ("""
        def count(mutable array[int[8], 2] n, bit b) { n[int(b)] += 1; }
        qubit q; bit b = 1; bit[2] c; int turns = 0; array[int[8], 2] n = {0, 0};
        while (b && turns < 2) { reset q; h q; b = measure q; count(n, b); turns += 1; }
        c[0] = n[0] == 1; c[1] = n[1] == 2;
    """, {"01 0": 3 / 4, "10 1": 1 / 4}),

    "physical qubits": ("""
        bit[2] c;
        x $0; cx $0, $3; c[0] = measure $0; c[1] = measure $3;
    """, {"11": 1}),

    "graph state by nested loops": ("""
        const uint[8] n = 3; qubit[n] q; bit[n] c;
        h q;
        for uint[8] i in [0:n - 1] { for uint[8] j in [i + 1:n - 1] { cz q[i], q[j]; } }
        h q[0];
        c = measure q;
    """, {"000": 1 / 4, "011": 1 / 4, "101": 1 / 4, "110": 1 / 4}),

    "ghz over a broadcast": ("""
        qubit[4] q; bit[4] c;
        h q[0]; for int i in [1:3] cx q[i - 1], q[i];
        measure q -> c;
    """, {"0000": 1 / 2, "1111": 1 / 2}),

    "old and new declarations": ("""
        qreg q[2]; creg c[2];
        u3(pi, 0, pi) q[0]; u1(0.3) q[1]; CX q[0], q[1];
        measure q -> c;
        if (c == 3) x q[0];
        measure q[0] -> c[0];
    """, {"10": 1}),

    "random walk counted in an integer": ("""
        qubit q; bit b; int[8] place = 0; bit[3] out = "000";
        for int step in [1:2] {
          reset q; h q; b = measure q;
          if (b) place += 1; else place -= 1;
        }
        out = bit[3](place + 2);
    """, {"000 0": 1 / 4, "010 0": 1 / 4, "010 1": 1 / 4, "100 1": 1 / 4}),

    "switch with several values and a default": ("""
        qubit[3] q; bit[2] c; bit r; h q[0]; h q[1]; c = measure q[0:1];
        switch (uint[2](c)) {
          case 0, 3 { x q[2]; }
          case 1 { ry(pi / 2) q[2]; }
          default { }
        }
        r = measure q[2];
    """, {"1 00": 1 / 4, "1 11": 1 / 4, "0 01": 1 / 8, "1 01": 1 / 8, "0 10": 1 / 4}),

    "compound assignments": ("""
        qubit q; bit c; int i = 3; float f = 1.5; uint[8] u = 7; bit[4] b = "1100";
        i *= 4; i -= 2; i /= 5; i **= 3; i %= 5; f /= 3; f *= 2; u <<= 2; u >>= 1; u &= 12; u |= 1; b ^= "1010";
        if (i == 3 && f == 1.0 && u == 13 && b == "0110") x q;
        c = measure q;
    """, {"0110 1": 1}),
}


def check(name):
    text, expected = PROGRAMS[name]
    shots = 4000
    found = tw.sample(tw.Circuit.from_qasm(HEAD + text), shots, seed=1)
    assert set(found) <= set(expected), found
    for key, p in expected.items():
        assert abs(found.get(key, 0) - shots * p) <= 5 * sqrt(shots * p * (1 - p)), (key, p, found)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_gives_its_outcomes(name):
    check(name)
