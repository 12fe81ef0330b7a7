/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CAPTURE_SESSION_H
#define JP_CAPTURE_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/capture/events.h"
#include "harness/capture/event_owners.h"
#include "harness/capture/capture.h"
#include "harness/format/perfdata/write.h"
#include "harness/format/rundir/capture_info.h"

/* What the files of this folder share. Policies use the functions at the end. */

struct jp_ring { /* one per CPU and stream */
	int fd;  /* of the event that owns it and never counts */
	int cpu;
	enum jp_stream stream;
	unsigned char *base; /* control page, then the records; NULL: not mapped */
	size_t size;         /* of the records */
	uint64_t head;       /* as read for the pass that runs */
};

struct jp_opened {
	int fd;
	pid_t tid; /* -1: every thread of @cpu */
	int cpu;
	enum jp_stream stream;
	uint64_t id;
	bool enabled;
};

struct jp_elf_copies;
struct jp_external;
struct jp_gate;
struct jp_backfill;

struct jp_procmap;
struct jp_session {
	const struct jp_capture *capture;
	struct jp_capture_options options;
	struct jp_target *target;
	char *dir, *output;
	struct jp_abilities abilities;
	struct perf_event_attr
		attr[JP_STREAMS]; /* [JP_SAMPLING]: a breakpoint's where it has those */
	struct jp_perf_layout layout[JP_STREAMS]; /* of their records; set with the writer */
	uint32_t frequency; /* after rings and the kernel's limit had their say */
	int *cpus;
	unsigned int nr_cpus;
	struct jp_ring *rings; /* [stream * nr_cpus + index of cpu] */
	struct rlimit files;   /* as found: the launched command gets it back */

	/* Under @lock: whoever adds events or records and the draining thread take turns. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct jp_perfdata_writer *writer;
	struct jp_opened *opened;
	size_t nr_opened, opened_capacity;
	struct jp_event_owners ids; /* event id -> thread that it was opened for */
	struct jp_event_owners event_owners[JP_STREAMS]; /* tid -> who speaks for it */
	struct jp_event_owners fork_times;               /* tid -> time of its FORK record */
	struct jp_event_owners hits; /* event id -> number of samples (@from), of breakpoints */
	uint64_t samples, first_sample, last_sample;
	uint64_t lost_records[JP_STREAMS]; /* what LOST records say */
	uint64_t lost_counted[JP_STREAMS]; /* what PERF_FORMAT_LOST says */
	uint64_t duplicates[JP_STREAMS];
	uint64_t passes_wanted, passes_done;
	bool hold_rounds; /* records older than those already written may still come */
	int holds;        /* atomic: the same, for a while, without the lock */
	bool pending;     /* records were written since the last round */
	uint64_t last_round;
	uint64_t some_id[JP_STREAMS]; /* an id of each, for records that we make ourselves */
	bool stopping, stopped, exited, complete;
	bool ending;   /* the worker must end */
	int interrupt; /* atomic: jp_session_interrupt() was called, from a signal handler perhaps
			*/
	bool gone;     /* the target's pidfd said so, or there is none */

	pthread_t drainer;
	bool drainer_runs;
	pid_t drainer_tid;
	int wake, epoll, target_fd;

	pthread_t worker; /* of a policy that goes on after begin */
	bool worker_runs;
	int worker_wake; /* eventfd, written when @ending is set; -1: it waits for @changed */
	int worker_error;
	struct jp_error worker_err;

	struct jp_elf_copies *copies;
	struct jp_gate *gate;         /* NULL: not a gated capture */
	struct jp_external *external; /* NULL: we capture ourselves */
	struct jp_backfill *backfill; /* NULL: nobody asks what was recorded */
	struct jp_capture_info info;
	uint64_t began, first_enabled; /* before anything was opened; first pass enabled */
	unsigned int threads, thread_passes, snapshot_readings, snapshots, unstable;
	bool settled;
	const char *order;
	uint64_t breakpoints_hit;
};

/* CLOCK_MONOTONIC, ns. */
uint64_t jp_capture_now(void);

/* cpus.c: the online CPUs; their number, or -errno. */
int jp_cpus_online(int **cpus, struct jp_error *err);

/* clock.c: by how much the event clock leaves the brackets of clock_gettime(), over all @cpus. */
int jp_clock_slack(const int *cpus, unsigned int nr_cpus, uint64_t *slack, struct jp_error *err);

/* rings.c */
int jp_rings_open(struct jp_session *session, struct jp_error *err);
void jp_rings_close(struct jp_session *session);
/* Writes what the rings hold; true where there was anything. Under @lock. */
bool jp_rings_drain(struct jp_session *session);

