# SPDX-License-Identifier: GPL-2.0-only
"""Findings about elfutils' libdw and about call frame information of gcc; see __main__.py."""

import ctypes
import json
import os
import re
import sys
from typing import Any, Iterator

from ci.base import files, process
from ci.base.status import Missing
from ci.base.text import find_match
from ci.findings.context import Context, Shown, finding

# Functions of a test library: `quiet` has no rule for any register; the last rows of `restore`
# follow a restored state; `huge` has a rule for register 2^27-2.
ASSEMBLY = """
	.text
quiet:	.cfi_startproc
	nop
	ret
	.cfi_endproc
restore: .cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_remember_state
	nop
	pop %rbp
	.cfi_def_cfa_offset 8
	ret
	.cfi_restore_state
restored: nop
	ret
	.cfi_endproc
huge:	.cfi_startproc
	nop
	.cfi_escape 0x08, 0xfe, 0xff, 0xff, 0x3f
after:	ret
	.cfi_endproc
"""
ROOT = os.path.abspath(__file__ + "/../../..")
REGISTERS = {"rax": 0, "rdx": 1, "rcx": 2, "rbx": 3, "rbp": 6, "r12": 12}
CALLEE_SAVED = {"rbx", "rbp", "r12"}


class Op(ctypes.Structure):
    _fields_ = [("atom", ctypes.c_uint8), ("number", ctypes.c_uint64),
                ("number2", ctypes.c_uint64), ("offset", ctypes.c_uint64)]


def query_libdw(path: str, address: int) -> dict[str, Any]:
    """Returns what libdw finds at an address of a file: the registers that stay unchanged, the
    range of addresses for which that holds, and the peak memory in KiB."""
    elf, dw = ctypes.CDLL("libelf.so.1"), ctypes.CDLL("libdw.so.1")
    elf.elf_begin.restype = dw.dwarf_getcfi_elf.restype = ctypes.c_void_p
    elf.elf_version(1)
    with open(path, "rb") as file:
        image = elf.elf_begin(file.fileno(), 1, None)
        cfi = dw.dwarf_getcfi_elf(ctypes.c_void_p(image))
        frame = ctypes.c_void_p()
        if not cfi or dw.dwarf_cfi_addrframe(ctypes.c_void_p(cfi), ctypes.c_uint64(address),
                                             ctypes.byref(frame)):
            raise RuntimeError("libdw finds no frame at %#x" % address)
        registers = []
        for name, number in REGISTERS.items():
            ops, count = ctypes.c_void_p(), ctypes.c_size_t()
            if dw.dwarf_frame_register(frame, number, (Op * 3)(), ctypes.byref(ops),
                                       ctypes.byref(count)):
                raise RuntimeError("libdw has no answer for " + name)
            if count.value == 0 and not ops.value:
                registers.append(name)
        show_start, end = ctypes.c_uint64(), ctypes.c_uint64()
        dw.dwarf_frame_info(frame, ctypes.byref(show_start), ctypes.byref(end),
                            ctypes.byref(ctypes.c_bool()))
        peak = int(find_match(r"VmHWM:\s+(\d+)", files.read("/proc/self/status")).group(1))
    return {"kept": registers, "start": show_start.value, "end": end.value, "peak_kb": peak}


def build_example(context: Context) -> tuple[str, dict[str, int]]:
    """Returns (path of a file with ASSEMBLY, addresses of its labels)."""
    path = context.path("example.so")
    if os.uname().machine != "x86_64":
        raise Missing("the example is for x86-64")
    process.compile_c(ASSEMBLY, path, "-shared", "-nostdlib", language="assembler")
    return path, process.read_symbols(path)


def ask_libdw(path: str, address: int) -> dict[str, Any]:
    """Runs query_libdw() in a process of its own, because libdw may crash."""
    return json.loads(process.run_or_raise([sys.executable, __file__, path, str(address)],
                                           timeout=60,
                                           env={**os.environ, "PYTHONPATH": ROOT}))


def read_version() -> str:
    try:
        real = os.path.realpath(next(
            line.split()[-1] for line in process.run(["/sbin/ldconfig", "-p"]).stdout
            .splitlines() if "libdw.so.1 " in line))
    except StopIteration:
        raise Missing("libdw is not installed") from None
    return os.path.basename(real).removeprefix("libdw-").removesuffix(".so")


@finding("elfutils.rbx")
def show_rbx(context: Context) -> Iterator[Shown]:
    path, addresses = build_example(context)
    registers = ask_libdw(path, addresses["quiet"])["kept"]
    yield read_version(), "rbx" not in registers or "rax" in registers, \
        "without a rule libdw keeps %s; the calling convention keeps %s" % (
            ", ".join(registers), ", ".join(sorted(CALLEE_SAVED)))


@finding("elfutils.start")
def show_start(context: Context) -> Iterator[Shown]:
    path, addresses = build_example(context)
    row = ask_libdw(path, addresses["restored"])
    yield read_version(), row["start"] < addresses["restored"], \
        "the row at %#x after a restored state: libdw lets it begin at %#x, in a row with " \
        "another CFA" % (addresses["restored"], row["start"])


@finding("elfutils.memory")
def show_memory(context: Context) -> Iterator[Shown]:
    path, addresses = build_example(context)
    before, after = (ask_libdw(path, addresses[name])["peak_kb"] for name in ("quiet", "after"))
    yield read_version(), after > before + 1000000, \
        "a rule for register 2^27-2 of 5 bytes: %d MB of memory instead of %d" % (
            after // 1000, before // 1000)


@finding("gcc.epilogue")
def show_epilogue(context: Context) -> Iterator[Shown]:
    process.find_program("readelf")
    rows = [line for line in process.run(["readelf", "-wF", context.jitproof], timeout=60)
            .stdout.splitlines() if re.match(r"[0-9a-f]+ rsp\+8 ", line)]
    popped = [line for line in rows if re.search(r" c-(16|24|32|40|48|56)\b", line)]
    compiler = process.run(["gcc", "--version"]).stdout.splitlines()[0].split()[-1]
    yield "gcc " + compiler, len(popped) > 0, \
        "%d of %d rows of jitproof with only the return address left on the stack name slots " \
        "below it" % (len(popped), len(rows))

if __name__ == "__main__":
    print(json.dumps(query_libdw(sys.argv[1], int(sys.argv[2]))))
