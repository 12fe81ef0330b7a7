// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/write.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/lost_page.h"
#include "harness/base/trusted_path.h"
#include "harness/base/own_machine.h"

static struct jp_truth_header *header;
static struct jp_truth_record *slots;
/* Cached, since getpid() is a system call; reset in forked children. */
static __thread uint32_t own_pid, own_tid;
static int outer_proc = -1;

_Static_assert(sizeof(_Atomic uint64_t) == 8 && ATOMIC_LONG_LOCK_FREE == 2,
	       "the counters are shared between processes");

void jp_truth_new_task(void)
{
	own_pid = 0;
	own_tid = 0;
}

uint32_t jp_truth_id(void)
{
	return header ? __atomic_fetch_add(&header->next_id, 1, __ATOMIC_RELAXED) : 0;
}

/* Reads the caller's pid and tid from /proc/thread-self, a link to "PID/task/TID" in the pid
 * namespace of the /proc mount @proc (proc_thread_self_get_link(), fs/proc/thread_self.c). Returns
 * 0 or -errno. */
static int read_outer_ids(int proc, uint32_t *pid, uint32_t *tid)
{
	char text[64];
	ssize_t length = readlinkat(proc, "thread-self", text, sizeof(text) - 1);

	if (length < 0)
		return -errno;
	text[length] = '\0';
	return sscanf(text, "%" SCNu32 "/task/%" SCNu32, pid, tid) == 2 && *pid && *tid ? 0
											: -ESRCH;
}

int jp_truth_set_outer_proc(int proc)
{
	uint32_t pid, tid;
	int ret = read_outer_ids(proc, &pid, &tid);

	if (ret)
		return ret;
	outer_proc = proc;
	jp_truth_new_task();
	return 0;
}

int jp_truth_get_outer_proc(void)
{
	return outer_proc;
}

int64_t jp_truth_find_outer_pid(int pidfd, pid_t pid)
{
	char path[64], line[128];
	int64_t outer_pid = -ESRCH;
	FILE *file;
	int fd;

	if (outer_proc < 0)
		return pid;
	snprintf(path, sizeof(path), "self/fdinfo/%d", pidfd);
	fd = openat(outer_proc, path, O_RDONLY | O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		outer_pid = -errno;
		if (fd >= 0)
			close(fd);
		return outer_pid;
	}
	/* "Pid:" is in the pid namespace of this /proc; 0 or -1: reaped, or not in that
	 * namespace. */
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "Pid:", 4) && strtol(line + 4, NULL, 10) > 0)
			outer_pid = strtol(line + 4, NULL, 10);
	fclose(file);
	return outer_pid;
}

struct jp_truth_task_ids jp_truth_get_own_ids(void)
{
	if (!own_tid && (outer_proc < 0 || read_outer_ids(outer_proc, &own_pid, &own_tid))) {
		own_pid = getpid();
		own_tid = syscall(SYS_gettid);
	}
	return (struct jp_truth_task_ids){own_pid, own_tid};
}

void jp_truth_commit(uint64_t slot, struct jp_truth_record *record)
{
	struct jp_truth_record *slot_record = slots + slot;

	if (!header || slot >= header->capacity)
		return; /* next_slot counts the lost records */
	if (!record->pid) {
		struct jp_truth_task_ids self = jp_truth_get_own_ids();

		record->pid = self.pid;
		record->tid = self.tid;
	}
	memcpy((char *)slot_record + sizeof(slot_record->seal),
	       (char *)record + sizeof(record->seal), sizeof(*record) - sizeof(record->seal));
	__atomic_store_n(&slot_record->seal, jp_truth_seal(record), __ATOMIC_RELEASE);
}

uint64_t jp_truth_reserve(uint64_t count)
{
	return header ? __atomic_fetch_add(&header->next_slot, count, __ATOMIC_RELAXED) : 0;
}

void jp_truth_append(struct jp_truth_record *record)
{
	jp_truth_commit(jp_truth_reserve(1), record);
}

/* Maps @size bytes of @fd, and reports a full disk, as the file is sparse. @path must live as long
 * as the mapping. */
static int map_shared(int fd, const char *path, uint64_t size, void **map, struct jp_error *err)
{
	const struct jp_lost_page lost = {.name = path,
					  .trouble = "the disk has no space for a record"};
	int failed;

	*map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*map == MAP_FAILED)
		return jp_fail(err, errno, "%s: mmap: %s", path, strerror(errno));
	failed = jp_lost_page_watch(*map, size, &lost);
	if (!failed)
		return 0;
	munmap(*map, size);
	return jp_fail(err, -failed, "%s: %s", path, strerror(-failed));
}

