#!/bin/sh
# May the broker start on these log dirs?
# 0: yes; 1: no, it would fail, wait, lose a log dir or records; 4: no, not all is read; else: no answer
#
# While the broker is down, with all of its log dirs:
#   sh pre-start-gate.sh --server-config /etc/kafka/server.properties      or: sh pre-start-gate.sh DIR...
# Add --kafka-version X.Y, the release that starts: without it the newest that kcli knows.
# As a gate of systemd, in [Service] of the broker's unit (kcli and jq must be on its PATH):
#   ExecStartPre=/bin/sh /etc/kafka/pre-start-gate.sh --server-config /etc/kafka/server.properties
#   TimeoutStartSec=1h
# The gate reads what the start will read: after a crash that may take minutes. With ExecStartPre=-/bin/sh
# the broker starts in any case, and the answer is in the journal.
#
# NO because of lost records: a replica that follows gets them back from its leader, if the leader has them:
# look at the other replicas first (kcli runbook choose-leader). To accept the loss for one start:
#   systemctl set-environment ACCEPT_LOSS=yes; systemctl start kafka; systemctl unset-environment ACCEPT_LOSS
set -eu
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit "$1"; }
case "$# ${1-}" in *" -h" | *" --help") usage 0 ;; "0 "*) usage 2 >&2 ;; esac
command -v jq > /dev/null || { echo "jq is not here" >&2 && exit 127; }
export KCLI_CONFIG= # no setting of a person counts: neither the config file nor variables KCLI_...
status=0
answer=$(kcli startup -o json --fail-on error "$@") || status=$?
case "$status $answer" in [014]" {"*) ;; *)
  echo "kcli has no answer: exit status $status. A log dir that was never formatted has none." >&2
  exit $((status ? status : 2)) ;; esac

# Whether the process stays up, with all log dirs or with some: then a person may accept a loss.
starts=$(printf '%s\n' "$answer" | jq -c '[.rows[] | select(.type == "startup_broker") | .outcome
  | startswith("starts")] | if . == [] then . else all end')
[ "$starts" != "[]" ] || { echo "kcli has no answer: name the log dirs of a broker" >&2 && exit 3; }
# A log dir that was not given may have the only copy of what begins empty.
printf '%s\n' "$answer" | jq -e 'any(.findings[]; .code == "START-021"
  and (.message | contains("no other replica is in sync")))' > /dev/null && [ "$status" -eq 0 ] && status=1
if [ "$status" -eq 1 ] && [ "${ACCEPT_LOSS:-no}" = yes ] && [ "$starts" = true ]; then
  echo "YES: it starts, and ACCEPT_LOSS=yes accepts this:"
  status=0
elif [ "$status" -eq 0 ]; then echo "YES: start it, if what follows is what you expect."
else echo "NO: do not start it."; fi

# What becomes of the broker, what to do about it, replicas that do not stay as they are, the findings.
printf '%s\n' "$answer" | jq -r '
  def lost: if .records_lost == 0 or .outcome == "fails" then ""
    else ", loses \(.records_lost // "some") records" end;
  (.errors[] | "NOT READ: \(.path): \(.message)"),
  (.rows[] | select(.type == "startup_broker")
    | "broker \(.broker_id) \(.outcome)\(lost)",
      (["why", .reason], ["where", .cause_path], ["server.log will say", .server_log], ["do", .remedy]
        | select(.[1]) | "  \(.[0]): \(.[1])"),
      (select(.metadata_path == null and (.outcome | startswith("starts")))
        | "  not judged: which replicas the metadata makes -stray; no readable metadata log is here")),
  ([.rows[] | select(.type == "startup" and (.outcome != "loads" or .records_lost != 0))]
    | group_by([.outcome, .reason])[]
    | "  \(length) \(.[0].outcome)\(.[0].reason | if . then ": \(.)" else "" end)",
      (.[:5][] | "    \(.dir // "\(.topic)-\(.partition)")\(lost)"),
      (if length > 5 then "    and \(length - 5) more: kcli startup" else empty end)),
  ([.findings[] | select(.severity != "info") | .code] | unique | select(. != [])
    | "  more: kcli explain \(join(" "))")'
exit "$status"
