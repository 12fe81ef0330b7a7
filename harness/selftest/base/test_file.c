// SPDX-License-Identifier: GPL-2.0-only
/* Whole files in and out, and variables that clean up after themselves. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "harness/selftest/support/scratch.h"

enum { SIZE = 300000 };

static const char *path;
static char bytes[SIZE];

static void make(const char *text, size_t size)
{
	if (!scratch_write(path, text, size))
		abort();
}

typedef char *(*reader)(const char *path, size_t limit, size_t *size, struct jp_error *err);

/* What both readers of a path have to do. */
static void whole(reader read_it, const char *how)
{
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 8192, SIZE};
	struct jp_error err = {""};
	bool good = true, exact = true, refused = true;
	size_t size = 0;
	char *text;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		make(bytes, sizes[i]);
		text = read_it(path, SIZE, &size, &err);
		good &= text && size == sizes[i] && !memcmp(text, bytes, size) && !text[size];
		free(text);
		text = read_it(path, sizes[i], NULL, &err);
		exact &= text != NULL;
		free(text);
		if (!sizes[i])
			continue;
		errno = 0;
		text = read_it(path, sizes[i] - 1, &size, &err);
		refused &= !text && errno == EFBIG && strstr(err.text, path) &&
			   strstr(err.text, ": more than ");
		free(text);
	}
	check(good, "%s: files of several sizes, and a NUL behind them", how);
	check(exact, "%s: as large as the limit", how);
	check(refused, "%s: one byte larger: '%s'", how, err.text);
	errno = 0;
	text = read_it("/nowhere/file", SIZE, &size, &err);
	check(!text && errno == ENOENT &&
		      !strcmp(err.text, "/nowhere/file: No such file or directory"),
	      "%s: no file: '%s'", how, err.text);
	errno = 0;
	text = read_it(scratch, SIZE, &size, NULL);
	check(!text && errno, "%s: a folder is none", how);
}

static void kinds(void)
{
	static const char sys[] = "/sys/devices/system/cpu/online"; /* of a page, it says */
	const char *link = scratch_path("link");
	size_t size;
	char *text;
	int fds[2];

	text = jp_file_read("/proc/self/maps", SIZE, &size, NULL);
	check(text && size > 100 && strlen(text) == size, "a file of /proc, which has no size");
	free(text);
	make("12345", 5);
	if (symlink(path, link))
		abort();
	text = jp_file_read(link, SIZE, &size, NULL);
	check(text && size == 5, "through a link");
	free(text);
	check(!jp_file_read_regular(link, SIZE, &size, NULL) && errno == ELOOP,
	      "not through a link where a regular file is asked for");
	unlink(link);
	if (mkfifo(link, 0600))
		abort();
	check(!jp_file_read_regular(link, SIZE, &size, NULL) && errno == EINVAL,
	      "a FIFO is not waited for");
	unlink(link);
	text = jp_file_read(sys, SIZE, &size, NULL);
	check(!text || (!jp_file_read_regular(sys, SIZE, &size, NULL) && errno == EINVAL),
	      "a file of the kernel's is none on a disk");
	free(text);
	check(!jp_file_read_regular("/proc/version", SIZE, &size, NULL) && errno == EINVAL,
	      "nor is one of /proc");
	if (pipe(fds) || jp_file_write(fds[1], "of a pipe", 9))
		abort();
	close(fds[1]);
	text = jp_file_read_fd(fds[0], "pipe", SIZE, &size, NULL);
	check(text && size == 9 && !strcmp(text, "of a pipe"), "a pipe to its end");
	free(text);
	close(fds[0]);
}

static void small(void)
{
	char text[8] = "before";

	make("-17\n", 4);
	check(jp_file_text(path, text, sizeof(text)) == 4 && !strcmp(text, "-17\n"), "a text");
	check(jp_file_number(path, 5) == -17, "a number, which may be negative");
	check(jp_file_text(path, text, 3) == 2 && !strcmp(text, "-1"), "as much as there is room");
	make("none", 4);
	check(jp_file_number(path, 5) == 5, "no number");
	check(jp_file_text("/nowhere/file", text, sizeof(text)) == -ENOENT && !text[0] &&
		      jp_file_number("/nowhere/file", -100) == -100,
	      "no file");
}

static void at(void)
{
	struct jp_error err = {""};
	char text[6] = "";
	int fd;

	make("0123456789", 10);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(!jp_file_read_at(fd, "name", text, 4, 6, &err) && !strcmp(text, "6789"),
	      "just the bytes that are asked for");
	check(jp_file_read_at(fd, "name", text, 4, 7, &err) == -ENODATA &&
		      !strcmp(err.text,
			      "name: offset 10: the file ends here, expected 1 bytes more"),
	      "a file that ends early: '%s'", err.text);
	check(!jp_file_read_at(fd, "name", text, 0, 99, &err), "no bytes are anywhere");
	close(fd);
	check(jp_file_read_at(-1, "name", text, 4, 0, &err) == -EBADF &&
		      !strcmp(err.text, "name: offset 0: Bad file descriptor"),
	      "no descriptor: '%s'", err.text);
	check(jp_file_write(-1, text, 1) == -EBADF, "nor to write to");
}

static unsigned int signals;

static void on_signal(int number)
{
	__atomic_fetch_add(&signals, 1, __ATOMIC_SEQ_CST);
}

