#!/bin/sh
# What will this follower lose when it truncates to its leader, and is it saved?
# 0: nothing; 1: end markers, or records that are saved, or it is stuck; 4: not all is saved; else: no answer
#
# A follower that comes back cuts what its leader does not have, for good, within seconds. So ask BEFORE it
# starts, or before an election that makes another replica the leader:
#   sh before-truncation.sh SAVED.ndjson LEADER FOLLOWER [--topic NAME]...
# LEADER and FOLLOWER are log dirs or partition directories; the broker of the follower is stopped. If the
# leader is on another host, a copy of its partition directories will do, and the leader may go on:
#   rsync -a LEADER_HOST:/var/lib/kafka/data/orders-0 /mnt/copy/
# SAVED.ndjson is a new file on another disk. It gets the records that go, keys and values in base64.
set -eu
export KCLI_CONFIG= # no setting of a person counts: neither the config file nor variables KCLI_...
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit "$1"; }
case "$# ${1-}" in *" -h" | *" --help") usage 0 ;; [012]" "*) usage 2 >&2 ;; esac
command -v jq > /dev/null || { echo "jq is not here" >&2 && exit 127; }
saved=$1 leader=$2
shift 2
if [ -e "$saved" ]; then
  echo "$saved is there already: name a new file" >&2
  exit 2
fi

gaps=
ask() { # $answer and $status of kcli; what it cannot read, and each error finding, goes to stderr and $gaps
  answer=$(kcli "$@") && status=0 || status=$?
  case "$status $answer" in [014]" {"*) ;; *) echo "kcli has no answer: exit status $status" >&2
    exit $((status ? status : 2)) ;; esac
  new=$(printf '%s\n' "$answer" | jq -r '(.errors[] | "NOT READ: \(.path): \(.message)"),
    (.findings[] | select(.severity == "error") | "error \(.code) \(.path // .dir): \(.message)")' |
    grep -vxF -e "$gaps") || return 0
  gaps=$(printf '%s\n' "$gaps" "$new") && printf '%s\n' "$new" >&2
}
ask truncate --dry-run --leader "$leader" -o json --fail-on error "$@"

# Each partition that loses records, or that does not converge: kcli help truncation says what that means.
printf '%s\n' "$answer" | jq -r '
  .rows[] | select(.records_lost != 0 or .outcome != "converged")
  | "\(.dir): \(.outcome), log end \(.log_end_offset_before) to \(.log_end_offset_after), loses "
    + "\(.records_lost // "an unknown number of") records, offsets \(.lost_offsets // "none")"'
expected=$(printf '%s\n' "$answer" | jq -r '[.rows[].records_lost] | if all then add // 0 else "?" end')
# What a start cuts for itself, before it asks the leader, is not among these.
cut=$(printf '%s\n' "$answer" | jq -r '.findings[] | select(.code == "START-001") | "\(.dir): \(.message)"')
if [ "$expected" = 0 ] && [ -z "$gaps$cut" ]; then
  echo "No record is lost."
  exit "$status"
fi

# The same question with --rescue writes the records that go. The files of the follower stay as they are.
kcli truncate --dry-run --leader "$leader" --rescue "$saved" -o json "$@" > /dev/null || [ $? -eq 1 ] ||
  exit 4
number=$(jq -n '[inputs | select(.type == "rescued_record" and .control_type == null)] | length' "$saved")
echo "$number of $expected records that go are in $saved"
if [ "$number" != "$expected" ] || [ -n "$gaps$cut" ]; then
  [ -z "$cut" ] || printf '%s\n' "$cut" >&2
  echo "NOT ALL IS SAVED. Copy the follower's partition directories before it starts." >&2
  exit 4
fi
echo "The follower may start. Who owns the topic decides which of them a producer writes again."
exit 1
