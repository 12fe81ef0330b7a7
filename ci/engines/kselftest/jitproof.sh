#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The test for a kselftest runner. Prints KTAP; exits with 0, 1, or 4 if all cases are skipped.
#	JITPROOF	the program (default: the file next to this script)
#	JITPROOF_SET	check (default) or full
# Arguments go to `jitproof run`: globs of cases, -o DIR.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
if [ -z "${JITPROOF-}" ]; then
	JITPROOF=$here/jitproof
	JITPROOF_PROFILERS=$here/profiler
	export JITPROOF_PROFILERS
fi
set=--set=${JITPROOF_SET-check}
for argument; do
	# A named case runs in whatever set it is.
	case $argument in */*) set= ;; esac
done
"$JITPROOF" run ${set:+"$set"} "$@"
status=$?
case $status in
0 | 1 | 4) exit $status ;;
*) echo "# jitproof exited with $status: a broken installation" && exit 1 ;;
esac
