// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares the unwinder with libgcc's in this process. A timer interrupts qsort, printf and
 * recursion; the handler stores the frames of _Unwind_Backtrace(), and registers and stack like a
 * capture.
 */
#include <elf.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/time.h>
#include <unwind.h>

#include "harness/base/sort.h"
#include "harness/format/elf/elf_file.h"
#include "harness/model/files/file_finder.h"
#include "harness/model/machine/machine.h"
#include "harness/model/unwind/unwind.h"
#include "harness/selftest/support/made_events.h"
#include "harness/selftest/support/own_registers.h"
#include "harness/selftest/support/scratch.h"

enum { SAMPLES = 300, FRAMES = 160, DUMP = 65528, PID = 42 };

struct sample {
	struct jp_regs regs;
	size_t size;
	bool in_handler; /* taken in the handler: the walk crosses the signal frame */
	uint64_t truth[FRAMES];
	int nr_truth;
	unsigned char stack[DUMP];
};
static struct sample *samples;
static volatile sig_atomic_t nr_samples;
static uintptr_t stack_end;
static volatile unsigned sink;

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *argument)
{
	struct sample *sample = argument;

	/* libgcc ends with address 0, the caller of _start. */
	if (sample->nr_truth < FRAMES && _Unwind_GetIP(context))
		sample->truth[sample->nr_truth++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

/* Not memcpy(): ASan would report reading across other frames. */
static __attribute__((no_sanitize("address"), noinline)) void
store_sample(struct sample *sample, const ucontext_t *context)
{
	const volatile unsigned char *stack;

	own_registers(&sample->regs, context);
	stack = (const unsigned char *)(uintptr_t)sample->regs.r[sample->regs.machine->sp];
	sample->size = stack_end - (uintptr_t)stack;
	if (sample->size > DUMP)
		sample->size = DUMP;
	for (size_t i = 0; i < sample->size; i++)
		sample->stack[i] = stack[i];
}

static void handle_signal(int signal, siginfo_t *info, void *context)
{
	struct sample *sample = &samples[nr_samples];
	ucontext_t current;

	if (nr_samples == SAMPLES)
		return;
	_Unwind_Backtrace(add_frame, sample);
	sample->in_handler = nr_samples % 2;
	if (sample->in_handler)
		getcontext(&current);
	store_sample(sample, sample->in_handler ? &current : (ucontext_t *)context);
	nr_samples++;
}

static int compare(const void *a, const void *b)
{
	for (int i = 0; i < 20; i++)
		sink += i;
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) int walk_recursively(int depth)
{
	char text[200];
	int numbers[50];

	for (int i = 0; i < 50; i++)
		numbers[i] = rand();
	jp_sort(numbers, 50, compare);
	if (depth)
		sink += walk_recursively(depth - 1);
	return snprintf(text, sizeof(text), "%f %u", numbers[3] / 3.0, sink);
}

static void add_map(struct jp_replay *replay, uint64_t start, uint64_t end, uint64_t offset,
		    uint64_t ino, const char *name)
{
	const struct jp_event event = MADE_EVENT(
		MAP, PID, 0, .map.addr = start, .map.len = end - start, .map.pgoff = offset,
		.map.ino = ino, .map.has_identity = ino != 0, .map.prot = 5, .map.name = name);

	if (jp_replay_apply(replay, &event))
		abort();
}

static bool in_memfds; /* make_own_mappings() takes each file for one in a memfd */

/* Replays our own mappings; saves their ELF files in @dir, unless it is NULL. */
static struct jp_replay *make_own_mappings(const char *dir)
{
	struct jp_replay *replay = jp_replay_new();
	jp_cleanup_fclose FILE *maps = fopen("/proc/self/maps", "re"), *list = NULL;
	char line[4200], name[4096], text[4200];
	struct jp_build_id id;

	if (!replay || !maps)
		abort();
	if (dir)
		list = fopen(scratch_path("index"), "we");
	while (fgets(line, sizeof(line), maps)) {
		uint64_t start, end, offset, ino;
		char prot[8];
		jp_cleanup_close int fd = -1;

		*name = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %" SCNu64 " %[^\n]",
			   &start, &end, prot, &offset, &ino, name) < 5)
			abort();
		if (strcmp(name, "[stack]") == 0)
			stack_end = end;
		if (prot[2] != 'x' || strcmp(name, "[vsyscall]") == 0)
			continue;
		if (name[0] == '/')
			fd = open(name, O_RDONLY | O_CLOEXEC);
		if (in_memfds && fd >= 0)
			snprintf(name, sizeof(name), "/memfd:%" PRIu64 " (deleted)", ino);
		add_map(replay, start, end, offset, ino, name);
		if (!dir)
			continue;
		if (jp_elf_save(fd, fd < 0 ? (void *)(uintptr_t)start : NULL, end - start, dir, &id,
				NULL) == 0)
			fprintf(list, "%s 0:0 %" PRIu64 " %s\n", jp_build_id_text(&id, text), ino,
				name);
	}
	return replay;
}

static void take_samples(void)
{
	struct itimerval interval = {{0, 1000}, {0, 1000}}, no_timer = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_sigaction = handle_signal,
				   .sa_flags = SA_SIGINFO | SA_RESTART};
	static struct sample warm;

	jp_replay_free(make_own_mappings(NULL)); /* finds the stack's end */
	samples = calloc(SAMPLES, sizeof(*samples));
	if (!samples)
		abort();
	_Unwind_Backtrace(add_frame, &warm); /* loads libgcc_s outside the handler */
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &interval, NULL);
	for (int i = 0; nr_samples < SAMPLES; i++)
		walk_recursively(i % 25);
	setitimer(ITIMER_PROF, &no_timer, NULL);
}

