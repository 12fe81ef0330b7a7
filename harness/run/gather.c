// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/order.h"
#include "harness/base/path.h"
#include "harness/base/untrusted_file.h"
#include "harness/capture/clock_slack.h"
#include "harness/capture/elf_copies.h"
#include "harness/format/perfdata/read.h"
#include "harness/format/procmaps/procmaps.h"
#include "harness/format/rundir/capture_info.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/format/rundir/watched.h"
#include "harness/format/truth/format.h"
#include "harness/model/oracle/truth.h"

/* MOST_SLACK_NS: with a larger error of event times no sample could be judged
 * (docs/results-format.md). */
enum { MOST_SLACK_NS = 100000 };

struct gathered {
	struct jp_gathering *ask;
	const char *dir;
	struct jp_truth *truth;
	struct jp_elf_copies *copies;
	struct jp_capture_info info;
	struct jp_watched_info watched;
	uint64_t first, last; /* times of the first and last record of any kind */
	bool registers_lack, injected;
	struct jp_error *err;
};

static void add_note(struct jp_gathering *ask, const char *text)
{
	size_t length = strlen(ask->notes);

	snprintf(ask->notes + length, sizeof(ask->notes) - length, "%s\n", text);
}

/* Copies all data between the holes of the file @input. Returns 0 or -errno. */
static int copy_data(int input, int out, uint64_t size)
{
	off_t end = 0;

	for (;;) {
		off_t start = lseek(input, end, SEEK_DATA);
		int ret;

		if (start < 0 && errno == ENXIO)
			break;
		end = start < 0 ? -1 : lseek(input, start, SEEK_HOLE);
		if (end < 0 || lseek(input, start, SEEK_SET) < 0 || lseek(out, start, SEEK_SET) < 0)
			return -errno;
		ret = jp_file_copy(input, out, (uint64_t)(end - start));
		if (ret)
			return ret;
	}
	return ftruncate(out, (off_t)size) ? -errno : 0;
}

/* Copies the untrusted regular file @from to the new file @target, without following links. Holes
 * remain holes. Returns 0, or -errno and a message. */
static int copy_to(const char *from, const char *target, struct jp_error *err)
{
	uint64_t size;
	jp_cleanup_close int input = jp_untrusted_open(from, -1, &size, err);
	jp_cleanup_close int out = -1;
	int ret;

	if (input < 0)
		return input;
	out = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return jp_fail(err, errno, "%s: %s", target, strerror(errno));
	ret = copy_data(input, out, size);
	return ret ? jp_fail(err, -ret, "%s: cannot be copied: %s", from, strerror(-ret)) : 0;
}

/* Copies the file @path into @folder of the case folder, under the same name. Returns 1, or 0 if
 * that fails, which is no error: the profiler could not read such a file either. */
static unsigned int copy_file(const struct gathered *job, const char *path, const char *folder)
{
	const char *slash = strrchr(path, '/');
	char target[4096];

	return slash &&
	       !jp_path_build(target, sizeof(target), NULL, "%s/%s%s", job->dir, folder, slash) &&
	       !copy_to(path, target, NULL);
}

static bool is_jitdump(const char *base)
{
	const char *end = strrchr(base, '.');

	return strncmp(base, "jit-", 4) == 0 && end && strcmp(end, ".dump") == 0;
}

/* Returns whether @base is a name that `jitproof inject` or `perf inject` gives to ELF files. */
static bool is_injected(const char *base)
{
	return strncmp(base, "jit-", 4) == 0 || strncmp(base, "jitted-", 7) == 0;
}

/* Copies the file to which the mapping record @event refers. */
static void copy_mapped_file(struct gathered *job, const struct jp_event *event)
{
	const char *name = event->map.name, *slash = strrchr(name, '/');
	const struct jp_procmap map = {.start = event->map.addr,
				       .end = event->map.addr + event->map.len,
				       .offset = event->map.pgoff,
				       .prot = event->map.prot,
				       .maj = event->map.maj,
				       .min = event->map.min,
				       .ino = event->map.ino,
				       .name = name};

	if (!(event->map.prot & JP_PROT_EXEC) || *name != '/' || name[1] == '/' || !slash)
		return;
	if (is_jitdump(slash + 1)) {
		job->ask->markers++;
		job->ask->jitdumps += copy_file(job, name, ".");
		return;
	}
	if (job->injected && is_injected(slash + 1))
		copy_file(job, name, "jit");
	else
		jp_elf_copies_request(job->copies, (pid_t)event->pid, &map, event->map.gen);
}

/* Copies the perf maps of the truth's processes. Skips perf maps older than their process, which
 * belong to an earlier process with the same pid. */
