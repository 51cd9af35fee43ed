#!/usr/bin/env python3
"""Shell completions and manual pages say what the help says: in bash, zsh and fish themselves where they are installed."""
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from program import TILEWAVE, Checker, tilewave

c = Checker()
USAGE = 2


def help_of(command):
    return tilewave("help", *([command] if command else [])).out


COMMANDS = re.findall(r"^  (\S+)  ", help_of("").split("Subcommands:")[1], re.M)
c.check(len(COMMANDS) > 10 and "run" in COMMANDS, f"commands: {COMMANDS}")
# where a command comes first, the flags of others are not prepared: its own are the same
for command in COMMANDS:
    c.check(tilewave(command, "--help").out == help_of(command), f"{command} --help is help {command}")
FLAG = re.compile(r"^  ((?:-\w,)?--[\w-]+)(.*)$", re.M)


def flags_of(command):
    """Every name of a flag, from the help alone."""
    return {name for names, _ in FLAG.findall(help_of(command)) for name in names.split(",")}


FLAGS = {command: flags_of(command) for command in [*COMMANDS, ""]}
SCRIPTS = {shell: tilewave("completions", shell).out for shell in ("bash", "zsh", "fish")}
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for shell, script in SCRIPTS.items():
        (folder / shell).write_text(script)

    # bash: the function itself, asked as bash asks it
    def bash(*words):
        ask = f'source "{folder}/bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tilewave; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "-c", ask, "bash", "tilewave", *words], capture_output=True, text=True)
        c.check(done.returncode == 0 and not done.stderr, f"bash {words}: {done.stderr}")
        return set(done.stdout.split())

    c.check(bash("") == set(COMMANDS), f"bash, commands: {bash('')}")
    c.check(bash("en") == {"entropy"}, "bash, the start of a command")
    for command in COMMANDS:
        c.check(bash(command, "-") == FLAGS[command], f"bash, flags of {command}: {bash(command, '-') ^ FLAGS[command]}")
    c.check(bash("-") == FLAGS[""], f"bash, flags of the program: {bash('-')}")
    c.check(bash("help", "") == set(COMMANDS), "bash, help COMMAND")
    c.check(bash("run", "--shots", "") == set(), "bash, a number is not completed")
    c.check(bash("run", "x.qasm", "--precision", "s") == {"single"}, "bash, the start of a value")
    c.check(bash("run", "--precision", "=", "s") == {"single"}, "bash, the start of a value behind =")
    c.check(bash("run", "--precision", "=") == {"double", "single"}, "bash, values behind =")

    if shutil.which("fish"):
        def fish(line):
            done = subprocess.run(["fish", "--no-config", "-c", f"source {folder}/fish; complete -C '{line}'"], capture_output=True, text=True,
                                  cwd=folder)
            c.check(done.returncode == 0 and not done.stderr, f"fish {line}: {done.stderr}")
            return {row.split("\t")[0] for row in done.stdout.splitlines()}

        c.check(set(COMMANDS) <= fish("tilewave "), f"fish, commands: {set(COMMANDS) - fish('tilewave ')}")
        for command in COMMANDS:
            long = {flag for flag in FLAGS[command] if flag.startswith("--")}
            c.check(fish(f"tilewave {command} --") == long, f"fish, flags of {command}: {fish(f'tilewave {command} --') ^ long}")
        c.check(fish("tilewave run --precision ") == {"double", "single"}, "fish, values")
    else:
        print("fish is not installed: its completions are compared as text only")

    if shutil.which("zsh"):
        # the completion system in a terminal of its own, which lists what Tab offers
        driver = folder / "driver.zsh"
        driver.write_text(f'''
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PROMPT=; autoload -Uz compinit; compinit -u -d {folder}/dump; fpath=({folder} \\$fpath); source {folder}/zsh; compdef _tilewave tilewave"
zpty -w z "zstyle ':completion:*' list-prompt ''; zstyle ':completion:*' verbose no; LISTMAX=0; setopt autolist noautomenu; stty rows 100 columns 60; print READY"
zpty -r z out "*READY*READY*"
zpty -w -n z "$1"$'\\t\\t'
sleep 1
zpty -w -n z $'\\C-u'"print DONE"$'\\n'
zpty -r z out "*DONE*DONE*"
print -r -- "$out"
''')

        def zsh(line):
            done = subprocess.run(["zsh", "-f", str(driver), line], capture_output=True, text=True, cwd=folder, timeout=60)
            text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", " ", done.stdout)
            return set(text.split("READY")[-1].split())

        for command in ("run", "detect", "gen"):
            found = zsh(f"tilewave {command} --")
            long = {flag for flag in FLAGS[command] if flag.startswith("--")}
            c.check(long <= found, f"zsh, flags of {command}: {sorted(long - found)}")
        found = zsh("tilewave ")
        c.check(set(COMMANDS) <= found, f"zsh, commands: {sorted(set(COMMANDS) - found)}")
        c.check({"double", "single"} <= zsh("tilewave run --precision "), "zsh, values")
    else:
        print("zsh is not installed: its completions are compared as text only")

    # as text: every flag stands in every script, in the part of its command
    for command in COMMANDS:
        part = re.search(rf"^    \({command}\)\n(.*?)^      ;;$", SCRIPTS["zsh"], re.M | re.S)
        found = set(re.findall(r"^        '(-[\w-]+)\[", part[1], re.M)) if part else None
        c.check(found == FLAGS[command], f"zsh, text of {command}: {found}")
        rows = re.findall(rf"^complete -c tilewave -n '__fish_seen_subcommand_from {command}'(.*)$", SCRIPTS["fish"], re.M)
        heads = [row.split(" -d '")[0] for row in rows]
        found = {"--" + name for row in heads for name in re.findall(r" -l (\S+)", row)}
        found |= {"-" + name for row in heads for name in re.findall(r" -s (\S+)", row)}
        c.check(found == FLAGS[command], f"fish, text of {command}: {found}")

    # values that are offered are those the help names
    for command in COMMANDS:
        text = re.sub(r"\n {20,}", " ", help_of(command))
        for flag in re.findall(rf"'{command} (--[\w-]+)'[^)\n]*\) words='", SCRIPTS["bash"]):
            words = re.search(rf"'{command} {flag}'[^)\n]*\) words='([^']*)'", SCRIPTS["bash"])[1].split()
            told = re.search(rf"^  (?:-\w,)?{flag}\b.*$", text, re.M)[0]
            c.check(words and all(re.search(rf"\b{word}\b", told) for word in words), f"{command} {flag}: {words} in {told!r}")

    # manual pages: every flag with its help, and no complaint of man's own reader
    pages = folder / "man"
    pages.mkdir()
    done = tilewave("manual", "--folder", pages)
    c.check(done.code == 0 and not done.out, f"pages: {done.err}")
    names = {"tilewave.1"} | {f"tilewave-{command}.1" for command in COMMANDS}
    c.check({path.name for path in pages.iterdir()} == names, f"pages: {sorted(path.name for path in pages.iterdir())}")
    for command in ["", *COMMANDS]:
        path = pages / (f"tilewave-{command}.1" if command else "tilewave.1")
        source = path.read_text()
        c.check(tilewave("manual", *([command] if command else [])).out == source, f"{path.name}: the same alone")
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-rLL=400n", str(path)], capture_output=True, text=True)
            c.check(done.returncode == 0 and not done.stderr, f"{path.name}: {done.stderr}")
            shown = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
        else:
            shown = re.sub(r"\\f[BRI]", "", source).replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")
        shown = " ".join(shown.replace("‐", "-").replace("−", "-").replace("’", "'").split())
        shown = shown.translate({0x2019: "'", 0x2018: "`", 0x2c6: "^", 0x2dc: "~"})
        for names, rest in FLAG.findall(re.sub(r"\n {20,}", "  ", help_of(command))):
            words = rest.split("  ", 1)[-1].strip() if "  " in rest else ""
            c.check(all(name in shown for name in names.split(",")) and " ".join(words.split()) in shown,
                    f"{path.name}: {names}: {words!r}")
        c.check("EXIT STATUS" in shown and "SEE ALSO" in shown, f"{path.name}: its parts")
    if not shutil.which("groff"):
        print("groff is not installed: the pages are read without it")

# what is wrong is said
for words, told in ((("completions", "tcsh"), "bash, zsh or fish"), (("completions",), "SHELL"), (("manual", "nothing"), "no command 'nothing'"),
                    (("manual", "run", "--folder", "/tmp"), "leave out run")):
    done = tilewave(*words)
    c.check(done.code == USAGE and told in done.err and not done.out, f"{words}: {done.code} {done.err!r}")
done = tilewave("manual", "--folder", "/nonexistent/folder")
c.check(done.code == 3 and "/nonexistent/folder" in done.err, f"no such folder: {done.code} {done.err!r}")
c.finish()
