/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One thing that a capture saw, or that a workload did: the common tongue of the readers of
 * perf.data and of the truth, replay, unwinding and validators. Pointers lead into the reader's
 * buffers: of perf.data they die with the visit, of the truth with the truth.
 * Knows nothing of linux/perf_event.h, so that validators need not either.
 */
enum jp_event_type {
	JP_EVENT_SAMPLE,
	JP_EVENT_MAP,  /* MMAP or MMAP2; in the truth under the name that the kernel records */
	JP_EVENT_COMM, /* in the truth: the thread's name as of now */
	JP_EVENT_FORK, /* a process; a thread where task.ppid is its own pid */
	JP_EVENT_EXIT, /* of one thread */
	JP_EVENT_LOST, /* PERF_RECORD_LOST: @lost events of any kind */
	JP_EVENT_LOST_SAMPLES, /* PERF_RECORD_LOST_SAMPLES */
	JP_EVENT_THROTTLE,
	JP_EVENT_DEFERRED, /* PERF_RECORD_CALLCHAIN_DEFERRED: what samples before it were promised
			    */
	JP_EVENT_BUILD_ID, /* of a file, as perf's header tells it: @map.name, @map.build_id */
	JP_EVENT_OTHER,    /* known to perf, of no use here; @record_type tells */

	/* What only the truth tells. */
	JP_EVENT_EXEC, /* the first image of a workload, or the next of a process; perf: COMM */
	JP_EVENT_END,  /* of the process: exit, or its death */
	JP_EVENT_PROTECT,
	JP_EVENT_REMAP,
	JP_EVENT_UNMAP,
	JP_EVENT_FILE, /* a file whose code lies in a mapping */
	JP_EVENT_CODE_LOAD,
	JP_EVENT_CODE_MOVE,
	JP_EVENT_CODE_UNLOAD,
	JP_EVENT_ENTER, /* a thread is inside a path from now on */
	JP_EVENT_LEAVE,
	JP_EVENT_MARK,
	JP_EVENT_WAIT, /* a thread stood at an address that was not executable */
	JP_EVENT_GONE, /* another thread, or process, that ended: the kernel is done with it */
	JP_EVENT_MAPS, /* the executable lines of the process's own maps, as @maps.text */
};

/* How a process or an image of one begins; numbers of the truth's file. */
enum jp_truth_how {
	JP_HOW_LAUNCH,
	JP_HOW_FORK,
	JP_HOW_VFORK, /* runs nothing but an exec */
	JP_HOW_EXEC,
	JP_HOW_SHARE, /* clone(CLONE_VM): goes on in the parent's own address space */
	JP_HOWS
};

struct jp_truth_leave {
	uint32_t path;      /* id */
	uint32_t entering;  /* ns from its ENTER until nothing but the call of the path was left to
			     * do; before truth version 3: 0 */
	uint64_t flags : 8; /* JP_LEAVE_* */
	uint64_t cpu : 56;  /* ns of CPU time that the thread took since its ENTER; before truth
			     * version 3: 0 */
	uint64_t ip, sp;    /* of the interrupted instruction */
};

struct jp_truth_frames;
struct jp_truth_layout;
struct jp_truth_path_item;
struct jp_truth_root;

struct jp_machine;
/* User registers in DWARF's numbering for the machine, whatever order the capture holds them in. */
enum { JP_REGS = 33 };
struct jp_regs {
	const struct jp_machine *machine; /* whose they are */
	uint64_t known;                   /* bit i: r[i] is known */
	uint64_t r[JP_REGS];
};

/* What an event counts. */
enum jp_clock {
	JP_CLOCK_NONE, /* something else */
	JP_CLOCK_CPU,
	JP_CLOCK_TASK,
	JP_CLOCK_BREAKPOINT, /* none either: hits of an address */
};

