// SPDX-License-Identifier: GPL-2.0-only
/* Reading and writing whole files, and the cleanup attributes. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "harness/selftest/support/scratch.h"

enum { SIZE = 300000 };

static const char *path;
static char bytes[SIZE];

static void write_test_file(const char *text, size_t size)
{
	if (!scratch_write(path, text, size))
		abort();
}

typedef char *(*reader)(const char *path, size_t limit, size_t *size, struct jp_error *err);

static void test_reader(reader read_it, const char *open_method)
{
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 8192, SIZE};
	struct jp_error err = {""};
	bool passed = true, is_exact = true, is_refused = true;
	size_t size = 0;
	char *text;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		write_test_file(bytes, sizes[i]);
		text = read_it(path, SIZE, &size, &err);
		passed &= text && size == sizes[i] && !memcmp(text, bytes, size) && !text[size];
		free(text);
		text = read_it(path, sizes[i], NULL, &err);
		is_exact &= text != NULL;
		free(text);
		if (!sizes[i])
			continue;
		errno = 0;
		text = read_it(path, sizes[i] - 1, &size, &err);
		is_refused &= !text && errno == EFBIG && strstr(err.text, path) &&
			      strstr(err.text, ": more than ");
		free(text);
	}
	check(passed, "%s: files of several sizes are read and get a NUL", open_method);
	check(is_exact, "%s: a file as large as the limit is read", open_method);
	check(is_refused, "%s: a file one byte larger than the limit is refused: '%s'", open_method,
	      err.text);
	errno = 0;
	text = read_it("/nowhere/file", SIZE, &size, &err);
	check(!text && errno == ENOENT &&
		      !strcmp(err.text, "/nowhere/file: No such file or directory"),
	      "%s: a missing file is an error: '%s'", open_method, err.text);
	errno = 0;
	text = read_it(scratch_folder(), SIZE, &size, NULL);
	check(!text && errno, "%s: a folder is an error", open_method);
}

static void test_kinds_of_files(void)
{
	/* stat() returns the size of a page for this short file. */
	static const char sys[] = "/sys/devices/system/cpu/online";
	const char *link = scratch_path("link");
	size_t size;
	char *text;
	int fds[2];

	text = jp_file_read("/proc/self/maps", SIZE, &size, NULL);
	check(text && size > 100 && strlen(text) == size,
	      "a file of /proc, whose size is 0, is read to its end");
	free(text);
	write_test_file("12345", 5);
	if (symlink(path, link))
		abort();
	text = jp_file_read(link, SIZE, &size, NULL);
	check(text && size == 5, "a symbolic link is followed");
	free(text);
	check(!jp_file_read_regular(link, SIZE, &size, NULL) && errno == ELOOP,
	      "a symbolic link is refused if a regular file is required");
	unlink(link);
	if (mkfifo(link, 0600))
		abort();
	check(!jp_file_read_regular(link, SIZE, &size, NULL) && errno == EINVAL,
	      "a FIFO is refused without waiting");
	unlink(link);
	text = jp_file_read(sys, SIZE, &size, NULL);
	check(!text || (!jp_file_read_regular(sys, SIZE, &size, NULL) && errno == EINVAL),
	      "a file of sysfs is not a regular file");
	free(text);
	check(!jp_file_read_regular("/proc/version", SIZE, &size, NULL) && errno == EINVAL,
	      "a file of /proc is not a regular file");
	if (pipe(fds) || jp_file_write(fds[1], "of a pipe", 9))
		abort();
	close(fds[1]);
	text = jp_file_read_fd(fds[0], "pipe", SIZE, &size, NULL);
	check(text && size == 9 && !strcmp(text, "of a pipe"), "a pipe is read to its end");
	free(text);
	close(fds[0]);
}

static void test_small_files(void)
{
	char text[8] = "before";

	write_test_file("-17\n", 4);
	check(jp_file_read_text(path, text, sizeof(text)) == 4 && !strcmp(text, "-17\n"),
	      "a text is read");
	check(jp_file_number(path, 5) == -17, "a negative number is read");
	check(jp_file_read_text(path, text, 3) == 2 && !strcmp(text, "-1"),
	      "a text is cut to size");
	write_test_file("none", 4);
	check(jp_file_number(path, 5) == 5, "the default replaces a file that is not a number");
	check(jp_file_read_text("/nowhere/file", text, sizeof(text)) == -ENOENT && !text[0] &&
		      jp_file_number("/nowhere/file", -100) == -100,
	      "the default replaces a missing file");
}

static void test_read_at(void)
{
	struct jp_error err = {""};
	char text[6] = "";
	int fd;

	write_test_file("0123456789", 10);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(!jp_file_read_at(fd, "name", text, 4, 6, &err) && !strcmp(text, "6789"),
	      "exactly the requested bytes are read");
	check(jp_file_read_at(fd, "name", text, 4, 7, &err) == -ENODATA &&
		      !strcmp(err.text,
			      "name: offset 10: the file ends here, expected 1 bytes more"),
	      "a file that ends early is an error: '%s'", err.text);
	check(!jp_file_read_at(fd, "name", text, 0, 99, &err), "0 bytes can be read at any offset");
	close(fd);
	check(jp_file_read_at(-1, "name", text, 4, 0, &err) == -EBADF &&
		      !strcmp(err.text, "name: offset 0: Bad file descriptor"),
	      "reading from a bad descriptor is an error: '%s'", err.text);
	check(jp_file_write(-1, text, 1) == -EBADF, "writing to a bad descriptor is an error");
}

static unsigned int signals;

static void handle_signal(int number)
{
	__atomic_fetch_add(&signals, 1, __ATOMIC_SEQ_CST);
}

