#!/bin/sh
# A directory became -stray: is it needed, and how does it come back?
# 0: none is needed; 1: one is, or a person must look; else: kcli has no answer
#
# A broker renames what the cluster metadata does not assign to it, or what has no partition.metadata, and
# begins an empty log in its place if it is assigned after all. Name ALL log dirs of the broker, one of them
# with __cluster_metadata-0 (else add a controller's):
#   sh stray-directory.sh /data/d0 /data/d1
# Do not remove a -stray directory before every partition of its topic has a whole replica elsewhere.
set -eu
export KCLI_CONFIG= # no setting of a person counts: neither the config file nor variables KCLI_...
[ $# -gt 0 ] || { echo "usage: sh stray-directory.sh LOG_DIR..." >&2 && exit 2; }

ask() { # the answer of kcli; findings (status 1) do not matter here, nor a log dir without metadata (4)
  status=0
  kcli "$@" || status=$?
  [ "$status" -le 1 ] || [ "$status" -eq 4 ] || exit "$status"
}
partitions=$(ask ls -o json "$@")
metadata=$(ask metadata show partitions -o json "$@")

# Which -stray directories has the current log here, record for record? And what says the metadata of them?
same=$(printf '%s\n' "$partitions" | jq -r '.rows | group_by([.topic, .partition])[]
  | (map(select(.state == "normal").dir) | first // empty) as $current
  | .[] | select(.state == "stray") | [$current, .dir] | @tsv' |
  while IFS="$(printf '\t')" read -r current stray; do
    ask replica diff -o json "$current" "$stray" | jq -c --arg stray "$stray" '
      select(.errors == [] and all(.rows[]; .verdict == "equal" or .verdict == "only-here")) | $stray'
  done)
found=$(printf '%s\n' "$partitions" "$metadata" "$same" | jq -s '
  .[0].rows as $dirs | .[1].rows as $known | .[2:] as $same
  | [$dirs[] | select(.state == "stray") | . as $stray
    | def same: map(select(.topic == $stray.topic and .partition == $stray.partition)) | first;
      ($dirs | map(select(.state == "normal")) | same) as $current | ($known | same) as $assigned
    | {dir, name: "\(.topic)-\(.partition)", end: .log_end_offset, current: $current.dir, assigned: $assigned,
       current_end: ($current.log_end_offset // 0), topic_id,
       elsewhere: ($assigned.isr // [] | any(. != $stray.broker_id)),
       here: ($assigned.replicas // [] | any(. == $stray.broker_id))}
    | .case = (if .dir as $dir | $same | any(. == $dir) then "same"
               elif $assigned == null or (.topic_id and .topic_id != $assigned.topic_id) then "unknown"
               elif $current and .current_end >= (.end // infinite) then "differs"
               elif (.here | not) or (.elsewhere and .topic_id == null) then "moved"
               elif .elsewhere then "follows" else "needed" end)]')
printf '%s\n' "$partitions" "$found" | jq -rs '(.[0].errors[] | "NOT READ: \(.path): \(.message)"),
  if .[1] == [] then "No -stray directory is here." else .[1][] |
  "\(.dir): ends at \(.end // "?"), the current log \(.current // "(none is here)") at \(.current_end)",
  if .case == "same" then "  not needed: the current log has all of its records"
  elif .case == "unknown" then "  LOOK: its topic is deleted or made anew: kcli salvage saves the records"
  elif .case == "differs" then "  LOOK: the current log has other records: kcli replica diff shows which"
  elif .case == "moved" then "  LOOK if brokers \(.assigned.replicas) have its records: kcli replica diff"
  elif .case == "follows" then "  not needed: brokers \(.assigned.isr) are in sync, and it follows them"
  else "  NEEDED: no other replica is in sync. Stop the broker, copy the directory to another disk, then:",
    (if .current then "    mv \(.current | @sh) /another/disk/" else empty end),
    (if .topic_id then empty else "    printf \u0027version: 0\\ntopic_id: \(.assigned.topic_id)\\n\u0027 > "
      + ("\(.dir)/partition.metadata" | @sh) end),
    "    mv \(.dir | @sh) \("\(.dir | sub("/[^/]*$"; ""))/\(.name)" | @sh)",
    "  and before the start: kcli runbook pre-start-gate"
  end end'
printf '%s\n' "$partitions" "$found" | jq -es '
  .[0].errors == [] and all(.[1][]; .case == "same" or .case == "follows")' > /dev/null
