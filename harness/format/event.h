/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The common form of everything that a capture recorded or that a workload did. The readers of
 * perf.data and of the truth produce these events; replay, unwinding and validators consume them.
 * Pointers in an event lead into the reader's buffers: they are valid until the visit returns
 * (perf.data), or as long as the truth is loaded. Does not include linux/perf_event.h, so that
 * validators do not depend on it.
 */
enum jp_event_type {
	JP_EVENT_SAMPLE,
	JP_EVENT_MAP,  /* perf.data: MMAP or MMAP2; truth: a mapping, with the name that the kernel
			  would record */
	JP_EVENT_COMM, /* perf.data: COMM; truth: the thread's current name */
	JP_EVENT_FORK, /* a new process, or a new thread if task.ppid is its own pid */
	JP_EVENT_EXIT, /* the end of one thread */
	JP_EVENT_LOST, /* PERF_RECORD_LOST: lost events of any kind */
	JP_EVENT_LOST_SAMPLES, /* PERF_RECORD_LOST_SAMPLES */
	JP_EVENT_THROTTLE,
	JP_EVENT_DEFERRED, /* PERF_RECORD_CALLCHAIN_DEFERRED: user callchain of earlier samples */
	JP_EVENT_BUILD_ID, /* build id of a file in perf's header: @map.name, @map.build_id */
	JP_EVENT_OTHER,    /* any other record, of type @record_type */

	/* Only in the truth. */
	JP_EVENT_EXEC, /* a process starts its first program or another one (perf.data has COMM for
			  that) */
	JP_EVENT_END,  /* the process exited or was killed */
	JP_EVENT_PROTECT,
	JP_EVENT_REMAP,
	JP_EVENT_UNMAP,
	JP_EVENT_FILE, /* a mapping of a file that contains code */
	JP_EVENT_CODE_LOAD,
	JP_EVENT_CODE_MOVE,
	JP_EVENT_CODE_UNLOAD,
	JP_EVENT_ENTER, /* a thread entered a path, a chain of emitted functions */
	JP_EVENT_LEAVE,
	JP_EVENT_MARK,
	JP_EVENT_WAIT, /* a thread waited at an address that was not executable */
	JP_EVENT_GONE, /* another thread or process exited, and the kernel has released it */
	JP_EVENT_MAPS, /* executable lines of the process's /proc/PID/maps, in @maps.text */
};

/* How a process or a new program (image) in it starts. The numbers are those in the truth file. */
enum jp_start_kind {
	JP_START_LAUNCH,
	JP_START_FORK,
	JP_START_VFORK, /* vfork(): the child only calls exec */
	JP_START_EXEC,
	JP_START_SHARE, /* clone(CLONE_VM): continues in the parent's address space */
	JP_START_KINDS
};

struct jp_truth_leave {
	uint32_t path;      /* id of the path */
	uint32_t entering;  /* ns from the ENTER record to the call of the path; 0 before truth
			       version 3 */
	uint64_t flags : 8; /* JP_LEAVE_* */
	uint64_t cpu : 56;  /* ns of CPU time since the ENTER record; 0 before truth version 3 */
	uint64_t ip, sp;    /* registers at the instruction that a signal interrupted */
};

struct jp_truth_frames;
struct jp_truth_layout;
struct jp_truth_path_item;
struct jp_truth_root;

struct jp_machine;
/* User registers by DWARF number, independent of their order in the capture. */
enum { JP_REGS = 33 };
struct jp_regs {
	const struct jp_machine *machine; /* machine of the registers */
	uint64_t mask;                    /* bit i: r[i] is known */
	uint64_t r[JP_REGS];
};

/* What a perf event counts. */
enum jp_clock {
	JP_CLOCK_NONE, /* neither a clock nor a breakpoint */
	JP_CLOCK_CPU,
	JP_CLOCK_TASK,
	JP_CLOCK_BREAKPOINT, /* executions of an instruction; not a clock */
};

/* Default of kernel.perf_event_max_stack (PERF_MAX_STACK_DEPTH, linux/perf_event.h). */
enum { JP_USUAL_MAX_STACK = 127 };