/* @thread is in a system call by the second time, if it is to wait there. */
static void interrupt(pthread_t thread)
{
	unsigned int before = __atomic_load_n(&signals, __ATOMIC_SEQ_CST);

	while (__atomic_load_n(&signals, __ATOMIC_SEQ_CST) - before < 3) {
		pthread_kill(thread, SIGUSR1);
		sched_yield();
	}
}

struct pump {
	int fd;
	pthread_t other;
	char got[SIZE];
	bool good;
};

/* Reads when the writer was interrupted: the pipe is full by then. */
static void *drain(void *context)
{
	struct pump *pump = context;
	size_t done = 0;
	ssize_t some = 1;

	while (done < SIZE && some > 0) {
		interrupt(pump->other);
		some = read(pump->fd, pump->got + done, 20000);
		if (some > 0)
			done += (size_t)some;
	}
	pump->good = done == SIZE && !memcmp(pump->got, bytes, SIZE);
	return NULL;
}

/* Writes when the reader was interrupted: the pipe is empty till then. */
static void *fill(void *context)
{
	struct pump *pump = context;

	interrupt(pump->other);
	pump->good = !jp_file_write(pump->fd, "late", 4);
	close(pump->fd);
	return NULL;
}

/* Into a pipe that holds less than all of it, interrupted: short writes and EINTR. */
static void interrupted(void)
{
	static struct pump pump;
	const struct sigaction action = {.sa_handler = on_signal};
	pthread_t other;
	int fds[2], ret;
	char *text;

	if (sigaction(SIGUSR1, &action, NULL) || pipe(fds))
		abort();
	pump.fd = fds[0];
	pump.other = pthread_self();
	if (pthread_create(&other, NULL, drain, &pump))
		abort();
	ret = jp_file_write(fds[1], bytes, SIZE);
	pthread_join(other, NULL);
	check(!ret && pump.good, "all is written, however often it is interrupted");
	close(fds[0]);
	close(fds[1]);
	if (pipe(fds))
		abort();
	pump.fd = fds[1];
	if (pthread_create(&other, NULL, fill, &pump))
		abort();
	text = jp_file_read_fd(fds[0], "pipe", SIZE, NULL, NULL);
	pthread_join(other, NULL);
	check(pump.good && text && !strcmp(text, "late"), "and all is read");
	free(text);
	close(fds[0]);
}

static void copy(void)
{
	const char *other = scratch_path("copy");
	size_t size;
	char *text;
	int from, to;

	make(bytes, SIZE);
	from = open(path, O_RDONLY | O_CLOEXEC);
	to = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	check(!jp_file_copy(from, to, 100000) && lseek(from, 0, SEEK_CUR) == 100000 &&
		      lseek(to, 0, SEEK_CUR) == 100000,
	      "so many bytes, and no more");
	check(!jp_file_copy(from, to, UINT64_MAX), "and the rest");
	text = jp_file_read(other, SIZE, &size, NULL);
	check(text && size == SIZE && !memcmp(text, bytes, SIZE), "are the file");
	free(text);
	check(jp_file_copy(from, to, 1) == -ENODATA, "more there is not");
	check(jp_file_copy(from, -1, 0) == 0 && lseek(from, 0, SEEK_SET) == 0 &&
		      jp_file_copy(from, -1, 1) == -EBADF && jp_file_copy(-1, to, 1) == -EBADF,
	      "a side that fails says so");
	close(from);
	close(to);
}

/* The fd, the folder, and the file that were open while it ran; text is stolen where @keep. */
static char *clean(bool keep, int *fd, int *folder_fd, int *file_fd)
{
	jp_cleanup_free char *text = strdup("text");
	jp_cleanup_close int none = -1, own = open("/dev/null", O_RDONLY | O_CLOEXEC);
	jp_cleanup_closedir DIR *dir = opendir("/"), *no_dir = NULL;
	jp_cleanup_fclose FILE *file = fopen("/dev/null", "re"), *no_file = NULL;

	*fd = own;
	*folder_fd = dirfd(dir);
	*file_fd = fileno(file);
	errno = none == -1 && !no_dir && !no_file ? EXDEV : 0;
	return keep ? jp_steal(&text) : NULL;
}

static bool is_closed(int fd)
{
	return fd >= 0 && fcntl(fd, F_GETFD) < 0;
}

static void cleanups(void)
{
	int fd, folder_fd, file_fd, error;
	char *text = clean(true, &fd, &folder_fd, &file_fd);

	error = errno;
	check(error == EXDEV && is_closed(fd) && is_closed(folder_fd) && is_closed(file_fd),
	      "all is closed, and errno stays");
	check(text && !strcmp(text, "text"), "what was stolen stays");
	free(text);
	check(!clean(false, &fd, &folder_fd, &file_fd), "what was not is freed (ASan looks)");
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	folder_fd = jp_steal_fd(&fd);
	check(fd == -1 && !is_closed(folder_fd), "a stolen descriptor is open");
	close(folder_fd);
}

int main(void)
{
	path = scratch_make("file");
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (char)(i * 7 + i / 251);
	whole(jp_file_read, "any");
	whole(jp_file_read_regular, "regular");
	kinds();
	small();
	at();
	interrupted();
	copy();
	cleanups();
	return check_done();
}
