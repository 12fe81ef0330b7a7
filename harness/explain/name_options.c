// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "harness/explain/name_causes.h"

static const struct {
	const char *comm, *option;
} options[] = {
	{"node",
	 "node --perf-basic-prof --interpreted-frames-native-stack (a map), or --perf-prof (a "
	 "jitdump, with perf record -k mono)"},
	{"java", "jcmd PID Compiler.perfmap before it ends (JDK 17), or java "
		 "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit"},
	{"python", "python3 -X perf (3.12)"},
	{"dotnet", "DOTNET_PerfMapEnabled=1 DOTNET_EnableWriteXorExecute=0"},
	{"php", "php -d opcache.jit_debug=0x10 (a map), or 0x20 (a jitdump)"},
	{"beam", "erl +JPperf true"},
	{"erl", "erl +JPperf true"},
	{"mono", "mono --jitmap"},
	{"qemu", "qemu -perfmap (8.0)"},
	{"postgres", "jit_profiling_support=on (a jitdump, with perf record -k mono)"},
	{"deno", "deno run --v8-flags=--perf-basic-prof"},
	{"ruby", "ruby --yjit --yjit-perf"},
	{"wasmtime", "wasmtime --profile=perfmap"},
	{"bun", "BUN_JSC_useJITDump=1, and rename its /tmp/jit-* to jit-PID.dump"},
	{"luajit", "none: LuaJIT writes neither; -joff shows what the interpreter does"},
	{"pypy", "none: PyPy writes neither; --jit off shows what the interpreter does"},
};

/* Names of memory that only one runtime uses, whatever its programs are called. */
static const struct {
	const char *memory, *comm;
} owners[] = {
	{"/memfd:doublemapper", "dotnet"},
};

const char *jp_name_option(const struct jp_name_case *name_case)
{
	const char *comm = jp_name_case_comm(name_case);

	for (size_t i = 0; i < sizeof(owners) / sizeof(*owners); i++)
		if (strncmp(name_case->loss->name, owners[i].memory, strlen(owners[i].memory)) == 0)
			comm = owners[i].comm;
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (strncmp(comm, options[i].comm, strlen(options[i].comm)) == 0)
			return options[i].option;
	return "switch on the runtime's perf map (/tmp/perf-PID.map) or jitdump";
}