/* Signals @thread three times; at the second signal the thread is blocked in its system call. */
static void interrupt_thread(pthread_t thread)
{
	unsigned int before = __atomic_load_n(&signals, __ATOMIC_SEQ_CST);

	while (__atomic_load_n(&signals, __ATOMIC_SEQ_CST) - before < 3) {
		pthread_kill(thread, SIGUSR1);
		sched_yield();
	}
}

struct pump {
	int fd;
	pthread_t reader;
	char bytes[SIZE];
	bool succeeded;
};

/* Reads after interrupting the writer, which waits at a full pipe. */
static void *drain_pipe(void *context)
{
	struct pump *pump = context;
	size_t nr_read = 0;
	ssize_t some = 1;

	while (nr_read < SIZE && some > 0) {
		interrupt_thread(pump->reader);
		some = read(pump->fd, pump->bytes + nr_read, 20000);
		if (some > 0)
			nr_read += (size_t)some;
	}
	pump->succeeded = nr_read == SIZE && !memcmp(pump->bytes, bytes, SIZE);
	return NULL;
}

/* Writes after interrupting the reader, which waits at an empty pipe. */
static void *fill_pipe(void *context)
{
	struct pump *pump = context;

	interrupt_thread(pump->reader);
	pump->succeeded = !jp_file_write(pump->fd, "late", 4);
	close(pump->fd);
	return NULL;
}

/* Signals interrupt a transfer of more than the pipe's capacity: short writes and EINTR. */
static void test_interruptions(void)
{
	static struct pump pump;
	const struct sigaction action = {.sa_handler = handle_signal};
	pthread_t drainer;
	int fds[2], ret;
	char *text;

	if (sigaction(SIGUSR1, &action, NULL) || pipe(fds))
		abort();
	pump.fd = fds[0];
	pump.reader = pthread_self();
	if (pthread_create(&drainer, NULL, drain_pipe, &pump))
		abort();
	ret = jp_file_write(fds[1], bytes, SIZE);
	pthread_join(drainer, NULL);
	check(!ret && pump.succeeded, "interrupted writes write all bytes");
	close(fds[0]);
	close(fds[1]);
	if (pipe(fds))
		abort();
	pump.fd = fds[1];
	if (pthread_create(&drainer, NULL, fill_pipe, &pump))
		abort();
	text = jp_file_read_fd(fds[0], "pipe", SIZE, NULL, NULL);
	pthread_join(drainer, NULL);
	check(pump.succeeded && text && !strcmp(text, "late"),
	      "an interrupted read reads all bytes");
	free(text);
	close(fds[0]);
}

static void test_copy(void)
{
	const char *copy_path = scratch_path("copy");
	size_t size;
	char *text;
	int from, output;

	write_test_file(bytes, SIZE);
	from = open(path, O_RDONLY | O_CLOEXEC);
	output = open(copy_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	check(!jp_file_copy(from, output, 100000) && lseek(from, 0, SEEK_CUR) == 100000 &&
		      lseek(output, 0, SEEK_CUR) == 100000,
	      "exactly the requested bytes are copied");
	check(!jp_file_copy(from, output, UINT64_MAX), "the rest is copied");
	text = jp_file_read(copy_path, SIZE, &size, NULL);
	check(text && size == SIZE && !memcmp(text, bytes, SIZE), "the copy equals the file");
	free(text);
	check(jp_file_copy(from, output, 1) == -ENODATA, "copying beyond the end is an error");
	check(jp_file_copy(from, -1, 0) == 0 && lseek(from, 0, SEEK_SET) == 0 &&
		      jp_file_copy(from, -1, 1) == -EBADF && jp_file_copy(-1, output, 1) == -EBADF,
	      "a bad descriptor on either side is an error");
	close(from);
	close(output);
}

/* Stores the descriptors of an open file, folder and stream, which are closed at return. Returns
 * the text if @keeps_file, else NULL. */
static char *open_and_clean_up(bool keeps_file, int *fd, int *folder_fd, int *file_fd)
{
	jp_cleanup_free char *text = strdup("text");
	jp_cleanup_close int no_fd = -1, own_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	jp_cleanup_closedir DIR *dir = opendir("/"), *no_dir = NULL;
	jp_cleanup_fclose FILE *file = fopen("/dev/null", "re"), *no_file = NULL;

	*fd = own_fd;
	*folder_fd = dirfd(dir);
	*file_fd = fileno(file);
	errno = no_fd == -1 && !no_dir && !no_file ? EXDEV : 0;
	return keeps_file ? jp_steal(&text) : NULL;
}

static bool is_closed(int fd)
{
	return fd >= 0 && fcntl(fd, F_GETFD) < 0;
}

static void test_cleanups(void)
{
	int fd, folder_fd, file_fd, error;
	char *text = open_and_clean_up(true, &fd, &folder_fd, &file_fd);

	error = errno;
	check(error == EXDEV && is_closed(fd) && is_closed(folder_fd) && is_closed(file_fd),
	      "cleanup closes all descriptors and keeps errno");
	check(text && !strcmp(text, "text"), "stolen memory is not freed");
	free(text);
	check(!open_and_clean_up(false, &fd, &folder_fd, &file_fd),
	      "memory that is not stolen is freed (ASan detects a leak)");
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	folder_fd = jp_steal_fd(&fd);
	check(fd == -1 && !is_closed(folder_fd), "a stolen descriptor stays open");
	close(folder_fd);
}

TEST(file)
{
	path = scratch_make("file");
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (char)(i * 7 + i / 251);
	test_reader(jp_file_read, "any");
	test_reader(jp_file_read_regular, "regular");
	test_kinds_of_files();
	test_small_files();
	test_read_at();
	test_interruptions();
	test_copy();
	test_cleanups();
}
