"""What the reader of OpenQASM 3 refuses: the line, the column and the caret of the message."""
import pytest

import tilewave as tw

# what is refused: the text, where, and what is said
REFUSED = {
    "pragma of a gate": ("qubit q;\n  #pragma braket unitary([[0, 1], [1, 0]]) q", "2:3", "changes what the circuit does"),
    "extern": ("qubit q; extern f(int[8]) -> int[8];", "1:10", "an extern function is computed outside of the program"),
    "calibration": ("qubit q;\n  defcal x $0 { }", "2:3", "belongs to the pulse-level part of OpenQASM 3"),
    "cal block": ('defcalgrammar "openpulse";', "1:1", "belongs to the pulse-level part of OpenQASM 3"),
    "durationof": ("qubit q; duration d = durationof({x q;});", "1:23", "belongs to the pulse-level part"),
    "complex": ("qubit q; complex[float[64]] z;", "1:10", "'complex' of OpenQASM 3 is not read"),
    "array index": ("qubit q; array[int, 2] a = {1, 2}; rx(a[2]) q;", "1:41", "index 2 is out of range"),
    "array size": ("qubit q; array[int, 2] a = {1, 2, 3};", "1:28", "3 elements where 2 are needed"),
    "array of qubits": ("array[qubit, 2] a;", "1:7", "an array has no elements of this type"),
    "constant array": ("qubit q; const array[int, 1] a = {1}; a[0] = 2;", "1:39", "'a' is constant"),
    "readonly array": ("def f(readonly array[int, 1] a) { a[0] = 1; } array[int, 1] b = {1}; qubit q; f(b);", "1:35",
                       "'a' is constant"),
    "measured size": ("qubit q; bit c = measure q; qubit[c] r;", "1:35", "a size depends on a measurement"),
    "while true": ("qubit q; while (true) { x q; }", "1:10", "this loop runs more than 1048576 times"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_line_column_and_caret(name):
    text, where, problem = REFUSED[name]
    line, column = map(int, where.split(":"))
    with pytest.raises(ValueError) as error:
        tw.Circuit.from_qasm("OPENQASM 3.0;\n" + text)
    first, source, caret = str(error.value).split("\n")
    assert first.startswith(f"<text>:{line + 1}:{column}: ") and problem in first
    assert source.strip() and caret.strip() == "^" and len(caret) - 1 == column - 1
