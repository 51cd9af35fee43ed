#!/usr/bin/env python3
"""Checks compiled tile kernels: nothing the compiler put between a jump and an operation is needed.

The kernels of statevec jump to an operation through a table written by hand (tile/apply.h), and the
switch behind that jump is never run. Reads PTX files (nvcc -ptx); fails when code between the jump
and a label TW_OP_n sets a register that is read after the label.

    check_jumps.py kernel.ptx...
"""

import re
import sys

REGISTER = re.compile(r"%[a-z]+\d+")


def check(path: str) -> int:
    problems = jumps = 0
    for body in open(path).read().split(".entry ")[1:]:
        name = body.split("(", 1)[0]
        if "brx.idx" not in body:
            continue
        jumps += 1
        lines = body[body.index("brx.idx"):].splitlines()[2:]
        blocks, labels = [[]], {}
        for line in lines:
            text = line.strip()
            label = re.match(r"(\$\w+|TW_OP_\d+):", text)
            if label:
                if blocks[-1]:
                    blocks.append([])
                labels[label[1]] = len(blocks) - 1
                if label[1].startswith("TW_OP"):
                    blocks[-1].append(text)
            elif text and not text.startswith(("//", ".", "}")):
                blocks[-1].append(text)
                if re.match(r"(@!?%p\d+ )?(bra|ret|exit)", text):
                    blocks.append([])
        # The blocks of the switch: those reached from the jump without passing a label.
        tree, todo = set(), [0]
        while todo:
            k = todo.pop()
            if k in tree or k >= len(blocks):
                continue
            if blocks[k] and blocks[k][0].startswith("TW_OP"):
                continue
            tree.add(k)
            last = blocks[k][-1] if blocks[k] else ""
            target = re.search(r"bra(?:\.uni)?\s+(\$\w+)", last)
            if target and target[1] in labels:
                todo.append(labels[target[1]])
            if not target or last.startswith("@"):
                todo.append(k + 1)
        made = {}
        for k in tree:
            for text in blocks[k]:
                if text.startswith(("@", "bra")):
                    continue
                registers = REGISTER.findall(text)
                if registers:
                    made[registers[0]] = text
        for k, block in enumerate(blocks):
            if k in tree:
                continue
            for text in block:
                for register in set(REGISTER.findall(text)) & made.keys():
                    problems += 1
                    print(f"{path}: {name}: '{made[register]}' is skipped by the jump, "
                          f"and '{text}' needs it")
    if not jumps:
        print(f"{path}: no jump found")
    return problems if jumps else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    found = sum(check(path) for path in sys.argv[1:])
    print(f"{len(sys.argv) - 1} file(s), {found} problem(s)")
    sys.exit(1 if found else 0)