/* What the attr of a perf event requests. */
struct jp_event_asked {
	uint64_t regs;      /* mask of user registers by perf's numbers */
	uint64_t stack;     /* number of bytes of the user stack to dump */
	uint32_t max_stack; /* largest number of addresses in a callchain; 0:
			       kernel.perf_event_max_stack */
	uint64_t period;    /* period of all samples; 0: it varies and samples do not record it */
	enum jp_clock clock;
	bool sideband;     /* records of mappings, processes and names */
	bool data;         /* also records of mappings that are not executable */
	bool chain;        /* samples have callchains */
	bool user_chain;   /* callchains contain user addresses */
	bool kernel_chain; /* callchains contain kernel addresses */
	bool user, kernel; /* user code is sampled; kernel code is sampled */
	bool timed;        /* every record has a CLOCK_MONOTONIC time */
	bool threads;      /* every record has a pid and tid */
	bool ids;          /* every record has an event id */
	bool cpus;         /* every record has a CPU number */
	bool inherit;      /* children inherit the event */
	bool at_code;      /* tracepoint or breakpoint: user samples are at chosen instructions */
	uint32_t records;  /* mask of the PERF_RECORD types that the kernel writes for it */
};

/* What a stream of observations (docs/observations.md) records about a sample besides its
 * addresses. */
struct jp_observed {
	/* Name of each frame, innermost first, with or without addresses. NULL: the profiler does
	 * not know the name. */
	const char *const *names;
	uint64_t nr_names;
	uint64_t weight; /* number of samples with this stack */
};

struct jp_event {
	enum jp_event_type type;
	uint32_t record_type;   /* PERF_RECORD_* type, as in the file */
	uint16_t misc;          /* misc field of the record's header */
	const void *record;     /* the whole record, or NULL */
	union {                 /* time in ns */
		uint64_t time;  /* 0: the record has no time */
		uint64_t after; /* truth: the event happened within [before, after] */
	};
	uint64_t before;      /* truth: see @after; perf.data: equal to @time */
	uint64_t file_offset; /* file offset of the record, or of the compressed record that
				 contains it */
	uint32_t pid, tid, cpu;
	uint32_t reserved; /* the 32 bits after the CPU number in the record; the kernel writes 0 */
	uint32_t by_pid, by_tid; /* pid and tid of the thread that ran when the kernel wrote the
				    record; not set for samples */
	uint64_t id;             /* id of the perf event; 0: the record has none */
	uint32_t attr;           /* index of the event's attr in the file */
	/* What the event's attr requests; NULL: the event is not from a perf.data. */
	const struct jp_event_asked *asked;
	/* Set for samples of a stream of observations, else NULL. */
	const struct jp_observed *observed;
	bool kernel_map; /* a MAP of the kernel or of a module (pid -1 or kernel cpumode) */
	union {
		struct {
			uint64_t ip; /* PERF_SAMPLE_IP; may be the kernel's */
			bool user;   /* @ip is a user address, according to the CPU mode */
			const uint64_t *chain; /* callchain as in the file, including PERF_CONTEXT_*
						  markers */
			uint64_t nr_chain;
			bool kernel_chain; /* @chain lacks the user part, because the attr excludes
					      it */
			bool chain_deferred; /* @chain ends with a cookie, and the user part is in a
						later record */
			/* The deferred user part of the callchain. NULL: it was never written, or
			 * the input is a pipe, in which the reader cannot look ahead. */
			const uint64_t *deferred;
			uint64_t nr_deferred;
			const struct jp_regs *regs; /* NULL: none */
			uint64_t regs_abi;          /* 0: no registers, 1: 32 bits, 2: 64 bits */
			bool regs_impossible; /* no user thread can have these flags or segments */
			const unsigned char *stack; /* copied bytes of the stack, from the user's sp
						       upwards; NULL: none */
			uint64_t stack_size; /* number of bytes that the kernel copied (dyn_size) */
			/* Number of bytes that the record reserves. If @stack_size is equal, the
			 * stack may be longer than the dump. */
			uint64_t stack_asked;
			uint64_t period;
		} sample;
		struct {
			uint64_t addr, len, pgoff;
			uint32_t maj, min;
			uint64_t ino, gen;
			const unsigned char *build_id; /* NULL: the record has none */
			uint32_t build_id_size;
			uint32_t prot; /* MMAP: PROT_EXEC, or 0 for data */
			uint32_t flags;
			bool code; /* the record lacks MMAP_DATA: perf assumes code there, whatever
				      @prot is */
			bool has_identity;          /* maj, min, ino, gen are valid */
			const char *name;           /* NUL-terminated */
			uint64_t new_addr, new_len; /* REMAP: the range after the move */
		} map;                              /* MAP, PROTECT, REMAP, UNMAP */
		struct {
			const char *name;
			bool exec;
		} comm;
		struct {
			uint32_t ppid, ptid; /* pid and tid of the parent; truth: of the thread that
						forked; 0: unknown */
			uint64_t time; /* time in the record's body; jp_event.time is that of its
					  sample id */
			enum jp_start_kind start_kind; /* how the task started; only in the truth */
			/* FORK: the recorder synthesized the record for a task that existed
			 * already. It states the parent, but no memory was copied. */
			bool was_running;
			uint32_t exec_tid; /* truth: tid of the thread that called exec; 0: the
					first thread */
		} task;                    /* FORK, EXIT, EXEC */
		struct {
			uint64_t lost;
		} lost;
		struct {
			uint64_t count;
			uint64_t pid, mnt; /* inodes of the pid and mount namespaces; 0: unknown */
		} namespaces;              /* OTHER: a NAMESPACES record */
		struct {
			uint64_t cookie, count;
			const uint64_t *ips;
		} deferred;
		struct {
			uint64_t addr, len, ino;
			uint32_t maj, min;
			const char *build_id; /* hexadecimal, or "-" for none; a blank and the path
						 follow */
			const char *path;
		} file;
		struct {
			uint64_t id, addr, size;
			const struct jp_truth_layout *layout;
			const struct jp_truth_frames *frames; /* NULL: unknown */
			const char *name;
		} code; /* CODE_LOAD; CODE_MOVE: only id and addr; CODE_UNLOAD: only id */
		struct {
			/* NULL: the path is missing in the file, or torn (incomplete). */
			const struct jp_truth_path_item *path;
			const struct jp_truth_root *chain, *dump;
			uint64_t sp, bp; /* registers at the first instruction of the path */
			uint32_t flags;  /* JP_ENTER_* */
		} enter;
		struct jp_truth_leave leave;
		struct {
			const char *text;
			uint64_t value;
		} mark;
		struct {
			uint64_t addr;
			uint64_t handled; /* time at which the thread's signal handler started; 0
					     before truth version 3 */
		} wait;
		struct {
			const char *text; /* executable lines of /proc/PID/maps */
		} maps;
	};
};

