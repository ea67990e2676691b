#!/bin/sh
# A directory became -stray: is it needed, and how does it come back?
# 0: none is needed; 1: one is, or a person must look; else: kcli has no answer
#
# A broker renames what the metadata does not assign to it, or what has no partition.metadata, and begins an
# empty log if it is assigned after all. Name ALL its log dirs, with __cluster_metadata-0 or a controller's:
#   sh stray-directory.sh /data/d0 /data/d1
# Do not remove a -stray directory before every partition of its topic has a whole replica elsewhere.
set -eu
export KCLI_CONFIG= # no setting of a person counts: neither the config file nor variables KCLI_...
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit "$1"; }
case "$# ${1-}" in *" -h" | *" --help") usage 0 ;; "0 "*) usage 2 >&2 ;; esac
command -v jq > /dev/null || { echo "jq is not here" >&2 && exit 127; }
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
ask ls -o json "$@" && partitions=$answer
ask metadata show partitions -o json "$@"
# Which -stray directories has the current log here, record for record? And what says the metadata of them?
diffs=$(printf '%s\n' "$partitions" | jq -r '.rows | group_by([.topic, .partition])[]
  | (map(select(.state == "normal").dir) | first // empty) as $current
  | .[] | select(.state == "stray") | [$current, .dir] | @tsv' |
  while IFS="$(printf '\t')" read -r current stray; do
    ask replica diff -o json "$current" "$stray"
    printf '%s\n' "$answer" | jq -c --arg dir "$stray" '{stray: $dir, damaged: (.errors != [] or
      any((.rows, .findings)[]; .reason == "unreadable" or .severity == "error" and .code != "REPL-001")),
      same: all(.rows[]; .verdict == "equal" or .verdict == "only-here")}'
  done)
report=$(printf '%s\n' "$partitions" "$answer" "$diffs" | jq -rs '.[0].rows as $dirs
  | .[1] as $metadata | .[2:] as $diffs | $dirs[] | select(.state == "stray") | . as $stray
  | def here: map(select(.topic == $stray.topic and .partition == $stray.partition)) | first;
    ($dirs | map(select(.state == "normal")) | here) as $current | ($metadata.rows | here) as $assigned
  | ($diffs | map(select(.stray == $stray.dir)) | first) as $diff | ($current.log_end_offset // 0) as $leo
  | ($assigned.isr // [] | any(. != $stray.broker_id)) as $elsewhere
  | "\(.dir): ends at \(.log_end_offset // "?"), the current log \($current.dir // "(none here)") at \($leo)",
    if $diff.damaged or any($metadata.findings[]; .severity == "error") then "  LOOK: not all can be read"
    elif $diff.same then "  not needed: the current log has all of its records"
    elif $assigned == null or (.topic_id and .topic_id != $assigned.topic_id)
    then "  LOOK: its topic is deleted or made anew: kcli salvage saves the records"
    elif $current and $leo >= (.log_end_offset // infinite)
    then "  LOOK: the current log has other records: kcli replica diff shows which"
    elif all($assigned.replicas[]; . != $stray.broker_id) or ($elsewhere and .topic_id == null)
    then "  LOOK if brokers \($assigned.replicas) have its records: kcli replica diff"
    elif $elsewhere then "  not needed: brokers \($assigned.isr) are in sync, and it follows them"
    else "  NEEDED: no other replica is in sync. Stop the broker, copy the directory to another disk, then:",
      ($current | values | "    mv \(.dir | @sh) /another/disk/"),
      (select(.topic_id == null) | "    printf \u0027version: 0\\ntopic_id: \($assigned.topic_id)\\n\u0027 > "
        + ("\(.dir)/partition.metadata" | @sh)),
      "    mv \(.dir | @sh) \("\(.dir | sub("/[^/]*$"; ""))/\(.topic)-\(.partition)" | @sh)",
      "  and before the start: kcli runbook pre-start-gate"
    end')
printf '%s\n' "${report:-No -stray directory is in what is read.}"
[ -z "$gaps" ] && case $report in *"  LOOK"* | *"  NEEDED: "*) false ;; esac