/* What the event that gave a record was asked for. */
struct jp_event_asked {
	uint64_t regs;      /* user registers, perf's numbers */
	uint64_t stack;     /* bytes of it */
	uint32_t max_stack; /* addresses of a callchain; 0: as many as the kernel's setting says */
	uint64_t period; /* that every sample states; 0: the kernel changes it, or it is in none */
	enum jp_clock clock;
	bool sideband;     /* mappings, processes, names */
	bool data;         /* mappings that are not executable, too */
	bool chain;        /* callchains ... */
	bool user_chain;   /* ... with the user's part */
	bool kernel_chain; /* ... with the kernel's */
	bool user, kernel; /* what runs there is sampled */
	bool timed;        /* by CLOCK_MONOTONIC, in every record */
	bool threads;      /* every record says of which thread */
	bool ids;          /* ... and of which event; 0: of none */
	bool cpus;         /* every record says on which CPU */
	bool inherit;      /* children have it too */
	uint32_t records;  /* which types of the kernel's it can give, a bit each */
};

/* What a stream of observations says of a sample besides its addresses. */
struct jp_observed {
	/* What the profiler calls each frame, innermost first, be there addresses or not; NULL: it
	 * does not know. */
	const char *const *names;
	uint64_t nr_names;
	uint64_t weight; /* how many samples it is, all of this stack */
};

struct jp_event {
	enum jp_event_type type;
	uint32_t record_type;   /* as in the file */
	uint16_t misc;          /* as in the file: perf's bits, some of which speak below */
	const void *record;     /* the whole record; NULL: there is none */
	union {                 /* ns */
		uint64_t time;  /* 0 where the file gives none */
		uint64_t after; /* the truth: the act lies in [before, after] */
	};
	uint64_t before; /* of perf.data: the same as time */
	uint64_t at;     /* the record's offset in the file; its block's where it was compressed */
	uint32_t pid, tid, cpu;
	uint32_t reserved;       /* what follows the CPU in the record: the kernel writes 0 */
	uint32_t by_pid, by_tid; /* who ran as the kernel wrote it; of samples: not set */
	uint64_t id;             /* event id, 0 where the file gives none */
	uint32_t attr;           /* which attr of the file, by index */
	const struct jp_event_asked *asked; /* of that attr; NULL: of no file */
	const struct jp_observed *observed; /* of a sample; NULL: of no stream of observations */
	bool kernel_map; /* MAP of the kernel or a module (pid -1 or kernel cpumode) */
	union {
		struct {
			uint64_t ip;           /* PERF_SAMPLE_IP; may be the kernel's */
			bool user;             /* cpumode says that @ip is a user address */
			const uint64_t *chain; /* with PERF_CONTEXT_*, as in the file */
			uint64_t nr_chain;
			bool kernel_chain;   /* nobody asked for the user's part of @chain */
			bool chain_deferred; /* @chain ends with a cookie: the user's part comes
						later */
			const uint64_t *deferred; /* that part; NULL: it never came, or the reader
						   * cannot look ahead (a stream) */
			uint64_t nr_deferred;
			const struct jp_regs *regs; /* user registers, NULL: none */
			uint64_t regs_abi;          /* 0: none were taken, 1: 32, 2: 64 bits */
			bool regs_impossible; /* no user's thread has such flags or segments */
			const unsigned char *stack; /* from the user sp up, NULL: none */
			uint64_t stack_size;        /* bytes really copied (dyn_size) */
			uint64_t stack_asked;       /* what the sample had room for; equal to
						     * stack_size: it may cut the stack */
			uint64_t period;
		} sample;
		struct {
			uint64_t addr, len, pgoff;
			uint32_t maj, min;
			uint64_t ino, gen;
			const unsigned char *build_id; /* NULL: the record has none */
			uint32_t build_id_size;
			uint32_t prot; /* MMAP (not 2): PROT_EXEC or, with data, 0 */
			uint32_t flags;
			bool has_identity;   /* maj, min, ino, gen are valid */
			const char *name;    /* NUL-terminated */
			uint64_t to, to_len; /* REMAP: where it is now */
		} map;                       /* and PROTECT, REMAP, UNMAP */
		struct {
			const char *name;
			bool exec;
		} comm;
		struct {
			uint32_t ppid, ptid; /* in the truth: who forked it; 0: not known */
			uint64_t time; /* that the record states; @time above is its sample id's */
			enum jp_truth_how how; /* of the truth alone */
			/* FORK: a recorder's own record of a task that was there before: it tells
			 * whose child it is, and nothing of its memory. */
			bool there;
			uint32_t by; /* the same: the tid that called exec; 0: the first thread's */
		} task;              /* FORK, EXIT, EXEC */
		struct {
			uint64_t lost;
		} lost;
		struct {
			uint64_t count;
			uint64_t pid, mnt; /* inodes of two of them; 0: not told */
		} namespaces;              /* OTHER: a NAMESPACES record */
		struct {
			uint64_t cookie, count;
			const uint64_t *ips;
		} deferred;
		struct {
			uint64_t addr, len, ino;
			uint32_t maj, min;
			const char
				*build_id; /* hexadecimal, "-": none; a blank and the path follow */
			const char *path;
		} file;
		struct {
			uint64_t id, addr, size;
			const struct jp_truth_layout *layout;
			const struct jp_truth_frames *frames; /* NULL: nothing is said of them */
			const char *name;
		} code; /* LOAD; MOVE: id and addr; UNLOAD: id */
		struct {
			/* NULL: not in the file, or torn. */
			const struct jp_truth_path_item *path;
			const struct jp_truth_root *chain, *dump;
			uint64_t sp, bp; /* at the first instruction of the path */
			uint32_t flags;  /* JP_ENTER_* */
		} enter;
		struct jp_truth_leave leave;
		struct {
			const char *text;
			uint64_t value;
		} mark;
		struct {
			uint64_t addr;
			uint64_t handled; /* when its handler began to run; before version 3: 0 */
		} wait;
		struct {
			const char *text; /* as in /proc/PID/maps, a line each */
		} maps;
	};
};

