// SPDX-License-Identifier: GPL-2.0-only
/* Build ids and call frame information: where an ELF file may have them, and what is said where it
 * has none, or is none that is read. */
#include <stddef.h>

#include "harness/format/elf/elf_file.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_elf.h"

static struct elf_made made;
static unsigned char note[64];

/* A note called @name of @type that says @size bytes; in words, with what pads them. */
static size_t put_note(size_t at, const char name[4], uint32_t type, uint32_t size)
{
	const uint32_t head[] = {4, size, type};

	memcpy(note + at, head, sizeof(head));
	memcpy(note + at + 12, name, 4);
	for (uint32_t i = 0; i < size; i++)
		note[at + 16 + i] = (unsigned char)(i + 1);
	return at + 16 + (size + 3) / 4 * 4;
}

static void begin(void)
{
	elf_made_code(&made, EM_X86_64, NULL, 0);
	memset(note, 0, sizeof(note));
}

/* How long the id of what is made is; 0: there is none, and that is said. */
static void id_is(unsigned int size, const char *what)
{
	jp_cleanup_free unsigned char *bytes = NULL;
	struct jp_elf_input file = elf_made_input(&made, &bytes);
	struct jp_error err = {""};
	struct jp_build_id id;
	int ret = jp_elf_build_id(-1, file.image, file.size, &id, &err);

	check(size ? !ret && id.size == size && id.bytes[size - 1] == size
		   : ret == -ENODATA && !id.size && strstr(err.text, "without a build id"),
	      "%s: %s", what, size ? "a build id" : err.text);
}

static void by_section(const char *name, uint32_t type, uint32_t id_size, unsigned int expected,
		       const char *what)
{
	size_t size;

	begin();
	size = put_note(0, name, type, id_size);
	elf_made_section(&made, ".note", SHT_NOTE, note, size);
	elf_made_end(&made);
	id_is(expected, what);
}

static void build_ids(void)
{
	size_t size;

	by_section("GNU", NT_GNU_BUILD_ID, 20, 20, "a note");
	by_section("GNU", NT_GNU_BUILD_ID, 1, 1, "of a byte");
	by_section("GNU", NT_GNU_BUILD_ID, 0, 0, "of none");
	by_section("GNU", NT_GNU_BUILD_ID, 21, 0, "of too many");
	by_section("XYZ", NT_GNU_BUILD_ID, 20, 0, "of somebody else");
	by_section("GNU", NT_GNU_ABI_TAG, 16, 0, "about another thing");
	begin();
	size = put_note(put_note(0, "GNU", NT_GNU_ABI_TAG, 4), "GNU", NT_GNU_BUILD_ID, 8);
	elf_made_section(&made, ".note", SHT_NOTE, note, size);
	elf_made_end(&made);
	id_is(8, "behind another note");
	begin();
	put_note(0, "GNU", NT_GNU_BUILD_ID, 20);
	elf_made_section(&made, ".note", SHT_NOTE, note, 30);
	elf_made_end(&made);
	id_is(0, "one that its section cuts off");
	begin();
	size = (put_note(0, "GNU", NT_GNU_BUILD_ID, 20) + 7) & ~7ul;
	made.segments[0] = (Elf64_Phdr){.p_type = PT_NOTE,
					.p_offset = elf_made_put(&made, note, size),
					.p_filesz = size,
					.p_align = 4};
	elf_made_end_stripped(&made);
	id_is(20, "in a segment");
	made.segments[0].p_align = 8;
	memcpy(made.bytes + sizeof(Elf64_Ehdr), &made.segments[0], sizeof(made.segments[0]));
	id_is(20, "in one that is aligned to 8");
	made.segments[0].p_filesz = 2 << 20;
	memcpy(made.bytes + sizeof(Elf64_Ehdr), &made.segments[0], sizeof(made.segments[0]));
	id_is(0, "in one that is too large");
}

