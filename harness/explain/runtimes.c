// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/runtimes.h"

#include <stdbool.h>
#include <string.h>

#include "harness/base/path.h"

static const struct jp_runtime runtimes[] = {
	{"node",
	 "node --perf-basic-prof --interpreted-frames-native-stack (a map), or --perf-prof (a "
	 "jitdump, with perf record -k mono)",
	 "node --perf-prof --interpreted-frames-native-stack",
	 "node --perf-prof --perf-prof-unwinding-info"},
	{"java",
	 "jcmd PID Compiler.perfmap before it ends (JDK 17), or java "
	 "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit",
	 "java -XX:+PreserveFramePointer", NULL},
	{"python", "python3 -X perf (3.12)", NULL, "python3 -X perf_jit (3.13)"},
	{"dotnet",
	 "DOTNET_PerfMapEnabled=3 DOTNET_EnableWriteXorExecute=0 TMPDIR=/tmp (before .NET 6, "
	 "COMPlus_ for DOTNET_)",
	 NULL, NULL},
	{"php",
	 "php -d opcache.jit_debug=0x10 (a map), or 0x20 (a jitdump); none for compiled regular "
	 "expressions: -d pcre.jit=0 interprets them",
	 NULL, NULL},
	{"beam", "erl +JPperf true", "erl +JPperf true", NULL},
	{"erl", "erl +JPperf true", "erl +JPperf true", NULL},
	{"mono", "mono --jitmap", "MONO_DEBUG=disable_omit_fp mono", NULL},
	{"qemu", "qemu -perfmap (8.0)", NULL, NULL},
	{"postgres", "jit_profiling_support=on (a jitdump, with perf record -k mono)", NULL, NULL},
	{"deno", "deno run --v8-flags=--perf-basic-prof", NULL, NULL},
	{"ruby", "ruby --yjit --yjit-perf", "ruby --yjit --yjit-perf", NULL},
	{"wasmtime",
	 "wasmtime --profile=perfmap; an embedder sets its Config's profiler to perfmap", NULL,
	 NULL},
	{"bun",
	 "BUN_JSC_useJITDump=1 (a jitdump, with perf record -k mono; perf does not know its name, "
	 "jitproof inject does)",
	 NULL, NULL},
	{"jsc", "JSC_useJITDump=1 (a jitdump, with perf record -k mono)", NULL, NULL},
	{"julia",
	 "ENABLE_JITPROFILING=1, if Julia was built with USE_PERF_JITEVENTS=1 (a jitdump, with "
	 "perf "
	 "record -k mono)",
	 NULL, NULL},
	{"luajit", "none: LuaJIT writes neither; -joff shows what the interpreter does", NULL,
	 NULL},
	{"guile",
	 "none: Guile writes neither; GUILE_JIT_THRESHOLD=-1 shows what the interpreter does", NULL,
	 NULL},
	{"numba",
	 "none: Numba and llvmlite write neither; NUMBA_DISABLE_JIT=1 shows what the interpreter "
	 "does",
	 NULL, NULL},
	{"onednn", "DNNL_JIT_PROFILE=2 (a map), or 4 (a jitdump, with perf record -k mono)", NULL,
	 NULL},
	{"workerd", "v8Flags = [\"--perf-basic-prof\"] in its configuration (a map)", NULL, NULL},
	{"v8", "V8's --perf-basic-prof (a map), which the embedder passes to the engine", NULL,
	 NULL},
	{"rakudo", "MVM_JIT_PERF_MAP=1 rakudo (a map)", NULL, NULL},
	{"lli", "lli -jit-kind=mcjit (a jitdump below ~/.debug/jit, with perf record -k mono)",
	 NULL, NULL},
	{"pypy", "none: PyPy writes neither; --jit off shows what the interpreter does", NULL,
	 NULL},
};

/* Files whose names do not begin with the name of their runtime. */
static const struct {
	const char *file, *runtime;
} files[] = {
	{"MainThread", "node"},
	{"libnode.so", "node"},
	{"libjvm.so", "java"},
	{"libpython", "python"},
	{"libcoreclr.so", "dotnet"},
	{"libclrjit.so", "dotnet"},
	{"libphp", "php"},
	{"opcache.so", "php"},
	{"libmono", "mono"},
	{"llvmjit.so", "postgres"},
	{"libruby", "ruby"},
	{"libwasmtime", "wasmtime"},
	{"_libwasmtime", "wasmtime"},
	{"libluajit", "luajit"},
	{"libpypy", "pypy"},
	{"libguile", "guile"},
	{"libllvmlite", "numba"},
	{"libdnnl", "onednn"},
	{"libmini_racer", "v8"},
	{"libmoar", "rakudo"},
	{"libjavascriptcoregtk", "jsc"},
	{"libjulia", "julia"},
};

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

const struct jp_runtime *jp_runtime_find(const char *file)
{
	const char *name = jp_path_base(file);

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (has_prefix(name, files[i].file))
			name = files[i].runtime;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++)
		if (has_prefix(name, runtimes[i].name))
			return &runtimes[i];
	return NULL;
}