/* Whether a process begins with @event, or another image of it: not a thread. */
static inline bool jp_event_starts_process(const struct jp_event *event)
{
	return event->type == JP_EVENT_EXEC || (event->type == JP_EVENT_COMM && event->comm.exec) ||
	       (event->type == JP_EVENT_FORK && event->pid != event->task.ppid);
}

/* Whether @event is of memory in [@start, @start + @len): mapped, protected, moved or unmapped. */
static inline bool jp_event_touches(const struct jp_event *event, uint64_t start, uint64_t len)
{
	const uint64_t end = start + len;

	switch (event->type) {
	case JP_EVENT_REMAP:
		if (event->map.to < end && start < event->map.to + event->map.to_len)
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

/* Of a mapping's flags: MAP_* of the kernel, the same on every machine. */
enum { JP_MAP_SHARED = 1, JP_MAP_PRIVATE = 2 };

/* The mode of the CPU at a sample: what PERF_RECORD_MISC_CPUMODE_MASK leaves of @misc. */
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

/* 0 to go on; anything else stops the reader, which returns it. */
typedef int (*jp_event_visit)(void *context, const struct jp_event *event);

/* PERF_CONTEXT_* as the file holds them. */
#define JP_CONTEXT_KERNEL        ((uint64_t)-128)
#define JP_CONTEXT_USER          ((uint64_t)-512)
#define JP_CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define JP_CONTEXT_MAX           ((uint64_t)-4095)

/*
 * The user part of a callchain: what follows PERF_CONTEXT_USER, or came deferred. Returns the
 * number of addresses and their start in @user. A value >= JP_CONTEXT_MAX there is garbage that
 * looks like a marker: it is no address and ends nothing, so the caller skips it when counting
 * (results/FINDINGS.md).
 */
uint64_t jp_event_user_chain(const struct jp_event *event, const uint64_t **user);
