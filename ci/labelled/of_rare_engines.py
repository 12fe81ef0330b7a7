# SPDX-License-Identifier: GPL-2.0-only
"""Captures of engines that people seldom profile: libraries that emit kernels, machines that TCG
emulates, compilers with a stack of their own; and of a recording too short for anything else than a
program's start."""

from typing import Sequence

from ci.base import process
from ci.labelled import rare_scripts as sources
from ci.labelled import scripts
from ci.labelled.bench import Bench, find_program
from ci.labelled.of_engines import EMITTED, EMITTED_DUMPS, LIB, NO_FP, add_go, add_node, add_python
from ci.labelled.of_runtimes import CHAINS, DUMPS, NATIVE
from ci.labelled.recipe import register

HIDDEN = "stacks:%s names:no-name-source" % NO_FP


def add_onednn(name: str, label: str, version: str, profile: int, record: Sequence[str] = CHAINS,
               inject: str = "") -> None:
    """Adds a recipe for oneDNN (package libdnnl-dev). @profile: 0 nothing, 2 a map, 4 a jitdump."""
    @register("onednn-" + name, label)
    def make(bench: Bench) -> None:
        bench.set_variable("DNNL_JIT_PROFILE", str(profile))
        bench.set_variable("OMP_NUM_THREADS", "1")
        bench.launch(version, record, [bench.build(
            "multiply", sources.ONEDNN, "-O1", "-fno-omit-frame-pointer", "-l:libdnnl.so",
            language="c++")], inject=inject)


add_onednn("plain-6.1", HIDDEN, "6.1", 0)
add_onednn("map-7.2", "stacks:%s names:-" % NO_FP, "7.2", 2)
add_onednn("injected-7.3", "stacks:%s names:-" % NO_FP, "7.3", 4, inject="7.3")
add_onednn("not-injected-dwarf-6.12", "stacks:no-cfi-for-jit names:jitdump-not-injected", "6.12",
           4, record=DUMPS)

# Its code keeps frame pointers, as Go's does.
add_go("sonic-6.1", "stacks:- names:no-name-source", "6.1", CHAINS, source=sources.SONIC,
       module="github.com/bytedance/sonic@v1.15.5")
add_go("sonic-dwarf-7.3", EMITTED_DUMPS, "7.3", DUMPS, source=sources.SONIC,
       module="github.com/bytedance/sonic@v1.15.5")
add_python("pyston-6.1", HIDDEN, "3.10.13", "6.1", sources.PYSTON + scripts.PYTHON,
           package="pyston_lite")
add_python("pyston-dwarf-7.3", EMITTED_DUMPS, "3.10.13", "7.3", sources.PYSTON + scripts.PYTHON,
           package="pyston_lite", record=DUMPS)
add_node("24-short-map-6.1", "healthy", "6.1", *NATIVE, source=sources.SHORT_JAVASCRIPT)


@register("mit-scheme-6.12", EMITTED)
def make_scheme(bench: Bench) -> None:
    bench.launch("6.12", CHAINS, ["sh", "-c", "%s --quiet < %s; true" % (
        find_program("mit-scheme", "apt-get install mit-scheme"),
        bench.write("hot.scm", sources.MIT_SCHEME))])


@register("ghc-6.1", "stacks:%s names:-" % LIB)
def make_haskell(bench: Bench) -> None:
    """Haskell's stack is not the thread's: the frame pointer points into it."""
    process.run_or_raise([find_program("ghc", "apt-get install ghc"), "-O1", "-outputdir",
                          bench.folder, "-o", bench.place("sum"),
                          bench.write("Sum.hs", sources.HASKELL)], timeout=300)
    bench.launch("6.1", CHAINS, [bench.place("sum")])


@register("qemu-system-6.1", EMITTED)
def make_machine(bench: Bench) -> None:
    """A RISC-V machine whose firmware is a loop of two instructions: addi t0, t0, 1; j -4."""
    with open(bench.place("loop"), "wb") as file:
        file.write(bytes.fromhex("938212006ff0dfff"))
    bench.launch("6.1", CHAINS, ["sh", "-c", "echo ready; timeout 2 %s -M virt -nographic "
                                 "-monitor none -serial none -bios loop; true" % find_program(
                                     "qemu-system-riscv64", "apt-get install qemu-system-misc")])