static void extracts(int result, const char *why, const char *what)
{
	jp_cleanup_free unsigned char *bytes = NULL;
	struct jp_elf_input file = elf_made_input(&made, &bytes);
	struct jp_elf_image image;
	struct jp_error err = {""};
	int ret = jp_elf_extract(-1, file.image, file.size, &image, &err);

	check(ret == result && strstr(err.text, why) && !image.bytes == !!ret, "%s: %s", what,
	      err.text);
	jp_elf_image_free(&image);
}

/* Of a file whose tables of sections stand at its end. */
static void shorter(void)
{
	const size_t whole = made.size;
	size_t taken = 0;

	while (made.size-- > 0) {
		jp_cleanup_free unsigned char *bytes = NULL;
		struct jp_elf_input file = elf_made_input(&made, &bytes);
		struct jp_elf_image image;

		taken += !jp_elf_extract(-1, file.image, file.size, &image, NULL);
	}
	check(!taken, "%zu shorter files than of %zu bytes are taken", taken, whole);
}

static void frames(void)
{
	static const struct {
		const char *what, *bytes;
		uint32_t type, flags;
		size_t size;
		int result;
		const char *why;
	} table[] = {
		{"a section without bytes", NULL, SHT_NOBITS, 0, 4, -ENODATA, "without .eh_frame"},
		{"a compressed one", "\0\0\0", SHT_PROGBITS, SHF_COMPRESSED, 4, -ENODATA,
		 "ELF file without .eh_frame"},
		{"an empty one", "", SHT_PROGBITS, 0, 0, -ENODATA, "ELF file without .eh_frame"},
		{"a broken one", "\xff\xff\xff\x7f", SHT_PROGBITS, 0, 4, -EINVAL,
		 ".eh_frame+0: a record of 0x7fffffff bytes"},
		{"by its section", "\0\0\0", SHT_PROGBITS, 0, 4, 0, ""},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		begin();
		elf_made_section(&made, ".eh_frame", table[i].type, table[i].bytes, table[i].size)
			->sh_flags |= table[i].flags;
		elf_made_end(&made);
		extracts(table[i].result, table[i].why, table[i].what);
	}
	shorter();
	begin();
	elf_made_end_stripped(&made);
	extracts(-ENODATA, "ELF file without .eh_frame", "none");
}

/* By the segment of an index alone, whose encodings are those that all linkers write. */
static void by_segment(const void *index, size_t size, const char *what)
{
	begin();
	made.segments[0] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
					.p_offset = elf_made_put(&made, index, size),
					.p_filesz = size};
	elf_made_end_stripped(&made);
	extracts(-ENODATA, "ELF file without .eh_frame", what);
}

static void refused(void)
{
	static const unsigned char zeros[5000 * sizeof(Elf64_Phdr)];
	uint16_t many = 5000;
	uint64_t at;

	by_segment("\x01\x1b\x03\x3b\0\0\0\0", 8, "an index that leads to no segment");
	by_segment("\x01\x1b\x03", 3, "an index of three bytes");
	by_segment("\x01\x03\x03\x3b\0\0\0\0", 8, "an index of other encodings");
	begin();
	at = elf_made_put(&made, zeros, sizeof(zeros));
	elf_made_end(&made);
	memcpy(made.bytes + offsetof(Elf64_Ehdr, e_phnum), &many, sizeof(many));
	memcpy(made.bytes + offsetof(Elf64_Ehdr, e_phoff), &at, sizeof(at));
	extracts(-EINVAL, "ELF file with 5000 program headers; at most 4096 are read",
		 "too many segments");
	begin();
	elf_made_end_stripped(&made);
	made.bytes[EI_DATA] = ELFDATA2MSB;
	extracts(-EINVAL, "an ELF file of class 2 and byte order 2; only 64-bit little endian",
		 "another byte order");
	made.bytes[EI_DATA] = ELFDATA2LSB;
	made.bytes[EI_CLASS] = ELFCLASS32;
	memset(made.bytes + sizeof(Elf32_Ehdr) - 12, 0, 12);
	extracts(-EINVAL, "an ELF file of class 1 and byte order 1; only 64-bit little endian",
		 "another class");
	made.bytes[0] = 0;
	extracts(-EINVAL, "not an ELF file", "no ELF file");
}

int main(void)
{
	build_ids();
	frames();
	refused();
	return check_done();
}
