#!/bin/sh
# Tiered storage falls behind: which copies or deletions are stuck?
# 0: none; 1: some are, or the events are damaged; else: kcli has no answer
#
# RemoteCopyLagBytes grows, local disks fill: a segment leaves the local log only when its copy is finished.
# With the log dirs of all brokers that have __remote_log_metadata; they may run:
#   sh stuck-upload.sh HOURS LOG_DIR... [--topic NAME]
# HOURS: a copy that takes longer is stuck, such as 1. Segments that were never begun are not in the events:
#   kcli rlmm coverage LOG_DIR...     says up to which offset each partition is copied
set -eu
export KCLI_CONFIG= # no setting of a person counts: neither the config file nor variables KCLI_...
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit "$1"; }
case "$# ${1-}" in *" -h" | *" --help") usage 0 ;; [01]" "*) usage 2 >&2 ;; esac
command -v jq > /dev/null || { echo "jq is not here" >&2 && exit 127; }
hours=$1
shift

# With --fail-on warning a copy or a deletion that is stuck is bad news: finding RLMM-009.
status=0
answer=$(kcli rlmm check -o json --stuck-after "${hours}h" --fail-on warning "$@") || status=$?
case "$status $answer" in [01]" {"*) ;; *)
  echo "kcli has no answer: exit status $status" >&2 && exit $((status ? status : 2)) ;;
esac
if [ "$status" -eq 0 ]; then
  echo "No copy and no deletion is stuck. See kcli rlmm coverage, and the leader's log."
  exit 0
fi

printf '%s\n' "$answer" | jq -r '
  (.rows[] | select(.result != "clean")
    | "\(.topic)-\(.partition): \(.result), \(.copied) segments copied, not finished: "
      + "\(.unfinished_copies) copies, \(.unfinished_deletions) deletions"),
  (.findings[] | select(.severity != "info") | "  \(.severity) \(.code): \(.message)")'

# Which segments, since when, and which broker began them: there are the exceptions.
segments=$(kcli rlmm state -o json \
  --where "state in ('COPY_SEGMENT_STARTED', 'DELETE_SEGMENT_STARTED')" "$@") || [ $? -eq 1 ]
printf '%s\n' "$segments" | jq -r '
  def time: if . == null then "-" else (. / 1000 | floor | todate) end;
  .rows[] | "  \(.topic)-\(.partition) \(.start_offset)..\(.end_offset) \(.state) since "
    + "\(.event_timestamp_ms | time) by broker \(.broker_id): \(.segment_id)"'
cat << 'END'
On that broker: grep -E 'RemoteLogManager|RemoteStorageException' server.log
A restart of the partition's leader, or another leader, begins the copy anew under another id; what the old
one left goes with retention. An error RLMM-... may mean that the consumer of the metadata stopped for good:
kcli explain CODE.
END
exit 1