/* drain.c: the one thread that reads rings. */
int jp_drain_start(struct jp_session *session, struct jp_error *err);
/* Returns once a whole pass began and ended after the call. */
void jp_drain_now(struct jp_session *session);
/* Drains until the rings are empty and ends the thread. */
void jp_drain_stop(struct jp_session *session);
void jp_drain_wake(struct jp_session *session);
/* Also wakes, and marks the session exited, when @pid ends. */
void jp_drain_watch(struct jp_session *session, pid_t pid);

/* open.c: the events that were opened. */
/* One event into the ring of @cpu_index. 0, or -errno: -ESRCH where the thread is gone. */
int jp_open_event(struct jp_session *session, struct perf_event_attr *attr, enum jp_stream stream,
		  pid_t tid, unsigned int cpu_index, struct jp_error *err);
/* @stream's event on every CPU for @tid (-1: all threads). As above, all or none. */
int jp_open_thread(struct jp_session *session, enum jp_stream stream, pid_t tid,
		   struct jp_error *err);
/* Enables what was opened and is not enabled yet. */
int jp_open_enable(struct jp_session *session, enum jp_stream stream, struct jp_error *err);
void jp_open_disable(struct jp_session *session, enum jp_stream stream);
/* Enables or disables all of @stream, and what inherited it. */
int jp_open_switch(struct jp_session *session, enum jp_stream stream, bool on,
		   struct jp_error *err);
/* Adds up PERF_FORMAT_LOST and closes events [@from, end). */
void jp_open_close(struct jp_session *session, size_t from);

/* threads.c */
struct jp_tids {
	pid_t *tids;
	size_t count, capacity;
};
/* The numbers that are names in @path (/proc, /proc/PID/task). -ESRCH: gone. */
int jp_tids_list(const char *path, struct jp_tids *tids);
void jp_tids_free(struct jp_tids *tids);
/* One pass: opens @stream on every listed thread that has none. *@news: threads that were found
 * and whose creation no FORK record later than @explained tells of. */
int jp_threads_open(struct jp_session *session, enum jp_stream stream, uint64_t explained,
		    unsigned int *news, struct jp_error *err);
/* Passes of open and enable until two in a row find nothing unexplained. */
int jp_threads_settle(struct jp_session *session, enum jp_stream stream, struct jp_error *err);

/* start.c: a command that waits before it execs. */
/* Forks it, with @added ("NAME=VALUE", may be NULL) in its environment. The descriptor of its
 * channel, or -errno. */
int jp_start_command(struct jp_session *session, char *added, struct jp_error *err);
/* Lets it exec; returns when it did. */
int jp_start_release(struct jp_session *session, int channel, struct jp_error *err);
/* Closes the channel; where the start @failed, reaps what is left. */
void jp_start_end(struct jp_session *session, int channel, bool failed);

/* snapshot.c: reads maps and writes the records that tell of them and of the threads. */
struct jp_reading { /* of one /proc/PID/maps */
	char *bytes;
	size_t size, capacity;
	uint64_t before, after;
};
/*
 * Reads until two readings agree: mremap is never reported, so what moved while a reading went by
 * is found by nobody else. The caller frees @reading->bytes, whatever the result.
 * @within_done false: "within-snapshot" is still to be told.
 */
int jp_snapshot_read(struct jp_session *session, pid_t pid, bool *within_done,
		     struct jp_reading *reading, struct jp_error *err);
/* Has the records of what it holds written by @tell (0 or -ENOMEM), at the time before it, with the
 * session locked. */
typedef int (*jp_reading_teller)(struct jp_session *session, pid_t pid,
				 const struct jp_procmap *maps, size_t count, uint64_t before);
int jp_reading_tell(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
		    jp_reading_teller tell, struct jp_error *err);
/* Appends it to DIR/maps. */
int jp_snapshot_keep(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
		     struct jp_error *err);
/* A small file of /proc, NUL-terminated; its size, or < 0. */
ssize_t jp_proc_read(const char *path, char *text, size_t size);
int jp_snapshot_take(struct jp_session *session, struct jp_error *err);
/* An empty DIR/maps: a launch takes no snapshot. */
int jp_snapshot_file(const char *dir, struct jp_error *err);

/* synthesize.c: records of what is older than the capture, in the sideband event's layout. Under
 * @lock. */
void jp_synthesize_map(struct jp_session *session, pid_t pid, const struct jp_procmap *map,
		       uint64_t time);
