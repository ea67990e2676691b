#!/bin/sh
# Which transaction keeps read_committed consumers from going on, and does it end by itself?
# 0: none hangs; 1: one hangs, or may; 4: not all is read; else: kcli has no answer
#
# The last stable offset of a partition stands still, lag grows, the cleaner stops. Name the log dirs of the
# leader, and those with __transaction_state, of all brokers if you can: the coordinator's word decides.
#   sh hanging-transaction.sh /var/lib/kafka/data [--topic NAME] [--max-timeout 15m]
# The broker may run. A transaction that is under way is open, too: ask again after its timeout.
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
ask txn open -o json "$@"

# hanging: true, false (it ends by itself), or null where the coordinator's partition is not here.
printf '%s\n' "$answer" | jq -r --arg gaps "$gaps" '
  def time: if . == null then "an unknown time" else ((. / 1000 | floor | todate)) end;
  if .rows == [] then "No transaction is open" + (if $gaps == "" then "." else " in what is read." end)
  else .rows[]
    | "\(.topic)-\(.partition): open from offset \(.start_offset) since \(.start_timestamp | time), "
      + "\(.records_waiting // "an unknown number of") records wait behind \(.last_stable_offset)",
      "  producer \(.producer_id), epoch \(.producer_epoch), transactional id "
        + (.transactional_id // "not known"),
      "  " + (if .hanging then "HANGS" elif .hanging == null then "MAY HANG" else "ends by itself" end)
      + ": \(.reason)",
      (select(.hanging) | "  look once more that its producer is gone, then: \(.abort_command)")
  end'
printf '%s\n' "$answer" | jq -r '
  select(any(.rows[]; .hanging == null))
  | "For MAY HANG name the log dirs with __transaction_state, too, or ask the cluster:",
    "  kafka-transactions.sh --bootstrap-server HOST:9092 find-hanging --broker-id ID"'

# The abort command writes an abort marker, as the coordinator would: read_committed consumers then pass over
# the records of the transaction. Nothing is deleted.
[ -z "$gaps" ] || exit 4
printf '%s\n' "$answer" | jq -e 'all(.rows[]; .hanging == false)' > /dev/null
