// SPDX-License-Identifier: GPL-2.0-only
#include "harness/repro/pack.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/path.h"
#include "harness/base/shortage.h"
#include "harness/base/untrusted_file.h"
#include "harness/repro/tar.h"

struct pack {
	const struct jp_repro *repro;
	struct jp_tar tar;
	char root[256]; /* name of the archive's only top folder, which contains all members */
	struct jp_error *err;
};

static int pack_folder(struct pack *pack, const char *name)
{
	char archive_path[1024];

	return jp_path_build(archive_path, sizeof(archive_path), pack->err, "%s/%s", pack->root,
			     name)
		       ?: jp_tar_folder(&pack->tar, archive_path, pack->err);
}

static int pack_text(struct pack *pack, const char *name, bool runs,
		     void (*write_text)(FILE *out, const struct jp_repro *repro))
{
	jp_cleanup_free char *text = NULL;
	char archive_path[512];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return jp_fail(pack->err, ENOMEM, "out of memory");
	write_text(out, pack->repro);
	if (jp_shortage_close(out, &text))
		return jp_fail(pack->err, ENOMEM, "out of memory");
	return jp_path_build(archive_path, sizeof(archive_path), pack->err, "%s/%s", pack->root,
			     name)
		       ?: jp_tar_file(&pack->tar, archive_path, runs, text, size, pack->err);
}

static int pack_copy(struct pack *pack, const char *folder, const char *name, bool runs,
		     const char *path)
{
	char archive_path[1024];

	return jp_path_build(archive_path, sizeof(archive_path), pack->err, "%s/%s%s%s", pack->root,
			     folder, *folder ? "/" : "", name)
		       ?: jp_tar_copy(&pack->tar, archive_path, runs, path, pack->err);
}

static int pack_case(struct pack *pack)
{
	const struct jp_repro *repro = pack->repro;
	char path[4096], name[1024], before[64] = "";
	int ret = pack_folder(pack, "case");

	for (size_t i = 0; i < repro->files.count && !ret; i++) {
		const char *file = repro->files.words[i], *slash = strchr(file, '/');

		if (slash && strncmp(before, file, (size_t)(slash - file) + 1) != 0) {
			snprintf(before, sizeof(before), "%.*s", (int)(slash - file) + 1, file);
			snprintf(name, sizeof(name), "case/%.*s", (int)(slash - file), file);
			ret = pack_folder(pack, name);
		}
		if (!ret)
			ret = jp_path_build(path, sizeof(path), pack->err, "%s/%s", repro->stage,
					    file)
				      ?: pack_copy(pack, "case", file, false, path);
	}
	return ret;
}

static void put_definition(FILE *out, const struct jp_repro *repro)
{
	jp_repro_definition(out, repro->cas);
}

static int pack_definition(struct pack *pack)
{
	char name[256];

	return pack_folder(pack, "expected")
		       ?: jp_path_build(name, sizeof(name), pack->err, "expected/%s",
					pack->repro->cas->study)
		       ?: pack_text(pack, name, false, put_definition);
}

static int pack_program(struct pack *pack)
{
	const struct jp_portable *portable = &pack->repro->portable;
	char archive_path[512];
	int ret = jp_path_build(archive_path, sizeof(archive_path), pack->err, "%s/jitproof",
				pack->root)
			  ?: jp_tar_file(&pack->tar, archive_path, true, portable->program,
					 portable->size, pack->err);

	if (ret || !portable->loader)
		return ret;
	ret = pack_folder(pack, "libraries");
	for (size_t i = 0; i < portable->libraries.count && !ret; i++)
		ret = pack_copy(pack, "libraries", strrchr(portable->libraries.words[i], '/') + 1,
				true, portable->files[i]);
	return ret ?: pack_copy(pack, "", "loader", true, portable->files[portable->nr_files - 1]);
}

static bool is_adapter(const char *name)
{
	size_t length = strlen(name);

	return name[0] != '.' && length > 3 && strcmp(name + length - 3, ".py") == 0;
}

static int pack_adapters(struct pack *pack, const char *folder)
{
	jp_cleanup_arguments struct jp_arguments names = {0};
	char path[PATH_MAX], real_path[PATH_MAX];
	int ret = jp_untrusted_list(folder, &names, is_adapter, pack->err)
			  ?: pack_folder(pack, "profiler");

	for (size_t i = 0; i < names.count && !ret; i++)
		ret = jp_path_build(path, sizeof(path), pack->err, "%s/%s", folder, names.list[i])
			      ?: pack_copy(pack, "profiler", names.list[i], true,
					   realpath(path, real_path) ?: path);
	return ret;
}

static int pack_all(struct pack *pack, const char *adapters)
{
	return jp_tar_folder(&pack->tar, pack->root, pack->err)
		       ?: pack_text(pack, "README", false, jp_repro_readme)
		       ?: pack_case(pack)
		       ?: pack_definition(pack)
		       ?: pack_program(pack)
		       ?: pack_adapters(pack, adapters)
		       ?: pack_text(pack, "reproduce", true, jp_repro_script);
}

int jp_repro_pack(const struct jp_repro *repro, const char *adapters, struct jp_new_file *file,
		  int fd, uint64_t *size, struct jp_error *err)
{
	struct pack pack = {.repro = repro, .err = err};
	int ret, closed;

	ret = jp_path_build(pack.root, sizeof(pack.root), err, "%s-%s", repro->cas->study,
			    repro->cas->name + strlen(repro->cas->study) + 1);
	if (ret)
		return ret;
	pack.tar.output = jp_output_adopt(fd, file->path, err);
	if (!pack.tar.output)
		return -ENOMEM;
	ret = pack_all(&pack, adapters);
	jp_tar_end(&pack.tar);
	*size = jp_output_offset(pack.tar.output);
	closed = jp_output_close(pack.tar.output, ret ? NULL : err);
	ret = ret ?: closed ?: jp_shortage_describe(err->text, sizeof(err->text));
	return ret ?: jp_new_file_publish(file, err);
}
