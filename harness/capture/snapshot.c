// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/excuse.h"
#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/path.h"
#include "harness/base/proc_stat.h"
#include "harness/capture/elf_copies.h"
#include "harness/capture/session.h"
#include "harness/capture/synthesize.h"
#include "harness/capture/threads.h"
#include "harness/format/procmaps/procmaps.h"
#include "harness/format/truth/format.h"

enum { MOST_READINGS = 20, CHUNK = 4096 };

/* Opens the maps of @pid. If its main thread has exited, that thread has no maps (exit_mm() in
 * kernel/exit.c): opens those of another thread. */
static int open_maps(pid_t pid, char *path, size_t size)
{
	jp_cleanup_tids struct jp_tids tids = {0};
	char byte;
	int fd;

	snprintf(path, size, "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, &byte, 1, 0) != 0)
		return fd;
	snprintf(path, size, "/proc/%d/task", pid);
	jp_tids_list(path, &tids);
	for (size_t i = 0; i < tids.count; i++) {
		int maps;

		snprintf(path, size, "/proc/%d/task/%d/maps", pid, tids.tids[i]);
		maps = open(path, O_RDONLY | O_CLOEXEC);
		if (maps >= 0 && pread(maps, &byte, 1, 0) == 1) {
			close(fd);
			return maps;
		}
		if (maps >= 0)
			close(maps);
	}
	return fd;
}

/* Reads /proc/PID/maps once. The kernel returns a page of whole lines for each read() and unlocks
 * the address space in between, so a reading may be inconsistent. */
static int read_maps(struct jp_session *session, pid_t pid, struct jp_reading *reading,
		     bool *within_done, struct jp_error *err)
{
	jp_cleanup_close int fd = -1;
	char path[80];
	bool is_first = true;
	ssize_t size;
	int ret = 0;

	reading->size = 0;
	reading->before = jp_clock_now();
	fd = open_maps(pid, path, sizeof(path));
	if (fd < 0)
		return jp_fail(err, errno, "%s: %s%s", path, strerror(errno),
			       errno == ENOENT ? " (the process ended just now)" : "");
	do {
		if (!jp_array_reserve(&reading->bytes, &reading->capacity, reading->size + CHUNK))
			return jp_fail(err, ENOMEM, "%s: out of memory", path);
		size = read(fd, reading->bytes + reading->size, CHUNK);
		if (size < 0 && errno != EINTR && errno != ESRCH)
			return jp_fail(err, errno, "%s: %s", path, strerror(errno));
		reading->size += size > 0 ? (size_t)size : 0;
		if (is_first && !*within_done) {
			*within_done = true;
			ret = jp_session_reach_boundary(session, "within-snapshot", err);
		}
		is_first = false;
	} while (!ret && (size > 0 || (size < 0 && errno == EINTR)));
	reading->after = jp_clock_now();
	return ret;
}

static bool is_executable(const char *line, const char *end)
{
	const char *space = memchr(line, ' ', (size_t)(end - line));

	return space && end - space > 3 && space[3] == 'x';
}

/* Returns the next line of @text at or after offset *@cursor that may become a record (@all_lines:
 * any line), its length in *@size, and moves *@cursor behind it. Returns NULL at the end. */
static const char *find_next_line(const struct jp_reading *text, size_t *cursor, size_t *size,
				  bool all_lines)
{
	while (*cursor < text->size) {
		const char *line = text->bytes + *cursor;
		const char *end = memchr(line, '\n', text->size - *cursor);

		end = end ? end + 1 : text->bytes + text->size;
		*cursor += (size_t)(end - line);
		*size = (size_t)(end - line);
		if (all_lines || is_executable(line, end))
			return line;
	}
	return NULL;
}

/* Returns whether two readings agree in the lines that may become records (@all_lines: in all
 * lines). Other lines, such as those of heap and stack, change all the time. */
static bool compare_readings(const struct jp_reading *a, const struct jp_reading *b, bool all_lines)
{
	size_t at_a = 0, at_b = 0, size_a = 0, size_b = 0;
	const char *line_a, *line_b;

	do {
		line_a = find_next_line(a, &at_a, &size_a, all_lines);
		line_b = find_next_line(b, &at_b, &size_b, all_lines);
		if (line_a && line_b && (size_a != size_b || memcmp(line_a, line_b, size_a) != 0))
			return false;
	} while (line_a && line_b);
	return !line_a && !line_b;
}

static bool is_selected(enum jp_synth synth, const struct jp_procmap *map)
{
	return synth == JP_SYNTH_ALL || (synth != JP_SYNTH_NONE && map->prot & JP_PROT_EXEC &&
					 (*map->name || synth != JP_SYNTH_PATHS));
}

int jp_reading_apply(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
		     jp_reading_visit visit, void *context, struct jp_error *err)
{
	jp_cleanup_free struct jp_procmap *maps = NULL;
	size_t count;
	int ret = jp_procmaps_parse(reading->bytes, reading->size, &maps, &count, err);

	if (ret)
		return ret;
	pthread_mutex_lock(&session->lock);
	ret = visit(session, context, pid, maps, count, reading->date);
	pthread_mutex_unlock(&session->lock);
	return ret ? jp_fail(err, -ret, "out of memory for the recorded mappings") : 0;
}

static int request_copies_of_all(struct jp_session *session, void *context, pid_t pid,
				 const struct jp_procmap *maps, size_t count, uint64_t date)
{
	for (size_t i = 0; i < count && session->copies; i++)
		if (maps[i].prot & JP_PROT_EXEC)
			jp_elf_copies_request(session->copies, pid, &maps[i], 0);
	return 0;
}

int jp_reading_want_files(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
			  struct jp_error *err)
{
	return jp_reading_apply(session, pid, reading, request_copies_of_all, NULL, err);
}

static int write_map_records(struct jp_session *session, void *context, pid_t pid,
			     const struct jp_procmap *maps, size_t count, uint64_t date)
{
	request_copies_of_all(session, NULL, pid, maps, count, date);
	/*
	 * @date is 0, as in perf: readers apply such records first. A mapping that was made while
	 * the maps were read also has a kernel record with a later time, which takes precedence.
	 * With the time of the reading, these records would follow a jitdump's load records of
	 * older code, and hide the code's names.
	 */
	for (size_t i = 0; i < count; i++)
		if (is_selected(session->options.synth, &maps[i]))
			jp_synthesize_map(session->recorder, pid, &maps[i], date);
	return 0;
}

int jp_snapshot_keep(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
		     struct jp_error *err)
{
	char path[4096];
	FILE *file;
	int ret = 0;

	session->info.snapshots++;
	if (!session->dir)
		return 0;
	ret = jp_path_build(path, sizeof(path), err, "%s/maps", session->dir);
	if (ret)
		return ret;
	file = fopen(path, "ae");
	if (!file)
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	fprintf(file, "# pid %d before %llu after %llu\n", pid, (unsigned long long)reading->before,
		(unsigned long long)reading->after);
	fwrite(reading->bytes, 1, reading->size, file);
	return jp_file_finish(file, path, err);
}

int jp_snapshot_read(struct jp_session *session, pid_t pid, bool *within_done,
		     struct jp_reading *reading, struct jp_error *err)
{
	struct jp_reading readings[2] = {0};
	bool is_stable = false;
	int round = 0, ret = read_maps(session, pid, &readings[0], within_done, err);

	while (!ret && !is_stable && round < MOST_READINGS - 1) {
		round++;
		ret = read_maps(session, pid, &readings[round % 2], within_done, err);
		is_stable = !ret && compare_readings(&readings[0], &readings[1],
						     session->options.synth == JP_SYNTH_ALL);
	}
	if (!ret) {
		session->info.snapshot_readings += (unsigned int)round + 1;
		session->info.snapshots_unstable += !is_stable;
	}
	*reading = readings[round % 2];
	free(readings[(round + 1) % 2].bytes);
	return ret;
}

static int snapshot_process(struct jp_session *session, pid_t pid, bool *within_done,
			    struct jp_error *err)
{
	struct jp_reading reading;
	int ret = jp_snapshot_read(session, pid, within_done, &reading, err)
			  ?: jp_reading_apply(session, pid, &reading, write_map_records, NULL, err)
			  ?: jp_snapshot_keep(session, pid, &reading, err);

	free(reading.bytes);
	return ret;
}

bool jp_thread_name(pid_t pid, pid_t tid, char *name, size_t size)
{
	char path[64];
	ssize_t nr_read;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	nr_read = jp_file_read_text(path, name, size);
	name[nr_read > 0 ? nr_read - 1 : 0] = '\0'; /* replace the newline */
	return nr_read > 0;
}

static pid_t read_parent(pid_t pid)
{
	struct jp_proc_stat stat;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return jp_proc_stat_read(path, &stat) ? stat.parent : 0;
}

/* Writes FORK and COMM records of every existing thread. The FORK record states the time at which
 * the capture began (its field `time`): with the snapshot's time, a reader that resets a process at
 * FORK would forget earlier records. */
static int write_threads(struct jp_session *session, pid_t pid, struct jp_error *err)
{
	jp_cleanup_tids struct jp_tids tids = {0};
	char path[64], name[64];
	pid_t ppid = read_parent(pid);
	int ret;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	ret = jp_tids_list(path, &tids);
	for (size_t i = 0; i < tids.count && !ret; i++) {
		pid_t tid = tids.tids[i];

		if (!jp_thread_name(pid, tid, name, sizeof(name)))
			continue; /* the thread has ended */
		pthread_mutex_lock(&session->lock);
		/* /proc does not show which thread created a thread, so state the main thread, as
		 * perf does. */
		jp_synthesize_fork(session->recorder, pid, tid == pid ? ppid : pid, tid,
				   tid == pid ? ppid : pid, session->began);
		jp_synthesize_comm(session->recorder, pid, tid, name, false, 0);
		pthread_mutex_unlock(&session->lock);
	}
	if (ret && ret != -ESRCH)
		return jp_fail(err, -ret, "/proc/%d/task: %s", pid, strerror(-ret));
	return 0;
}

int jp_snapshot_write_empty(const char *dir, struct jp_error *err)
{
	jp_cleanup_fclose FILE *file = NULL;
	char path[4096];
	int ret = jp_path_build(path, sizeof(path), err, "%s/maps", dir);

	if (ret)
		return ret;
	file = jp_file_create(path, true, err);
	return file ? 0 : -EIO;
}

int jp_snapshot_take(struct jp_session *session, struct jp_error *err)
{
	jp_cleanup_tids struct jp_tids pids = {0};
	struct jp_error ignored;
	bool within_done = false;
	int ret = 0;

	if (!session->options.system_wide)
		return write_threads(session, session->target->pid, err)
			       ?: snapshot_process(session, session->target->pid, &within_done,
						   err);
	ret = jp_tids_list("/proc", &pids);
	if (ret)
		return jp_fail(err, -ret, "/proc: %s", strerror(-ret));
	for (size_t i = 0; i < pids.count; i++) {
		write_threads(session, pids.tids[i], &ignored);
		/* Skip a process that has ended or is unreadable. */
		if (snapshot_process(session, pids.tids[i], &within_done, &ignored) == -ENOMEM)
			ret = jp_fail(err, ENOMEM, "out of memory for the snapshot");
	}
	return ret;
}

/* Judging assigns the causes "snapshot" and "pathless" only to mappings that it finds in DIR/maps
 * and that the option --synth made the capture leave out of perf.data. */
static const struct jp_excuse excuses[] = {
	{"synth.none", "--synth=none",
	 "coverage.missing coverage.late mappings.missing files.missing files.credited broken.* "
	 "wrong.*",
	 "snapshot", NULL, "the policy records no mapping that is older than the capture"},
	{"synth.none.samples", "--synth=none", "names.unnamed", "no-mapping", "coverage.unmapped",
	 "the policy records no mapping that is older than the capture"},
	{"synth.none.loads", "--synth=none", "load.unnamed", "no-mapping not-injected", NULL,
	 "the policy records no mapping that is older than the capture"},
	{"synth.none.injected", "--synth=none !launch inject=*",
	 "load.unnamed names.unnamed order.hidden",
	 "hidden coalesced reprotected remapped no-map not-published not-injected", NULL,
	 "the policy records no jitdump mapping that is older than the capture"},
	{"synth.paths", "--synth=paths",
	 "coverage.missing coverage.late mappings.missing broken.* wrong.*", "pathless", NULL,
	 "the policy skips mappings without a path"},
	{"synth.paths.samples", "--synth=paths", "names.unnamed", "no-mapping", "coverage.unmapped",
	 "the policy skips mappings without a path"},
	{"synth.paths.loads", "--synth=paths", "load.unnamed", "no-mapping", NULL,
	 "the policy skips mappings without a path"},
};
JP_REGISTER_ROWS(excuse, excuses);