static void copy_perf_maps(struct gathered *job)
{
	const uint64_t now = jp_clock_now(), realtime = jp_clock_ns(CLOCK_REALTIME);

	for (size_t i = 0; i < job->truth->nr_incarnations; i++) {
		const struct jp_truth_incarnation *process = &job->truth->incarnations[i];
		struct stat status;
		uint64_t changed;
		char path[64];

		if (i && process[-1].pid == process->pid)
			continue;
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", process->pid);
		if (lstat(path, &status))
			continue;
		changed = (uint64_t)status.st_mtim.tv_sec * JP_NS_PER_S +
			  (uint64_t)status.st_mtim.tv_nsec;
		if (now - process->before + changed >= realtime)
			job->ask->perf_maps += copy_file(job, path, ".");
	}
}

static int handle_event(void *context, const struct jp_event *event)
{
	struct gathered *job = context;

	if (event->type == JP_EVENT_MAP && !event->kernel_map)
		copy_mapped_file(job, event);
	if (job->injected)
		return 0;
	if (event->type == JP_EVENT_SAMPLE && event->asked && !event->asked->timed)
		return jp_fail(
			job->err, EINVAL,
			"%s: its times are not those of CLOCK_MONOTONIC, as the truth's are: "
			"record with perf record -k mono",
			job->ask->capture);
	job->first = job->first ? jp_min(job->first, event->time) : event->time;
	job->last = jp_max(job->last, event->time);
	if (event->type != JP_EVENT_SAMPLE)
		return 0;
	job->info.samples++;
	job->info.sampling =
		job->info.sampling ? jp_min(job->info.sampling, event->time) : event->time;
	job->info.stopped = jp_max(job->info.stopped, event->time);
	if (!event->asked)
		return 0;
	job->registers_lack |= !event->asked->regs;
	job->watched.chain |= event->asked->user_chain;
	job->watched.user_only |= !event->asked->kernel;
	job->info.stack_dump = jp_max(job->info.stack_dump, event->asked->stack);
	return 0;
}

static int read_capture(struct gathered *job, const char *path)
{
	struct jp_perfdata_summary summary;
	int ret;

	*job->err = (struct jp_error){""};
	ret = jp_perfdata_read(path, handle_event, job, &summary, job->err);
	if (ret && !*job->err->text)
		jp_fail(job->err, -ret, "%s: %s", path, strerror(-ret));
	return ret;
}

/* Returns an error if the times of truth and capture show that they are of different runs. */
static int check_times(const struct gathered *job)
{
	const struct jp_truth *truth = job->truth;
	uint64_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < truth->nr_incarnations; i++) {
		from = jp_min(from, truth->incarnations[i].after);
		to = jp_max(to, truth->incarnations[i].until);
	}
	if (!job->info.samples)
		return jp_fail(job->err, ENODATA, "%s: contains no sample", job->ask->capture);
	if (job->last < from || job->first > to)
		return jp_fail(job->err, EINVAL,
			       "%s: records from %" PRIu64 " to %" PRIu64
			       " ns, and %s has a run from %" PRIu64
			       " ns on: not of the same run, or boot",
			       job->ask->capture, job->first, job->last, job->ask->truth, from);
	return 0;
}

static void measure_clock_slack(struct gathered *job)
{
	jp_cleanup_free int *cpus = NULL;
	int count;

	job->info.slack = job->ask->slack;
	if (job->info.slack != UINT64_MAX)
		return;
	count = jp_cpus_online(&cpus, NULL);
	if (count > 0 && !jp_clock_slack(cpus, (unsigned int)count, &job->info.slack, NULL))
		return;
	job->info.slack = MOST_SLACK_NS;
	add_note(job->ask,
		 "the difference of the clocks cannot be measured here: with 100 us instead, "
		 "fewer samples are judged (--slack NS)");
}

static int write_statements(struct gathered *job)
{
	struct jp_capture_info *info = &job->info;
	struct jp_watched_info *watched = &job->watched;

	snprintf(info->policy, sizeof(info->policy), "exec");
	snprintf(info->capture, sizeof(info->capture), "gathered");
	if (job->registers_lack)
		snprintf(info->lacks, sizeof(info->lacks), "no-registers");
	info->enabled = job->first;
	info->max_stack = JP_USUAL_MAX_STACK;
	info->settled = true;
	watched->started = info->enabled;
	watched->sampling_since = info->sampling;
	watched->ending = watched->silent = watched->ended = info->stopped;
	watched->slack = info->slack;
	watched->max_stack = info->max_stack;
	watched->stack_dump = info->stack_dump;
	return jp_capture_info_write(info, job->dir, job->err)
		       ?: (job->truth->version < JP_TRUTH_VERSION_CPU
				   ? 0 /* runs of that version had no file `watched` */
				   : jp_watched_write(watched, job->dir, job->err))
				  ?: jp_run_dir_write(job->dir, "maps", "", job->err)
				  /* The machine of the recording is unknown. */
				  ?: jp_run_dir_write(job->dir, "env.json", "{}\n", job->err);
}

