// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/return_address.h"
#include "harness/selftest/support/check.h"

TEST(return_address)
{
	const uint64_t signature = UINT64_C(0x7f) << 48, user = 0xffff894df05c,
		       kernel = 0xffff800008012345;

	check(jp_return_address(user, signature) == user, "an address without signature stays");
	check(jp_return_address(user | UINT64_C(0x2a) << 48, signature) == user,
	      "a signature is removed");
	check(jp_return_address(user | UINT64_C(0x5a) << 56, signature) ==
		      (user | UINT64_C(0x5a) << 56),
	      "the top byte stays");
	check(jp_return_address(kernel, signature) == kernel, "a kernel address stays");
	check(jp_return_address((kernel & UINT64_C(0xffffffffffff)) | UINT64_C(0xa5) << 48,
				signature) == kernel,
	      "a kernel address gets its upper bits back");
	check(jp_return_address(UINT64_C(0xdeadbeefcafebabe), 0) == UINT64_C(0xdeadbeefcafebabe),
	      "a machine without signatures keeps all bits");
}
