// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's first process, linked statically: mounts the usual file systems, executes /job,
 * copies /out to the memory that the VM shares with its host, and reboots.
 *
 * Each line of /job consists of words separated by blanks:
 *	write PATH VALUE         writes a setting; this kernel may not have it
 *	run NAME COMMAND ARG...  runs a command; its output goes to /out/NAME and the console
 *
 * The host follows the messages on the console, which begin with MARK.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/reboot.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define MARK      "jitproof-vm: "
#define MAX_WORDS 4096

/* The PCI ids of QEMU's ivshmem-plain. No driver binds to it; its resource2 is the memory. */
#define OUTPUT_VENDOR "0x1af4"
#define OUTPUT_DEVICE "0x1110"

/* The start of the memory's first page, written last. ci/matrix/vm/bundle.py reads it. */
struct head {
	char magic[8];
	uint64_t bytes; /* size of all records, which start at the second page */
	uint32_t adler, records;
};

/* Precedes the path of a file (kind 'f') or folder ('d'), and each piece of a file ('p'). */
struct record {
	uint32_t kind, length; /* @length: bytes of the path or of the piece */
	uint64_t value;        /* size of a file; offset of a piece in its file */
};

struct output {
	uint8_t *memory;
	size_t size, used;
	uint32_t records;
	bool is_full;
	int unread; /* number of files that could not be read */
};

static int console = -1;

/* Prints a message to the host. */
__attribute__((format(printf, 1, 2))) static void print_message(const char *fmt, ...)
{
	char text[1024];
	size_t length;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	length = strlen(text);
	text[length] = '\n';
	/* In a single write: kernel messages must not separate the text from MARK. */
	dprintf(console, "\n" MARK "%.*s", (int)length + 1, text);
}

static void mount_all(void)
{
	static const struct {
		const char *type, *mount_point, *options;
	} systems[] = {
		{"devtmpfs", "/dev", NULL},
		{"proc", "/proc", NULL},
		{"sysfs", "/sys", NULL},
		{"tmpfs", "/dev/shm", "mode=1777"},
		{"devpts", "/dev/pts", NULL},
		{"tmpfs", "/tmp", "mode=1777,size=90%"},
		{"tmpfs", "/out", "mode=755,size=90%"},
		{"tmpfs", "/run", "mode=755"},
		{"tracefs", "/sys/kernel/tracing", NULL},
		{"debugfs", "/sys/kernel/debug", NULL},
	};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		mkdir(systems[i].mount_point, 0755);
		if (mount(systems[i].type, systems[i].mount_point, systems[i].type, 0,
			  systems[i].options))
			print_message("mount %s: %s", systems[i].mount_point, strerror(errno));
	}
}

