#!/usr/bin/env bash
# `orrery up` of an installed package runs a job until it has succeeded, ends by Ctrl-C and leaves
# nothing behind. Part of tools/fresh_machine: the machine has bash and the package, no more.
# Usage: installed_up.sh JOB.yaml      a job that ends by itself
set -euo pipefail

name=$(sed -n 's/^name: *//p' "$1")
log=$(mktemp)
fail() {
  echo "installed_up.sh: $1; orrery up said:" >&2
  cat "$log" >&2
  exit 1
}

# Ctrl-C reaches a background job of a script only where its signals are not ignored: set -m.
set -m
orrery up --http 127.0.0.1:0 >"$log" 2>&1 &
up=$!
set +m
trap 'kill -KILL "$up" 2>/dev/null || true' EXIT

until grep -q '^ready in' "$log"; do
  kill -0 "$up" 2>/dev/null || fail "it ended before it was ready"
  read -r -t 0.1 <> <(:) || true
done
ORRERY_SERVER=$(grep -oE -m 1 'http://[0-9.:]+' "$log")
export ORRERY_SERVER
orrery submit "$1" --wait || fail "orrery submit --wait ended with $?"
orrery describe "$name" | grep -q Succeeded || fail "describe does not show $name as Succeeded"

kill -INT "$up"
status=0
wait "$up" || status=$?
[ "$status" -eq 130 ] || fail "it ended with $status after Ctrl-C, expected 130"
trap - EXIT
for process in /proc/[0-9]*; do
  case $(tr '\0' ' ' <"$process/cmdline" 2>/dev/null) in
    orrery* | *bin/orrery*) fail "a process is left: $process" ;;
  esac
done
echo "$name: Succeeded, and nothing is left"