/* Returns whether @event starts a process or a new image of one, but not a thread. */
/* Returns the largest number of addresses in the callchain of @sample. @limit: the kernel's limit,
 * kernel.perf_event_max_stack. */
static inline uint64_t jp_event_max_stack(const struct jp_event *sample, uint64_t limit)
{
	return sample->asked && sample->asked->max_stack ? sample->asked->max_stack : limit;
}

static inline bool jp_event_starts_process(const struct jp_event *event)
{
	return event->type == JP_EVENT_EXEC || (event->type == JP_EVENT_COMM && event->comm.exec) ||
	       (event->type == JP_EVENT_FORK && event->pid != event->task.ppid);
}

/* Returns whether @event maps, protects, moves or unmaps memory in [@start, @start + @len). */
static inline bool jp_event_touches(const struct jp_event *event, uint64_t start, uint64_t len)
{
	const uint64_t end = start + len;

	switch (event->type) {
	case JP_EVENT_REMAP:
		if (event->map.new_addr < end && start < event->map.new_addr + event->map.new_len)
			return true;
		/* fall through */
	case JP_EVENT_MAP:
	case JP_EVENT_PROTECT:
	case JP_EVENT_UNMAP:
		return event->map.addr < end && start < event->map.addr + event->map.len;
	default:
		return false;
	}
}

/* MAP_* flags of a mapping: the kernel's values, equal on all architectures. */
enum { JP_MAP_SHARED = 1, JP_MAP_PRIVATE = 2 };

/* CPU mode of a sample: the bits PERF_RECORD_MISC_CPUMODE_MASK of @misc. */
enum jp_cpu_mode {
	JP_CPU_UNKNOWN,
	JP_CPU_KERNEL,
	JP_CPU_USER,
	JP_CPU_HYPERVISOR,
	JP_CPU_GUEST_KERNEL,
	JP_CPU_GUEST_USER,
};
static inline enum jp_cpu_mode jp_event_cpu_mode(const struct jp_event *sample)
{
	return (enum jp_cpu_mode)(sample->misc & 7);
}

/* Handles one event. Returns 0 to continue; the reader stops at any other value and returns it. */
typedef int (*jp_event_visit)(void *context, const struct jp_event *event);

/* Values of PERF_CONTEXT_* in a callchain. */
#define JP_CONTEXT_HV            ((uint64_t)-32)
#define JP_CONTEXT_KERNEL        ((uint64_t)-128)
#define JP_CONTEXT_USER          ((uint64_t)-512)
#define JP_CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define JP_CONTEXT_MAX           ((uint64_t)-4095)

/* Finds the user part of a sample's callchain: the addresses after PERF_CONTEXT_USER, or the
 * deferred ones. Stores its start in *@user and returns the number of its entries. Entries >=
 * JP_CONTEXT_MAX resemble a marker but are garbage from the user's stack: callers must skip them
 * (results/FINDINGS.md). */
uint64_t jp_event_user_chain(const struct jp_event *event, const uint64_t **user);
