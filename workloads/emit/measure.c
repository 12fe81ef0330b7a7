// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/measure.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "workloads/emit/process.h"

enum { CALLS = 200, MOST_STEPS = 200000, MOST_INSIDE = 10000 };

/* State of the measurement and of the current call of the function. */
struct run {
	void (*call)(void);
	struct jp_child child;
	uint64_t code, size;
	uint64_t entry, bp; /* stack pointer and bp at the first instruction; @entry 0: outside of
			       the function */
	unsigned nr_steps;  /* number of steps within the current call */
	struct jp_emitted *emitted;
};

struct position {
	uint64_t ip, sp, bp;
};

static bool read_word(pid_t pid, uint64_t addr, uintptr_t *word)
{
	struct iovec buffer = {word, sizeof(*word)},
		     from = {(void *)(uintptr_t)addr, sizeof(*word)};

	return process_vm_readv(pid, &buffer, 1, &from, 1, 0) == sizeof(*word);
}

/* Inserts @insn into @emitted, in the order of offsets. Returns 0, or -ENOTSUP if @insn contradicts
 * an earlier measurement or there is no room. */
static int add_insn(struct jp_emitted *emitted, const struct jp_truth_insn *insn)
{
	uint32_t index = emitted->nr_insns;

	while (index && emitted->insns[index - 1].offset >= insn->offset)
		index--;
	if (index < emitted->nr_insns && emitted->insns[index].offset == insn->offset)
		return memcmp(&emitted->insns[index], insn, sizeof(*insn)) ? -ENOTSUP : 0;
	if (emitted->nr_insns == sizeof(emitted->insns) / sizeof(*emitted->insns))
		return -ENOTSUP;
	memmove(&emitted->insns[index + 1], &emitted->insns[index],
		(emitted->nr_insns - index) * sizeof(*insn));
	emitted->insns[index] = *insn;
	emitted->nr_insns++;
	return 0;
}

static int record_step(struct run *run, const struct position *place)
{
	struct jp_truth_insn insn = {.offset = place->ip - run->code};
	uint64_t record;
	uintptr_t saved = 0;

	if (place->ip - run->code >= run->size) {
		/* The function must have returned instead of calling another one. */
		if (run->entry && place->sp != run->entry + jp_arch_elf.pushed)
			return -ENOTSUP;
		run->entry = 0;
		return 0;
	}
	if (!insn.offset) {
		run->entry = place->sp;
		run->bp = place->bp;
		run->nr_steps = 0;
	}
	if (++run->nr_steps > MOST_INSIDE)
		return -ETIME;
	if (!run->entry)
		return -ENOTSUP;
	record = run->entry + jp_arch_elf.pushed + JP_FRAME_RECORD;
	insn.pre = run->entry - place->sp;
	if (place->bp == run->bp)
		insn.bp = JP_BP_CALLER;
	else if (!read_word(run->child.pid, record, &saved) || saved != run->bp)
		return -ENOTSUP;
	else
		insn.bp = place->bp == record + jp_arch_elf.fp_above ? JP_BP_OWN : JP_BP_OTHER;
	return add_insn(run->emitted, &insn);
}

/* The traced child: calls the function several times between two stops. */
static int make_calls(void *context)
{
	const struct run *run = context;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		return EPERM;
	raise(SIGSTOP);
	for (int i = 0; i < CALLS; i++)
		run->call();
	raise(SIGSTOP);
	return 0;
}

/* Steps the child through its calls, and sets *@ended at its second stop. Returns 0 or -errno. */
static int step_child(struct run *run, bool *ended)
{
	const pid_t pid = run->child.pid;
	struct position place;
	int status, ret = 0;

	for (unsigned steps = 0; !ret && steps < MOST_STEPS; steps++) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) < 0)
			return -errno;
		if (!WIFSTOPPED(status))
			return -ECHILD;
		if (WSTOPSIG(status) == SIGSTOP) {
			*ended = true;
			return ptrace(PTRACE_DETACH, pid, NULL, NULL) ? -errno : 0;
		}
		ret = jp_arch_read_traced(pid, &place.ip, &place.sp, &place.bp)
			      ?: record_step(run, &place);
	}
	return ret;
}

static int trace_calls(struct run *run)
{
	bool has_ended = false;
	int status, ret = jp_process_fork(&run->child, NULL, make_calls, run);

	if (ret)
		return ret;
	if (waitpid(run->child.pid, &status, WUNTRACED) < 0)
		return -errno;
	if (!WIFSTOPPED(status))
		return -EPERM;
	ptrace(PTRACE_SETOPTIONS, run->child.pid, NULL, PTRACE_O_EXITKILL);
	ret = step_child(run, &has_ended);
	if (!has_ended)
		jp_process_kill(&run->child);
	else if (jp_process_reap(&run->child))
		ret = -ECHILD;
	return ret;
}

int jp_measure_function(uint64_t code, uint64_t size, void (*call)(void),
			struct jp_emitted *emitted)
{
	struct run run = {.call = call, .code = code, .size = size, .emitted = emitted};
	const int cpu = sched_getcpu();
	cpu_set_t allowed, only_cpu;
	bool is_pinned;
	int ret;

	memset(emitted, 0, sizeof(*emitted));
	emitted->size = size;
	CPU_ZERO(&only_cpu);
	if (cpu >= 0 && cpu < CPU_SETSIZE)
		CPU_SET(cpu, &only_cpu);
	/* Child and tracer run alternately. On two CPUs each step would wake up an idle CPU
	 * twice. */
	is_pinned = !sched_getaffinity(0, sizeof(allowed), &allowed) &&
		    !sched_setaffinity(0, sizeof(only_cpu), &only_cpu);
	ret = trace_calls(&run);
	if (is_pinned)
		sched_setaffinity(0, sizeof(allowed), &allowed);
	if (ret)
		return ret;
	return emitted->nr_insns ? 0 : -ENOTSUP;
}