static int create_file(int fd, const char *path, uint64_t count, struct jp_error *err)
{
	struct jp_truth_header *fresh;
	size_t size = JP_TRUTH_PAGE + count * sizeof(struct jp_truth_record);
	void *map;
	int ret;

	if (count > (INT64_MAX - JP_TRUTH_PAGE) / sizeof(struct jp_truth_record) ||
	    ftruncate(fd, size) < 0)
		return jp_fail(err, errno ? errno : EFBIG,
			       "%s: cannot reserve space for %llu records: %s", path,
			       (unsigned long long)count, strerror(errno));
	ret = map_shared(fd, path, JP_TRUTH_PAGE, &map, err);
	if (ret)
		return ret;
	fresh = map;
	fresh->version = JP_TRUTH_VERSION;
	fresh->record_size = sizeof(struct jp_truth_record);
	fresh->capacity = count;
	fresh->e_machine = jp_get_own_machine();
	fresh->clockid = CLOCK_MONOTONIC;
	fresh->next_slot = 0;
	fresh->next_id = 1; /* 0 means "no id" */
	atomic_thread_fence(memory_order_release);
	memcpy(fresh->magic, JP_TRUTH_MAGIC, sizeof(fresh->magic));
	munmap(fresh, jp_lost_page_end(fresh));
	return 0;
}

/* Maps the file if its header is complete and matches its size. */
static int attach_file(int fd, const char *path, struct jp_error *err)
{
	struct jp_truth_header found;
	struct stat st;
	ssize_t nr_read = pread(fd, &found, sizeof(found), 0);
	void *map;
	int ret;

	if (fstat(fd, &st) < 0 || nr_read < 0)
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || nr_read != sizeof(found) ||
	    memcmp(found.magic, JP_TRUTH_MAGIC, sizeof(found.magic)) ||
	    found.version != JP_TRUTH_VERSION ||
	    found.record_size != sizeof(struct jp_truth_record) ||
	    found.e_machine != jp_get_own_machine() ||
	    found.capacity > (uint64_t)st.st_size / sizeof(struct jp_truth_record) ||
	    JP_TRUTH_PAGE + found.capacity * sizeof(struct jp_truth_record) != (uint64_t)st.st_size)
		return jp_fail(err, EINVAL,
			       "%s: offset 0: not the truth of an earlier image of this process "
			       "(expected %s version %d of this machine, not truncated)",
			       path, JP_TRUTH_MAGIC, JP_TRUTH_VERSION);
	ret = map_shared(fd, path, st.st_size, &map, err);
	if (ret)
		return ret;
	header = map;
	slots = (struct jp_truth_record *)((char *)map + JP_TRUTH_PAGE);
	return 0;
}

/* Opens @path without following another user's symbolic link. Returns a descriptor or -errno. */
static int open_truth(const char *path, int flags)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	jp_cleanup_close int folder = jp_open_named_folder(path, (size_t)(name - path));
	int fd = folder < 0 ? folder : openat(folder, name, flags, 0644);

	return fd == -1 ? -errno : fd;
}

int jp_truth_open(const char *path, uint64_t count, struct jp_error *err)
{
	static int watching_forks;
	static char *name; /* name of the file while it is mapped */
	int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | (count ? O_CREAT | O_EXCL : 0);
	int fd, ret = 0;

	if (header)
		return jp_fail(err, EALREADY, "%s: this process has opened its truth already",
			       path);
	fd = open_truth(path, flags);
	if (fd < 0)
		return jp_fail(err, -fd, "%s: %s%s", path, strerror(-fd),
			       fd == -EEXIST ? ": a workload does not append to the truth of "
					       "another run"
					     : "");
	free(name);
	name = strdup(path);
	errno = 0;
	if (!name)
		ret = jp_fail(err, ENOMEM, "%s: out of memory", path);
	if (!ret && count)
		ret = create_file(fd, name, count, err);
	if (!ret)
		ret = attach_file(fd, name, err);
	close(fd);
	if (!ret && !watching_forks) {
		pthread_atfork(NULL, NULL, jp_truth_new_task);
		watching_forks = 1;
	}
	return ret;
}

void jp_truth_trim(const char *path)
{
	jp_cleanup_close int fd = open_truth(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct jp_truth_header file_header;

	if (fd < 0 || pread(fd, &file_header, sizeof(file_header), 0) != sizeof(file_header) ||
	    memcmp(file_header.magic, JP_TRUTH_MAGIC, sizeof(file_header.magic)) ||
	    file_header.record_size != sizeof(struct jp_truth_record) ||
	    file_header.next_slot >= file_header.capacity || file_header.capacity > UINT32_MAX)
		return;
	/* Ignore an error: unused slots do no harm. */
	if (ftruncate(fd, (off_t)(JP_TRUTH_PAGE + file_header.next_slot * file_header.record_size)))
		return;
}
