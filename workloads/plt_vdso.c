// SPDX-License-Identifier: GPL-2.0-only
/* Emitted code makes calls through stubs, like those of a procedure linkage table, and calls the
 * vDSO, whose code is not mapped from a file. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/format/truth/write.h"
#include "harness/base/excuse.h"
#include "workloads/emit/measure.h"
#include "workloads/emit/mix.h"
#include "workloads/emit/workload.h"

static int (*own_clock)(clockid_t id, struct timespec *time);

static void call_clock(void)
{
	struct timespec time;

	own_clock(CLOCK_MONOTONIC, &time);
}

/* Records the mapping of the vDSO, which the kernel created. */
static void record_mapping(void)
{
	const uint64_t page = sysconf(_SC_PAGESIZE);
	uint64_t base = getauxval(AT_SYSINFO_EHDR), end = 0, now = jp_clock_now();
	const ElfW(Ehdr) *image = (const void *)(uintptr_t)base;
	const ElfW(Phdr) *segment = (const void *)(uintptr_t)(base + image->e_phoff);

	for (unsigned i = 0; i < image->e_phnum; i++)
		if (segment[i].p_type == PT_LOAD && segment[i].p_vaddr + segment[i].p_memsz > end)
			end = segment[i].p_vaddr + segment[i].p_memsz;
	jp_truth_map(now, now,
		     &(struct jp_truth_mapping){.addr = base,
						.len = (end + page - 1) & -page,
						.prot = JP_PROT_READ | JP_PROT_EXEC,
						.backing = JP_BACKING_FILE,
						.name = jp_truth_text("[vdso]")});
}

/* Finds the vDSO's clock_gettime(), measures and records it. Returns 0, -errno, or -ENOTSUP if the
 * vDSO has none or it cannot be measured. */
static int find_clock(struct jp_function *function)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	struct jp_emitted emitted;
	const ElfW(Sym) *symbol = NULL;
	void *clock_function = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;
	int ret;

#ifdef __GLIBC__ /* musl finds no function of the vDSO */
	Dl_info info;

	if (clock_function && !dladdr1(clock_function, &info, (void **)&symbol, RTLD_DL_SYMENT))
		symbol = NULL;
#endif
	if (!symbol)
		return -ENOTSUP;
	memcpy(&own_clock, &clock_function, sizeof(clock_function));
	*function = (struct jp_function){.shape = JP_SHAPE_LEAF,
					 .cfi_status = JP_CFI_RIGHT,
					 .code = (uintptr_t)clock_function,
					 .size = symbol->st_size};
	ret = jp_measure_function(function->code, function->size, call_clock, &emitted);
	if (ret)
		return ret;
	jp_clock_avoid_vdso();
	record_mapping();
	jp_emit_record_measured(function, &emitted, "__vdso_clock_gettime");
	return 0;
}

static int make_vdso_paths(struct jp_mix *mix)
{
	static const char *const paths[] = {"fc", "lnfc", "fNfc", NULL};
	static struct jp_function clock;
	int ret = find_clock(&clock);

	/* A call of clock_gettime() takes as long as several iterations, so make fewer calls. */
	for (int i = 0; paths[i] && !ret; i++)
		ret = jp_mix_path(mix, paths[i], clock.code, 100000, &clock);
	return ret;
}

static bool partly, vdso;

static int run(int argc, char **argv)
{
	static const char *const paths[] = {"fPNfe", "lPfe", "fplPe", "fPPNN", "npPLf", NULL};
	struct jp_object_kind kind = {.shapes = {JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_STUB,
						 JP_SHAPE_LONG, JP_SHAPE_FP, JP_SHAPE_LONG,
						 JP_SHAPE_STUB, JP_SHAPE_LEAF}};
	static struct jp_mix mix;
	int ret;

	if (partly)
		kind.frames = JP_FRAMES_LAST;
	ret = jp_mix_open_with_library(&mix, &kind);
	if (!ret)
		ret = vdso ? make_vdso_paths(&mix) : jp_mix_paths(&mix, paths, 0);
	/* clock_gettime() starts again whenever the kernel updates the clock, so it may never end
	 * in single steps. */
	if (ret == -ETIME)
		return jp_handshake_skip(
			"single steps that are fast enough for the vDSO's clock_gettime() to end");
	if (ret == -ENOTSUP || ret == -EPERM)
		return jp_handshake_skip(ret == -EPERM
						 ? "ptrace of an own child"
						 : "a clock_gettime() in the vDSO that makes no "
						   "calls of its own");
	return jp_mix_run(argv[0], &mix, NULL, ret);
}

static const struct jp_option options[] = {
	{"--vdso", .set = &vdso, .help = "into the vDSO's clock_gettime()"},
	{"--cfi", .set = &partly, .words = (const char *const[]){"partly", NULL},
	 .help = "the stubs have no call frame information"},
	{0}};

JP_DEFINE(workload, plt_vdso) = {
	.name = "plt_vdso",
	.help = "emitted code calls through stubs, and into the vDSO",
	.options = options,
	.run = run,
};

static const struct jp_excuse excuses[] = {
	{"plt_vdso.names", "plt_vdso --vdso publish=*",
	 "published.absent jitdump.absent load.unnamed names.unnamed",
	 "no-line no-record not-published", NULL, "nobody publishes the functions of the vDSO"},
};
JP_REGISTER_ROWS(excuse, excuses);
