# SPDX-License-Identifier: GPL-2.0-only
# Completes jitproof's words in bash: `jitproof complete` knows them.
_jitproof()
{
	local line=${COMP_LINE:0:COMP_POINT} last current word
	local -a words
	read -ra words <<<"$line"
	# The line decides: COMP_WORDS is split at '=' and ':' as well.
	[[ $line != *[[:space:]] ]] || words+=('')
	last=${words[-1]}
	[[ $last != --*=* ]] || last=${last#*=}
	current=${last##*:}
	COMPREPLY=()
	while IFS=$'\t' read -r word _; do
		if [[ $word == '<file>' ]]; then
			compopt -o default
		elif [[ $word == "$last"* ]]; then
			printf -v word %q "${word#"${last%"$current"}"}"
			COMPREPLY+=("$word")
		fi
	done < <("${words[0]}" complete "${words[@]:1}" 2>/dev/null)
}
complete -F _jitproof jitproof
