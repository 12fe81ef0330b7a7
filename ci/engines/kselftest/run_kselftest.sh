#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Runs installed kselftests, with the options of the kernel's script of this name:
#	-c COLLECTION	only tests of this folder	-t COLLECTION:TEST	only this test
#	-l		list the tests			-s	write output to a log for each test
#	-n		only list the chosen tests	-h	this help
#	-d DIR		run the tests of this source folder, which is one collection
# Exits with 1 if a test failed; the kernel's own script always exits with 0.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
logs=${LOGS-} dry='' source='' wanted='' list=''

while getopts c:t:d:lsnh option; do
	case $option in
	c) wanted="$wanted $OPTARG:*" ;;
	t) wanted="$wanted $OPTARG" ;;
	d) source=$OPTARG ;;
	l) list=1 ;;
	s) logs=${TMPDIR:-/tmp} ;;
	n) dry=1 ;;
	h) sed -n 's/^#\t//p' "$0" && exit 0 ;;
	*) exit 2 ;;
	esac
done

if [ -n "$source" ]; then
	available=$(cd "$source" && for test in *.sh; do
		[ "$test" = run_kselftest.sh ] || echo "jitproof:$test"
	done)
else
	available=$(cat "$here/kselftest-list.txt") || exit 1
fi
[ -z "$list" ] || { echo "$available" && exit 0; }

# The requested tests.
chosen=
set -f
for glob in ${wanted:-*}; do
	found=
	for test in $available; do
		# shellcheck disable=SC2254 # a pattern on purpose
		case $test in $glob) found=1 && chosen="$chosen $test" ;; esac
	done
	[ -n "$found" ] || { echo "run_kselftest.sh: no such test '$glob'" >&2 && exit 1; }
done
set +f

# Runs a test. Prints its output as diagnostics, and its result.
run_one() { # NUMBER COLLECTION TEST
	folder=${source:-$here/$2}
	name="selftests: $2: $3" timeout=45 log=
	[ ! -r "$folder/settings" ] ||
		timeout=$(sed -n 's/^timeout=\([0-9]*\)$/\1/p' "$folder/settings")
	echo "# timeout set to $timeout"
	echo "# $name"
	[ -z "$logs" ] || log=$(mktemp "$logs/$3.XXXXXX.log") || return 1
	limit=
	[ "$timeout" -eq 0 ] || ! command -v timeout >/dev/null || limit="timeout $timeout"
	# A descriptor of its own passes the status of the pipe's first part.
	if [ -n "$log" ]; then exec 4>"$log"; else exec 4>&5; fi
	status=$({
		{
			# shellcheck disable=SC2086 # two words
			(cd "$folder" && exec $limit "./$3" 2>&1 </dev/null)
			echo $? >&3
		} | sed 's/^/# /' >&4
	} 3>&1)
	exec 4>&-
	[ -z "$log" ] || echo "# output: $log"
	case $status in
	0) echo "ok $1 $name" ;;
	4) echo "ok $1 $name # SKIP" ;;
	124) echo "not ok $1 $name # TIMEOUT $timeout seconds" && return 1 ;;
	*) echo "not ok $1 $name # exit=$status" && return 1 ;;
	esac
}

# shellcheck disable=SC2086 # a list of words
set -- $chosen
number=0 failed=0
exec 5>&1
echo 'TAP version 13'
echo "1..$#"
for test; do
	number=$((number + 1))
	if [ -n "$dry" ]; then
		echo "# would run $test"
		echo "ok $number selftests: ${test%%:*}: ${test#*:} # SKIP dry run"
	else
		run_one "$number" "${test%%:*}" "${test#*:}" || failed=1
	fi
done
exit $failed