/* Expectations that allow exceptions caused by changes for which the kernel writes no record, so
 * that no profiler can know them. */
static const char kernel_silent[] =
	"	coverage.stale allow munmap <=acts.munmap	# the kernel has no record of "
	"munmap\n"
	"	mappings.extra allow munmap <=acts.munmap	# the same, at marks\n"
	"	coverage.stale allow mprotect <=acts.mprotect	# nor where execution is "
	"forbidden\n"
	"	mappings.extra allow mprotect <=acts.mprotect	# the same, at marks\n"
	"	coverage.stale allow mremap <=acts.mremap	# the kernel writes no record of "
	"mremap\n"
	"	mappings.extra allow mremap <=acts.mremap	# the kernel writes no record of "
	"mremap\n"
	"	coverage.missing allow mremap <=acts.mremap	# the kernel writes no record of "
	"mremap\n"
	"	mappings.missing allow mremap <=acts.mremap	# the kernel writes no record of "
	"mremap\n";

/* Expectations that allow exceptions which only an injector (`perf inject --jit`) can prevent. */
static const char not_injected[] = "	order.hidden allow coalesced <=order.loads	# the "
				   "record of a merged mapping comes "
				   "later\n"
				   "	order.hidden allow reprotected <=order.loads	# "
				   "each mprotect makes a new record\n"
				   "	order.hidden allow snapshot <=order.loads	# an "
				   "attach records existing mappings\n";

static int write_case(struct gathered *job)
{
	char text[2048];
	const bool names = job->ask->perf_maps || job->ask->injected;

	if (!names)
		add_note(job->ask, job->ask->jitdumps
					   ? "names are not judged: inject the jitdump and add the "
					     "result (--injected FILE)"
					   : "names are not judged: there is no perf map and no "
					     "jitdump of the workload");
	if (job->registers_lack)
		add_note(job->ask,
			 "samples hold no user registers: the depth in a recursion is only a "
			 "best fit (on x86-64 add perf record --user-regs=bp,sp,ip)");
	snprintf(
		text, sizeof(text),
		"case truth/gathered full : workload : profiler : samples=1 distinct=1%s%s%s\n%s%s",
		job->ask->injected ? " publish=both inject=profiler"
		: names            ? " publish=map"
				   : "",
		job->ask->methods ? " methods=" : "", job->ask->methods ?: "", kernel_silent,
		job->ask->injected ? "" : not_injected);
	return jp_run_dir_write(job->dir, "case", text, job->err);
}

static int copy_input(const struct gathered *job, const char *from, const char *name)
{
	char target[4096];

	return jp_path_build(target, sizeof(target), job->err, "%s/%s", job->dir, name)
		       ?: copy_to(from, target, job->err);
}

/* Copies the injected capture and the files to which it refers. */
static int gather_injected(struct gathered *job)
{
	char folder[4096];

	if (!job->ask->injected)
		return 0;
	if (jp_path_build(folder, sizeof(folder), job->err, "%s/jit", job->dir))
		return -ENAMETOOLONG;
	if (mkdir(folder, 0775))
		return jp_fail(job->err, errno, "%s: %s", folder, strerror(errno));
	job->injected = true;
	return read_capture(job, job->ask->injected)
		       ?: copy_input(job, job->ask->injected, "injected.data");
}

static int gather(struct gathered *job)
{
	int ret, finish_error;

	job->truth = jp_truth_load(job->ask->truth, job->err);
	if (!job->truth)
		return -EINVAL;
	job->copies = jp_elf_copies_start(job->dir, true, job->err);
	if (!job->copies)
		return -EIO;
	ret = read_capture(job, job->ask->capture) ?: check_times(job) ?: gather_injected(job);
	finish_error = jp_elf_copies_finish(job->copies, ret ? NULL : job->err);
	if (ret || finish_error)
		return ret ?: finish_error;
	copy_perf_maps(job);
	measure_clock_slack(job);
	return copy_input(job, job->ask->truth, "truth")
		       ?: copy_input(job, job->ask->capture, "perf.data")
				  ?: write_statements(job)
					     ?: write_case(job);
}

int jp_gather(struct jp_gathering *gathering, const char *dir, struct jp_error *err)
{
	struct gathered job = {.ask = gathering, .dir = dir, .err = err};
	int ret;

	*gathering->notes = '\0';
	gathering->markers = gathering->jitdumps = gathering->perf_maps = 0;
	ret = gather(&job);
	jp_truth_free(job.truth);
	return ret;
}
