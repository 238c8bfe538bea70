# shellcheck shell=bash
# Sourced by the scripts of this project: sub-steps are quiet, and show what they printed when they fail.

step() { # step TEXT COMMAND...
    local text=$1 log
    shift
    log=$(mktemp)
    printf '%s ... ' "$text" >&2
    if "$@" >"$log" 2>&1 </dev/null; then
        echo "done" >&2
        rm -f "$log"
    else
        local status=$?
        echo "failed (exit status $status)" >&2
        cat "$log" >&2
        rm -f "$log"
        return "$status"
    fi
}
