# SPDX-License-Identifier: GPL-2.0-only
"""Captures of engines that people seldom profile: libraries that emit kernels, machines that TCG
emulates, compilers with a stack of their own; and of a recording too short for anything else than a
program's start."""

from ci.base import process
from ci.labelled import rare_scripts as sources
from ci.labelled.bench import Bench, find_program, WITH_FP
from ci.labelled.of_engines import (
    add_node, EMITTED, EMITTED_DUMPS, HIDDEN, LIB_ALONE, NO_FP, run_go)
from ci.labelled.of_runtimes import add, DUMPS, NATIVE
from ci.labelled.recipe import Prepare


def run_onednn(profile: int) -> Prepare:
    """Prepares oneDNN (package libdnnl-dev). @profile: 0 nothing, 2 a map, 4 a jitdump."""
    def prepare(bench: Bench) -> list[str]:
        bench.set_variable("DNNL_JIT_PROFILE", str(profile))
        bench.set_variable("OMP_NUM_THREADS", "1")
        return [bench.build("multiply", sources.ONEDNN, *WITH_FP, "-l:libdnnl.so",
                            language="c++")]
    return prepare


add("onednn-plain-6.1", HIDDEN, run_onednn(0))
add("onednn-map-7.2", "stacks:%s names:-" % NO_FP, run_onednn(2))
add("onednn-injected-7.3", "stacks:%s names:-" % NO_FP, run_onednn(4), inject="7.3")
add("onednn-not-injected-dwarf-6.12", "stacks:no-cfi-for-jit names:jitdump-not-injected",
    run_onednn(4), record=DUMPS)

# Its code keeps frame pointers, as Go's does.
SONIC = run_go("sonic", source=sources.SONIC, module="github.com/bytedance/sonic@v1.15.5")
add("sonic-6.1", "stacks:- names:no-name-source", SONIC)
add("sonic-dwarf-7.3", EMITTED_DUMPS, SONIC, record=DUMPS)
add_node("24-short-map-6.1", "healthy", *NATIVE, source=sources.SHORT_JAVASCRIPT)


def compile_haskell(bench: Bench) -> list[str]:
    """Compiles Haskell, whose stack is not the thread's: the frame pointer points into it."""
    process.run_or_raise([find_program("ghc"), "-O1", "-outputdir", bench.folder, "-o",
                          bench.place("sum"), bench.write("Sum.hs", sources.HASKELL)], timeout=300)
    return [bench.place("sum")]


def run_machine(bench: Bench) -> list[str]:
    """Prepares a RISC-V machine whose firmware is a loop of two instructions: addi t0, t0, 1;
    j -4."""
    with open(bench.place("loop"), "wb") as file:
        file.write(bytes.fromhex("938212006ff0dfff"))
    return ["sh", "-c", "echo ready; timeout 2 %s -M virt -nographic -monitor none -serial none "
            "-bios loop; true" % find_program("qemu-system-riscv64", "qemu-system-misc")]


add("ghc-6.1", LIB_ALONE, compile_haskell)
add("qemu-system-6.1", EMITTED, run_machine)
