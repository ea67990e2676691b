#!/bin/sh
# Would an older release start on these log dirs?
# 0: yes; 1: no, it would fail, wait, lose a log dir or records; 4: no, not all is read; else: no answer
#
# Before a rollback, and better before the upgrade that may need one. Ask on every broker and controller:
#   sh rollback-gate.sh 3.9 --server-config /etc/kafka/server.properties      or: ... 3.9 DIR...
# The files of a running broker change: then the answer is about this moment.
# What forbids the way back is mostly metadata.version: once it is raised, releases that do not know it end
# with an exception. So raise it last, days after the upgrade:
#   kafka-features.sh --bootstrap-server HOST:9092 describe
#   kafka-features.sh --bootstrap-server HOST:9092 upgrade --release-version X.Y
set -eu
export KCLI_CONFIG= # no setting of a person counts: neither the config file nor variables KCLI_...
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit "$1"; }
case "$# ${1-}" in *" -h" | *" --help") usage 0 ;; [01]" "*) usage 2 >&2 ;; esac
command -v jq > /dev/null || { echo "jq is not here" >&2 && exit 127; }
release=$1
shift

status=0
answer=$(kcli startup -o json --fail-on error --kafka-version "$release" "$@") || status=$?
case "$status $answer" in [014]" {"*) ;; *)
  echo "kcli has no answer: exit status $status" >&2 && exit $((status ? status : 2)) ;; esac
# Without the row of a broker these are no log dirs of one. One that was not given may have the only copy.
printf '%s\n' "$answer" | jq -e 'any(.rows[]; .type == "startup_broker")' > /dev/null ||
  { echo "kcli has no answer: name the log dirs of a broker" >&2 && exit 3; }
printf '%s\n' "$answer" | jq -e 'any(.findings[]; .code == "START-021"
  and (.message | contains("no other replica is in sync")))' > /dev/null && [ "$status" -eq 0 ] && status=1
if [ "$status" -eq 0 ]; then
  echo "YES: $release starts here. Roll back one broker, wait until its replicas are in sync, then the next."
else
  echo "NO: do not start $release here."
fi

printf '%s\n' "$answer" | jq -r '
  def lost: if .records_lost == 0 or .outcome == "fails" then ""
    else ", loses \(.records_lost // "some") records" end;
  (.errors[] | "NOT READ: \(.path): \(.message)"),
  (.rows[] | select(.type == "startup_broker")
    | "broker \(.broker_id) \(.outcome)\(lost)",
      (["why", .reason], ["server.log will say", .server_log] | select(.[1]) | "  \(.[0]): \(.[1])")),
  ([.rows[] | select(.type == "startup" and (.outcome != "loads" or .records_lost != 0))]
    | group_by([.outcome, .reason])[]
    | "  \(length) \(.[0].outcome)\(.[0].reason | if . then ": \(.)" else "" end)",
      (.[:5][] | "    \(.dir // "\(.topic)-\(.partition)")\(lost)"),
      (if length > 5 then "    and \(length - 5) more: kcli startup" else empty end))'

# A NO that every release gives is not about the rollback: kcli runbook pre-start-gate.
if [ "$status" -eq 1 ]; then
  answer=$(kcli startup -o json --releases "$@") || [ $? -eq 1 ]
  echo "Every release on these log dirs:"
  printf '%s\n' "$answer" | jq -r '
    .rows[] | "  \(.kafka_version)  \(.outcome)" + if .reason then ": \(.reason)" else "" end'
fi
exit "$status"