static void write_setting(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		print_message("write %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* Copies the pipe @input to /out/@name and to the console until all writers have closed it. */
static void copy_text(int input, const char *name)
{
	char path[256], text[4096];
	ssize_t nr_read;
	int file;

	snprintf(path, sizeof(path), "/out/%s", name);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	while ((nr_read = read(input, text, sizeof(text))) > 0 || (nr_read < 0 && errno == EINTR)) {
		if (nr_read < 0)
			continue;
		if (file < 0 || write(file, text, (size_t)nr_read) != nr_read)
			print_message("%s: %s", path, strerror(errno));
		if (write(console, text, (size_t)nr_read) != nr_read)
			continue; /* the file has the text */
	}
	if (file >= 0)
		close(file);
}

/* Runs a command, reaps all orphans until it ends, and returns its exit status. */
static int run_command(const char *name, char **argv)
{
	int ends[2], status = 0, null;
	pid_t pid, ended;

	if (pipe2(ends, O_CLOEXEC)) {
		print_message("pipe: %s", strerror(errno));
		return 99;
	}
	pid = fork();
	if (pid == 0) {
		null = open("/dev/null", O_RDONLY);
		dup2(null, 0);
		dup2(ends[1], 1);
		dup2(ends[1], 2);
		setsid();
		execv(argv[0], argv);
		dprintf(2, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	close(ends[1]);
	if (pid > 0)
		copy_text(ends[0], name);
	close(ends[0]);
	do
		ended = wait(&status);
	while (ended != pid && (ended > 0 || errno == EINTR));
	if (ended != pid)
		return 99;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Splits @line into words, at blanks. Returns their number, or -1 if there are too many. */
static int split_line(char *line, char **words)
{
	char *save, *word;
	int count = 0;

	for (word = strtok_r(line, " \n", &save); word && count < MAX_WORDS - 1;
	     word = strtok_r(NULL, " \n", &save))
		words[count++] = word;
	words[count] = NULL;
	return word ? -1 : count;
}

/* Executes /job. Returns the last exit status that was not 0, or 0. */
static int run_job(void)
{
	FILE *job = fopen("/job", "re");
	static char *words[MAX_WORDS];
	char *line = NULL;
	size_t size = 0;
	int exit_status = job ? 0 : 99;

	if (!job)
		print_message("/job: %s", strerror(errno));
	while (job && getline(&line, &size, job) > 0) {
		int count = split_line(line, words), status;

		if (count == 3 && strcmp(words[0], "write") == 0) {
			write_setting(words[1], words[2]);
		} else if (count >= 3 && strcmp(words[0], "run") == 0) {
			struct timespec now;

			print_message("run %s", words[1]);
			status = run_command(words[1], words + 2);
			clock_gettime(CLOCK_MONOTONIC, &now);
			print_message("ran %s %d at %lld.%09ld", words[1], status,
				      (long long)now.tv_sec, now.tv_nsec);
			if (status)
				exit_status = status;
		} else if (count) {
			print_message("/job: unknown line '%s' of %d words", words[0], count);
			exit_status = 99;
		}
	}
	free(line);
	if (job)
		fclose(job);
	return exit_status;
}

/* Copies the records of the kernel's log, "PRIORITY,NUMBER,MICROSECONDS,-;TEXT", to /out/kmsg. */
static void copy_kernel_log(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int file = open("/out/kmsg", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	char record[8192];
	ssize_t nr_read;

	if (log < 0 || file < 0) {
		print_message("kmsg: %s", strerror(errno));
		return;
	}
	for (;;) {
		nr_read = read(log, record, sizeof(record));
		if (nr_read < 0 &&
		    errno ==
			    EPIPE) /* the kernel overwrote messages; the sequence numbers show it */
			continue;
		if (nr_read <= 0)
			break;
		if (write(file, record, (size_t)nr_read) != nr_read)
			print_message("/out/kmsg: %s", strerror(errno));
	}
	close(log);
	close(file);
}

static bool file_starts_with(const char *folder, const char *name, const char *prefix)
{
	char path[512], text[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Enables the shared memory device and maps its memory. */
static bool map_output(struct output *output)
{
	static const char devices[] = "/sys/bus/pci/devices";
	DIR *dir = opendir(devices);
	struct dirent *entry;
	struct stat status;
	int fd = -1;

	while (dir && fd < 0 && (entry = readdir(dir))) {
		char folder[300], path[320];

		snprintf(folder, sizeof(folder), "%s/%s", devices, entry->d_name);
		if (!file_starts_with(folder, "vendor", OUTPUT_VENDOR) ||
		    !file_starts_with(folder, "device", OUTPUT_DEVICE))
			continue;
		snprintf(path, sizeof(path), "%s/enable", folder);
		write_setting(path, "1");
		/* arm64 maps the memory as normal memory only for write-combining; otherwise
		 * copies to it fault. riscv64 neither has nor needs this mapping. */
		snprintf(path, sizeof(path), "%s/resource2_wc", folder);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0) {
			path[strlen(path) - strlen("_wc")] = '\0';
			fd = open(path, O_RDWR | O_CLOEXEC);
		}
	}
	if (dir)
		closedir(dir);
	if (fd < 0 || fstat(fd, &status)) {
		print_message("the guest has no output memory: %s", strerror(errno));
		return false;
	}
	output->size = (size_t)status.st_size;
	output->memory = mmap(NULL, output->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (output->memory == MAP_FAILED) {
		print_message("output memory: %s", strerror(errno));
		return false;
	}
	output->used = 4096;
	return true;
}

static void put_bytes(struct output *output, const void *data, size_t size)
{
	if (output->is_full || size > output->size - output->used) {
		output->is_full = true;
		return;
	}
	memcpy(output->memory + output->used, data, size);
	output->used += size;
}

static void put_record(struct output *output, char kind, const void *data, size_t length,
		       uint64_t value)
{
	struct record record = {(uint32_t)kind, (uint32_t)length, value};

	put_bytes(output, &record, sizeof(record));
	put_bytes(output, data, length);
	output->records++;
}

/* Writes the data of a file without its holes: truth files consist mostly of holes. */
static void put_pieces(struct output *output, int fd, off_t size)
{
	static char buffer[1 << 20];
	off_t offset = 0, end;

	while (offset < size && (offset = lseek(fd, offset, SEEK_DATA)) >= 0) {
		end = lseek(fd, offset, SEEK_HOLE);
		while (offset < end) {
			size_t nr_wanted = end - offset < (off_t)sizeof(buffer)
						   ? (size_t)(end - offset)
						   : sizeof(buffer);
			ssize_t nr_read = pread(fd, buffer, nr_wanted, offset);

			if (nr_read <= 0) {
				output->unread++;
				return;
			}
			put_record(output, 'p', buffer, (size_t)nr_read, (uint64_t)offset);
			offset += nr_read;
		}
	}
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Writes the folders and regular files below @path. Judging reads no other kinds of files. */
static void put_tree(struct output *output, const char *path)
{
	struct dirent **names;
	int count = scandir(path, &names, NULL, compare_names);

	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;
		struct stat status;
		char prefix[4096];
		bool is_known = strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
				(size_t)snprintf(prefix, sizeof(prefix), "%s/%s", path, name) <
					sizeof(prefix) &&
				lstat(prefix, &status) == 0;

		if (is_known && S_ISDIR(status.st_mode)) {
			put_record(output, 'd', prefix, strlen(prefix), 0);
			put_tree(output, prefix);
		} else if (is_known && S_ISREG(status.st_mode)) {
			int fd = open(prefix, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

			put_record(output, 'f', prefix, strlen(prefix), (uint64_t)status.st_size);
			if (fd >= 0)
				put_pieces(output, fd, status.st_size);
			else
				output->unread++;
			close(fd);
		}
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

static uint32_t adler32(const uint8_t *data, size_t size)
{
	uint32_t a = 1, b = 0;

	while (size) {
		size_t part = size < 5552 ? size : 5552; /* most bytes without overflow (zlib) */

		size -= part;
		for (; part; part--) {
			a += *data++;
			b += a;
		}
		a %= 65521;
		b %= 65521;
	}
	return b << 16 | a;
}

static bool write_output(void)
{
	struct output output = {0};
	struct head head = {{0}, 0, 0, 0};

	if (!map_output(&output))
		return false;
	put_tree(&output, "/out");
	if (output.is_full) {
		print_message("the guest's output memory of %zu bytes is too small", output.size);
		return false;
	}
	if (output.unread) {
		print_message("%d files could not be read", output.unread);
		return false;
	}
	head.bytes = output.used - 4096;
	head.adler = adler32(output.memory + 4096, head.bytes);
	head.records = output.records;
	memcpy(head.magic, "JPBUNDLE", 8);
	memcpy(output.memory, &head, sizeof(head));
	return true;
}

int main(void)
{
	int status;

	console = open("/dev/console", O_RDWR | O_CLOEXEC | O_NOCTTY);
	umask(022);
	mount_all();
	setenv("PATH", "/bin", 1);
	setenv("TMPDIR", "/tmp", 1);
	setenv("HOME", "/root", 1);
	print_message("ready");
	status = run_job();
	copy_kernel_log();
	print_message(write_output() ? "left %d" : "lost %d", status);
	tcdrain(console); /* the reboot would discard pending output */
	reboot(LINUX_REBOOT_CMD_RESTART);
	return 1;
}
