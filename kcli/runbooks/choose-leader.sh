#!/bin/sh
# No replica in sync is left: which one costs least as the leader?
# 0: one costs no committed record; 1: even the best may; 4: not all is read, or a start cuts; else: no answer
#
# Before an unclean election, or before you delete a broker that may have the only good copy. Name the log
# dirs or partition directories of ALL replicas, also those of brokers that are down (a copy will do):
#   sh choose-leader.sh --topic orders --partition 0 /mnt/b1/data /mnt/b2/data /mnt/b3/data
# What a replica has that the leader has not is cut from it for good. Save it first:
# kcli runbook before-truncation. --isr 1,2 (the last ISR) or --metadata DIR (a log dir that has
# __cluster_metadata-0) says who was in sync: the election of such a replica is clean.
set -eu
export KCLI_CONFIG= # no setting of a person counts: neither the config file nor variables KCLI_...
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit "$1"; }
case "$# ${1-}" in *" -h" | *" --help") usage 0 ;; [01]" "*) usage 2 >&2 ;; esac
command -v jq > /dev/null || { echo "jq is not here" >&2 && exit 127; }

# A row is a pair: what does this follower cut if that candidate leads? Status 1 is an answer, too.
gaps=
ask() { # $answer and $status of kcli; what it cannot read, and each error finding, goes to stderr and $gaps
  answer=$(kcli "$@") && status=0 || status=$?
  case "$status $answer" in [014]" {"*) ;; *) echo "kcli has no answer: exit status $status" >&2
    exit $((status ? status : 2)) ;; esac
  new=$(printf '%s\n' "$answer" | jq -r '(.errors[] | "NOT READ: \(.path): \(.message)"),
    (.findings[] | select(.severity == "error" or .code == "START-001")
      | "\(.severity) \(.code) \(.path // .dir): \(.message)")' |
    grep -vxF -e "$gaps") || return 0
  gaps=$(printf '%s\n' "$gaps" "$new") && printf '%s\n' "$new" >&2
}
ask replica elect -o json "$@"
printf '%s\n' "$answer" | jq -e '[.rows[].cluster_id | values] | unique | length < 2' > /dev/null ||
  { echo "These are replicas of two clusters: name those of one." >&2 && exit 2; }

# A candidate costs what its worst follower loses. A loss that is not known (null) counts as the worst.
ranking=$(printf '%s\n' "$answer" | jq '
  def worst: if any(. == null) then null else max end;
  def rank: if . == null then infinite else . end;
  .rows | group_by([.topic, .partition]) | map({
    topic: .[0].topic, partition: .[0].partition,
    candidates: (group_by(.candidate) | map({
      candidate: .[0].candidate, candidate_broker_id: .[0].candidate_broker_id, clean: .[0].clean,
      log_end_offset: .[0].log_end_offset,
      records_lost: (map(.records_lost) | worst),
      committed_records_lost: (map(.committed_records_lost) | worst)})
      | sort_by([(.committed_records_lost | rank), (.clean != true), (.records_lost | rank)]))})')
printf '%s\n' "$ranking" | jq -r '
  def number: if . == null then "an unknown number" else tostring end;
  .[] | "\(.topic)-\(.partition)",
    (.candidates[] | "  broker \(.candidate_broker_id), log end \(.log_end_offset): as the leader it costs "
      + "\(.records_lost | number) records, \(.committed_records_lost | number) of them committed"
      + (if .clean then ", and its election is clean" else "" end) + "  (\(.candidate))"),
    (.candidates[0] | "  best: broker \(.candidate_broker_id)")'

[ "$ranking" != "[]" ] || { echo "No partition is judged." >&2 && exit 4; }
# Kafka takes the first live replica in the order of the assignment: so only the best one may be live.
echo "To elect it: keep the brokers of the other replicas down, start the best one, then run"
printf '%s\n' "$ranking" | jq -r '.[] | "  kafka-leader-election.sh --bootstrap-server HOST:9092 "
  + "--election-type unclean --topic \(.topic) --partition \(.partition)"'
echo "and start the others. A clean election needs no command: it happens when the broker is back."
[ -z "$gaps" ] || exit 4
printf '%s\n' "$ranking" | jq -e 'all(.candidates[0].committed_records_lost == 0)' > /dev/null
