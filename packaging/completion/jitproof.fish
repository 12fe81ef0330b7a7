# SPDX-License-Identifier: GPL-2.0-only
# Completes jitproof's words in fish: `jitproof complete` knows them.
function __jitproof_complete
    set -l last (commandline -ct)
    set -l option (string match -r -- '^--[^=]*=' $last)
    set -l before (commandline -opc)
    for line in ($before[1] complete $before[2..] "$last" 2>/dev/null)
        if test "$line" = '<file>'
            __fish_complete_path (string replace -- "$option" '' $last) | string replace -r '^' -- "$option"
        else
            echo "$option$line"
        end
    end
end
complete -c jitproof -f -a '(__jitproof_complete)'