static struct jp_event sample_event(const struct jp_regs *regs, const void *stack, size_t size,
				    size_t dump_size)
{
	return (struct jp_event)MADE_EVENT(SAMPLE, PID, 0,
					   .sample = {.regs = regs,
						      .stack = stack,
						      .stack_size = size,
						      .stack_asked = dump_size});
}

/* Returns whether both walks agree to the end. libgcc's walk starts in the handler; ours may start
 * in getcontext(), a frame that libgcc does not have. */
static bool walks_agree(const struct sample *sample, const uint64_t *frames, uint32_t count)
{
	uint32_t first = sample->in_handler ? 1 : 0;
	int first_truth;

	for (first_truth = 0;
	     first_truth < sample->nr_truth && sample->truth[first_truth] != frames[first];
	     first_truth++)
		;
	return count > first && first_truth + (int)(count - first) == sample->nr_truth &&
	       memcmp(&sample->truth[first_truth], &frames[first],
		      (count - first) * sizeof(*frames)) == 0;
}

static void compare_walks(const char *dir, bool system, const char *label)
{
	struct jp_replay *replay = make_own_mappings(NULL);
	struct jp_file_finder *finder = system ? jp_file_finder_new() : NULL;
	struct jp_unwinder *unwinder = jp_unwinder_new(dir, finder);
	struct jp_unwound unwound;
	uint64_t frames[FRAMES];
	int nr_same = 0;

	for (int i = 0; i < SAMPLES; i++) {
		const struct sample *sample = &samples[i];
		struct jp_event event =
			sample_event(&sample->regs, sample->stack, sample->size, DUMP);
		bool passed;

		jp_unwind(unwinder, replay, &event, JP_DUMP, frames, FRAMES, &unwound);
		passed = walks_agree(sample, frames, unwound.count) &&
			 unwound.stop == JP_UNWIND_ROOT;
		if (!passed && i - nr_same < 3)
			printf("# sample %d: stop %s at %#" PRIx64 ", %u frames, libgcc %d\n", i,
			       jp_unwind_stop_text(unwound.stop), unwound.stop_addr, unwound.count,
			       sample->nr_truth);
		nr_same += passed;
	}
	printf("# %d of %d walks are libgcc's\n", nr_same, SAMPLES);
	check(nr_same == SAMPLES, "%s", label);
	jp_unwinder_free(unwinder);
	jp_file_finder_free(finder);
	jp_replay_free(replay);
}

/* Tests that cached steps are valid for one address space, until it changes. */
static void test_another_file(void)
{
	const struct sample *sample = &samples[0];
	struct jp_replay *replay = make_own_mappings(NULL), *other_replay = make_own_mappings(NULL);
	struct jp_file_finder *finder = jp_file_finder_new();
	struct jp_unwinder *unwinder = jp_unwinder_new(NULL, finder);
	struct jp_event event = sample_event(&sample->regs, sample->stack, sample->size, DUMP);
	const uint64_t page = sample->regs.r[sample->regs.machine->ip] & ~UINT64_C(0xfff);
	struct jp_unwound unwound;
	uint64_t frames[FRAMES];

	/* Both spaces have had the same number of changes. */
	add_map(replay, 0x10000, 0x11000, 0, 0, "//anon");
	jp_unwind(unwinder, replay, &event, JP_DUMP, frames, FRAMES, &unwound);
	check(unwound.stop == JP_UNWIND_ROOT, "a walk succeeds and its steps are cached");
	add_map(other_replay, page, page + 0x1000, 0, 99, "/no/such/file");
	jp_unwind(unwinder, other_replay, &event, JP_DUMP, frames, FRAMES, &unwound);
	check(unwound.stop == JP_UNWIND_NO_ELF && unwound.count == 1,
	      "cached steps are not used in another space");
	jp_unwind(unwinder, replay, &event, JP_DUMP, frames, FRAMES, &unwound);
	check(unwound.stop == JP_UNWIND_ROOT, "cached steps are used in the same space");
	add_map(replay, page, page + 0x1000, 0, 0, "//anon");
	jp_unwind(unwinder, replay, &event, JP_DUMP_CFI, frames, FRAMES, &unwound);
	check(unwound.stop == JP_UNWIND_NO_CFI && unwound.count == 1,
	      "cached steps are not used after the mapping changed");
	jp_unwinder_free(unwinder);
	jp_file_finder_free(finder);
	jp_replay_free(replay);
	jp_replay_free(other_replay);
}

static void test_unwind_with_saved_files(bool memfds)
{
	in_memfds = memfds;
	jp_replay_free(make_own_mappings(scratch_folder()));
	compare_walks(scratch_folder(), false, "saved copies alone give libgcc's walks");
	check(!jp_run_dir_remove(scratch_folder()) && !mkdir(scratch_folder(), 0700),
	      "the copies are removed");
}

TEST(unwind)
{
	take_samples();
	compare_walks(NULL, true, "files at their paths give libgcc's walks");
	test_another_file();
	test_unwind_with_saved_files(false);
	test_unwind_with_saved_files(true);
	free(samples);
}
