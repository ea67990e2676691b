#!/bin/sh
# A directory became -stray: is it needed, and how does it come back?
# 0: none is needed; 1: one holds what no current log here has; else: kcli has no answer
#
# A broker renames what the cluster metadata does not assign to it, or what has no partition.metadata, and
# begins an empty log in its place if it is assigned after all. Name ALL log dirs of the broker, one of them
# with __cluster_metadata-0 (else add a controller's):
#   sh stray-directory.sh /data/d0 /data/d1
# Do not remove a -stray directory before every partition of its topic has a whole replica elsewhere.
set -eu
export KCLI_CONFIG= # the settings of a person are not those of this script
if [ $# -eq 0 ]; then
  echo "usage: sh stray-directory.sh LOG_DIR..." >&2
  exit 2
fi

ask() { # the answer of kcli; findings (status 1) do not matter here, nor a log dir without metadata (4)
  status=0
  kcli "$@" || status=$?
  [ "$status" -le 1 ] || [ "$status" -eq 4 ] || exit "$status"
}
partitions=$(ask ls -o json "$@")
metadata=$(ask metadata show partitions -o json "$@")

# For each -stray directory: the current log of the partition here, and what the metadata says of it.
found=$(printf '%s\n' "$partitions" "$metadata" | jq -s '
  .[0].rows as $dirs | .[1].rows as $known
  | [$dirs[] | select(.state == "stray") | . as $stray
    | def same: map(select(.topic == $stray.topic and .partition == $stray.partition));
      ($dirs | map(select(.state == "normal")) | same | first) as $current
    | ($known | same | first) as $assigned
    | {dir, name: "\(.topic)-\(.partition)", end: .log_end_offset, current: $current.dir, assigned: $assigned,
       current_end: ($current.log_end_offset // 0), topic_id,
       elsewhere: ([$assigned.isr // [] | .[] | select(. != $stray.broker_id)] | length > 0),
       here: ($assigned.replicas // [] | any(. == $stray.broker_id))}
    | .case = (if $current and .current_end >= (.end // infinite) then "older"
               elif $assigned == null or (.topic_id and .topic_id != $assigned.topic_id) then "unknown"
               elif .here | not then "moved" elif .elsewhere then "follows" else "needed" end)]')
printf '%s\n' "$found" | jq -r '
  if . == [] then "No -stray directory is here." else .[] |
  "\(.dir): ends at \(.end // "?"), the current log "
    + if .current then "\(.current) at \(.current_end)" else "is not here" end,
  if .case == "older" then "  not needed: the current log has as much"
  elif .case == "unknown" then "  its topic is deleted or made anew: kcli salvage saves the records"
  elif .case == "moved" then "  not needed if brokers \(.assigned.replicas) have it: kcli replica diff"
  elif .case == "follows" then "  not needed: brokers \(.assigned.isr) are in sync, and it follows them"
  else "  NEEDED: no other replica is in sync. Stop the broker, copy the directory to another disk, then:",
    (if .current then "    mv \(.current | @sh) /another/disk/" else empty end),
    (if .topic_id then empty else "    printf \u0027version: 0\\ntopic_id: \(.assigned.topic_id)\\n\u0027 > "
      + ("\(.dir)/partition.metadata" | @sh) end),
    "    mv \(.dir | @sh) \("\(.dir | sub("/[^/]*$"; ""))/\(.name)" | @sh)",
    "  and before the start: kcli runbook pre-start-gate"
  end end'
printf '%s\n' "$found" | jq -e 'all(.case == "older" or .case == "follows" or .case == "moved")' > /dev/null
