# SPDX-License-Identifier: GPL-2.0-only
"""Changes of single lines of C after which the program behaves differently."""

import re
from typing import Callable, Iterator, NamedTuple


class Mutant(NamedTuple):
    file: str
    function: str
    line: int  # current line number, from 0; not part of the key
    old: str
    new: str
    operator: str

    def key(self) -> tuple[str, str, str, str]:
        """Returns a key that stays the same when other lines of the file change."""
        return self.file, self.function, self.old.strip(), self.new.strip()


ARGUMENT = r"[&*]?\w[\w.>\[\]-]*"

# (name, pattern, replacement): each match on a line makes a mutant.
RULES: tuple[tuple[str, str, str | Callable[[re.Match[str]], str]], ...] = (
    ("boundary", r"(?<=[\w)\]]) < (?=[\w(*&-])", " <= "),
    ("boundary", r"(?<=[\w)\]]) <= (?=[\w(*&-])", " < "),
    ("boundary", r"(?<=[\w)\]]) > (?=[\w(*&-])", " >= "),
    ("boundary", r"(?<=[\w)\]]) >= (?=[\w(*&-])", " > "),
    ("flip", r"(?<=[\w)\]]) < (?=[\w(*&-])", " >= "),
    ("flip", r"(?<=[\w)\]]) > (?=[\w(*&-])", " <= "),
    ("flip", r" == ", " != "),
    ("flip", r" != ", " == "),
    ("logic", r" && ", " || "),
    ("logic", r" \|\| ", " && "),
    ("not", r"(?<=[( ])!(?=[\w(])", ""),
    ("arithmetic", r"(?<=[\w)\]]) \+ (?=[\w(])", " - "),
    ("arithmetic", r"(?<=[\w)\]]) - (?=[\w(])", " + "),
    ("off-by-one", r"(?<=[\w)\]]) [+-] 1\b", ""),
    ("constant", r"(?<=[=<>(,] )(\d+)(?=[;,) ])", lambda match: str(int(match.group(1)) + 1)),
    ("constant", r"(?<=return )0(?=;)", "1"),
    ("constant", r"(?<=return )1(?=;)", "0"),
    ("constant", r"\btrue\b", "false"),
    ("constant", r"\bfalse\b", "true"),
    ("return", r"(?<=return )(?!0;|1;|true;|false;|NULL;)[^;]+(?=;$)", "0"),
    ("step", r"\+\+(?=;)", "--"),
    ("step", r" \+= ", " -= "),
    ("step", r" -= ", " += "),
    ("bits", r" \|= ", " &= "),
    ("bits", r" & ", " | "),
    ("bits", r" << ", " >> "),
    ("loop", r"\bbreak;", "continue;"),
    ("loop", r"\bcontinue;", "break;"),
    ("dropped", r"\bcontinue;", ";"),
    ("dropped", r"\bbreak;", ";"),
    ("swapped", r"\b(?!if\b|for\b|while\b|switch\b|return\b|sizeof\b)(\w+)"
     r"\((" + ARGUMENT + r"), (" + ARGUMENT + r")(?=[,)])", r"\1(\3, \2"),
    ("swapped", r"(?<=, )(" + ARGUMENT + r"), (" + ARGUMENT + r")(?=\);$)", r"\2, \1"),
    ("lost-error", r"(?<=\bif \()((?:ret|failed|err|error|status)(?: < 0)?)(?=\)$)", "0"),
    ("lost-error", r"(?<=^\t)(\t*)(?:ret|failed|status) = (?=\w+\(.*\);$)", r"\1"),
    ("lost-error", r"(?<=return )(?:-E[A-Z]+|jp_fail\(.*\)|ret)(?=;$)", "0"),
    ("width", r"(?<!for \()\b(u?)int64_t\b(?! i\b)", r"\1int32_t"),
    ("width", r"(?<!for \()\b(u?)int32_t\b(?! i\b)", r"\1int16_t"),
    ("bound", r"(?<=\bmemcpy\()(.+)(?=\);$)", r"\1 - 1"),
    ("bound", r"(?<=[\w)\]]) (<|>=) (?=\w[^,;&|?]*(?:;|\)$))", r" \1 1 + "),
    ("negated", r"(?<=\bif \()(.+)(?=\)( \{)?$)", r"!(\1)"),
    ("choice", r"\? ([^?:]+) : ([^?:]+)(?=[;,)])",
     r"? \2 : \1"),
)
STATEMENT = re.compile(r"^\t+(?!return\b|break\b|continue\b|goto\b|case\b|default\b|else\b)"
                       r"(?:\*?[a-z_]\w*(?:->|\.|\[|\(| [|&+*-]?= |\+\+|--)).*;$")
DECLARATION = re.compile(r"^\t+(?:(?:const|static|struct|enum|unsigned|u?int\d*_t|bool|char|size_t|"
                         r"int|long|double|float|void|ssize_t|FILE)\b)")
FUNCTION = re.compile(r"^(?!static const|#|/|\}|\{)[a-z].*?(\w+)\(")


def is_balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0


def blank_strings(line: str) -> str:
    """Blanks out strings and comments without moving columns."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'',
                  lambda match: "\x01" * len(match.group(0)), line)
    return re.sub(r"/\*.*?(\*/|$)|//.*$", lambda match: "\x01" * len(match.group(0)), line)


def make_line_mutants(line: str) -> Iterator[tuple[str, str]]:
    """Yields (operator, changed line)."""
    code = blank_strings(line)
    bare = DECLARATION.match(code) and "=" not in code
    for name, pattern, replacement in RULES:
        if bare and name != "width":
            continue
        for match in re.finditer(pattern, code):
            if name == "negated" and not is_balanced(match.group(1)):
                continue
            start, end = match.span()
            text = match.expand(replacement) if isinstance(replacement, str) else \
                replacement(match)
            if "\x01" in text:
                continue  # the changed part contains a string
            yield name, line[:start] + text + line[end:]
    if STATEMENT.match(code) and not DECLARATION.match(code) and is_balanced(code):
        yield "deleted", re.match(r"\t+", line).group(0) + ";"  # type: ignore[union-attr]


def make_file_mutants(file: str, text: str) -> Iterator[Mutant]:
    function, comment = "", False
    for number, line in enumerate(text.split("\n")):
        if line.startswith("#") or line.endswith("\\"):
            continue
        if comment:
            comment = "*/" not in line
            continue
        if line.lstrip().startswith("/*") and "*/" not in line:
            comment = True
            continue
        head = FUNCTION.match(line)
        if head:
            function = head.group(1)
        if not line.startswith("\t") or not function:
            continue
        seen_lines = {line}
        for operator, new in make_line_mutants(line):
            if new not in seen_lines:
                seen_lines.add(new)
                yield Mutant(file, function, number, line, new, operator)
