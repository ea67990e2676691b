#!/bin/sh
# Where did a consumer group stand, and is that still in the logs?
# 0: all positions are valid; 1: some are not, or were removed, or not all is read; else: kcli has no answer
#
# The offsets of a group were reset, expired or deleted, or its consumers jump to an end of the log. With the
# log dirs of all brokers (copies will do), in a file outside of them:
#   sh group-offsets.sh billing LOG_DIR... > billing.csv               as of the last record
#   sh group-offsets.sh billing --at @-1h LOG_DIR... > billing.csv     as of an hour ago; or 2026-01-31T02:00
# stdout is the file that kafka-consumer-groups.sh reads; what a person reads is on stderr.
# Compaction removes old commits of __consumer_offsets: copy its directories before you wait.
set -eu
export KCLI_CONFIG= # no setting of a person counts: neither the config file nor variables KCLI_...
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit "$1"; }
case "$# ${1-}" in *" -h" | *" --help") usage 0 ;; [01]" "*) usage 2 >&2 ;; esac
command -v jq > /dev/null || { echo "jq is not here" >&2 && exit 127; }
group=$1
shift
case $group in *[*?,[]*) echo "one group at a time, without globs" >&2 && exit 2 ;; esac

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
# --all: also commits that a tombstone removed, by expiry or by hand; the last ones are the rescue.
ask group offsets -o json --all --group "$group" "$@"
printf '%s\n' "$answer" | jq -e 'all(.rows[]; .dir | contains("__share_group_state-") | not)' > /dev/null || {
  echo "$group is a share group, which commits no offsets: kcli group offsets says where it reads on, and" >&2
  echo "kafka-share-groups.sh --reset-offsets moves that" >&2
  exit 2
}

printf '%s\n' "$answer" | jq -r '
  .rows[] | select(.committed_offset != null)
  | "\(.topic)-\(.partition): committed \(.committed_offset), log \(.log_start_offset) to "
    + "\(.log_end_offset), lag \(.lag), \(.position)"
    + if .removed_by then ", REMOVED by record \(.removed_by)" else "" end' >&2

# A position outside of the log is moved to its nearer end. diverged and unknown stay: see the note below.
printf '%s\n' "$answer" | jq -r '
  .rows[] | select(.committed_offset != null)
  | [.topic, .partition,
     if .position == "out-of-range" and .committed_offset < .log_start_offset then .log_start_offset
     elif .position == "out-of-range" then .log_end_offset else .committed_offset end] | @csv' | tr -d '"'

cat >&2 <<END
Stop every consumer of $group, then, with the file of stdout, first with --dry-run, then with --execute:
  kafka-consumer-groups.sh --bootstrap-server HOST:9092 --group $group --reset-offsets \\
    --from-file FILE.csv --dry-run
out-of-range: the file has the nearer end of the log. unknown: the log is not here. diverged: the log was
truncated below the commit, and has other records there; choose an earlier offset (kcli lookup timestamp).
END
[ -z "$gaps" ] || echo "NOT ALL IS READ: the file may lack partitions, or have older offsets." >&2
[ -z "$gaps" ] || exit 1
printf '%s\n' "$answer" | jq -e 'all(.rows[]; .position == "valid" and .removed_by == null)' > /dev/null