void jp_synthesize_fork(struct jp_session *session, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid,
			uint64_t time);
/* @exec: what was known of the process's memory before is void. */
void jp_synthesize_comm(struct jp_session *session, pid_t pid, pid_t tid, const char *name,
			bool exec, uint64_t time);
void jp_synthesize_lost(struct jp_session *session, uint64_t lost, uint64_t time);
/* The kernel's text and modules, where /proc/kallsyms shows addresses. */
void jp_synthesize_kernel(struct jp_session *session, uint64_t time);

/* elf_copies.c: DIR/elf, written by a thread of its own. */
/* @late: as those do it who open the recorded paths afterwards. */
struct jp_elf_copies *jp_elf_copies_start(const char *dir, bool late, struct jp_error *err);
/* Opens the file at once, while the process lives; the copy is made later. */
/* @gen: the inode's generation, 0: unknown. */
void jp_elf_copies_want(struct jp_elf_copies *copies, pid_t pid, const struct jp_procmap *map,
			uint64_t gen);
/* Waits for the last copy. 0, or the first error. */
int jp_elf_copies_finish(struct jp_elf_copies *copies, struct jp_error *err);

/*
 * backfill.c: what a capture does not know of a process, because its events were disabled. Knows
 * what was recorded: jp_backfill_saw() is told each sideband record, under @lock.
 */
struct jp_backfill *jp_backfill_new(struct jp_error *err);
void jp_backfill_free(struct jp_backfill *backfill);
int jp_backfill_saw(struct jp_backfill *backfill, const struct jp_event *event);
/* Writes records of what @reading of @pid shows and nobody recorded, with its time. Everything that
 * was recorded before that was told to jp_backfill_saw(). */
int jp_backfill_write(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
		      struct jp_error *err);

/* gate.c: the gatekeeper (docs/gate-protocol.md): enables and disables around intervals. */
enum jp_gate_policy {
	JP_GATE_NONE,     /* everything is disabled outside of intervals: the bug */
	JP_GATE_BACKFILL, /* as none; what is older than the interval is told from /proc/PID/maps */
	JP_GATE_SIDEBAND, /* samples alone are disabled: the better cure */
};
const char *jp_gate_text(enum jp_gate_policy policy);
struct jp_gate *jp_gate_new(struct jp_session *session, enum jp_gate_policy policy,
			    struct jp_error *err);
/* What the command needs in its environment. */
char *jp_gate_environment(struct jp_gate *gate);
/* The worker: answers until the session ends, then writes DIR/intervals. */
void *jp_gate_keep(void *session);
void jp_gate_free(struct jp_gate *gate);

/* profiler.c: a session whose records someone else writes. */
/* Sampling ends; what it writes is still its own. */
/* @environment (may be NULL): NAME=VALUE for the command; all events are off until switched. */
int jp_external_begin(struct jp_session *session, int argc, char **argv, char *environment,
		      struct jp_error *err);
/* Returns when the profiler has said that its events are on, or off. */
int jp_external_switch(struct jp_session *session, bool on, struct jp_error *err);
void jp_external_stop(struct jp_session *session);
/* Everything is written. */
int jp_external_finish(struct jp_session *session, struct jp_error *err);
/* Ends the adapter, so that its listener ends; then frees. */
void jp_external_end(struct jp_session *session);
void jp_external_free(struct jp_session *session);

/* info.c: DIR/capture. */
int jp_session_info_write(const struct jp_session *session, struct jp_error *err);

/* session.c */
int jp_session_boundary(struct jp_session *session, const char *boundary, struct jp_error *err);
/* Those of jp_session_attach(). */
extern const char *const jp_attach_boundaries[];
/* The whole attach, in its right order or with the snapshot first (a control); @sample: sampling
 * events too. */
int jp_session_attach(struct jp_session *session, bool snapshot_first, bool sample,
		      struct jp_error *err);
/* The kernel's own mappings, where it is sampled; once an event is open. */
void jp_session_tell_kernel(struct jp_session *session);
/* Starts @work(@context) with all signals blocked; whoever calls joins it. */
int jp_session_thread(pthread_t *thread, void *(*work)(void *), void *context,
		      struct jp_error *err);
/* Runs @work(@context) as the session's worker until it ends by itself or @ending is set. */
int jp_session_work(struct jp_session *session, void *(*work)(void *), void *context,
		    struct jp_error *err);
/* From here on samples come: the file's rounds begin. */
void jp_session_sampling(struct jp_session *session);

/* options.c */
const char *jp_synth_text(enum jp_synth synth);

#endif
