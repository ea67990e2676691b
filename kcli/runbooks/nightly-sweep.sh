#!/bin/sh
# What is damaged on this host, and what was damaged, shortened or lost since the last sweep?
# 0: nothing; 1: a person must look; 4: the same, some files cannot be read; else: kcli has no answer
#
#   sh nightly-sweep.sh RUNS_DIR LOG_DIR...       or: sh nightly-sweep.sh RUNS_DIR --server-config FILE
# Beside the running broker, at 50 MB/s and idle I/O, as a service of a systemd timer:
#   [Service]                                                    [Timer]
#   Type=oneshot                                                 OnCalendar=*-*-* 02:00
#   Nice=19                                                      RandomizedDelaySec=1h
#   IOSchedulingClass=idle
#   StateDirectory=kcli
#   ExecStart=/bin/sh /etc/kafka/nightly-sweep.sh /var/lib/kcli --server-config /etc/kafka/server.properties
# A failed service is the alarm (OnFailure=). RUNS_DIR, outside of log dirs, keeps a run a night and what was
# read already: only what is new is read, all of it on the first of a month (bits rot). Old runs go with:
#   find /var/lib/kcli -maxdepth 1 -name 'check-*' -mtime +31 -exec rm -r {} +
set -eu
export KCLI_CONFIG= # no setting of a person counts: neither the config file nor variables KCLI_...
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit "$1"; }
case "$# ${1-}" in *" -h" | *" --help") usage 0 ;; [01]" "*) usage 2 >&2 ;; esac
command -v jq > /dev/null || { echo "jq is not here" >&2 && exit 127; }
runs=$1
shift
if [ ! -d "$runs" ]; then
  echo "$runs is no directory; make it first, outside of log dirs" >&2
  exit 2
fi

now=$(date -u +%Y-%m-%dT%H%M%SZ)
case $now in *-01T*) ;; *) set -- --since "$runs/state" "$@" ;; esac

status=0
kcli check -o ndjson --fail-on error --rate 50M --out "$runs/check-$now/" "$@" || status=$?
case $status in 0 | 1 | 4) ;; *)
  echo "kcli has no answer: exit status $status" >&2
  exit "$status"
  ;;
esac

# What is wrong now, whether it is new or not; files that cannot be read (status 4) are errors.
find "$runs/check-$now/findings" "$runs/check-$now/errors" -name '*.ndjson' -exec cat {} + | jq -r '
  select(.severity == "error" or .error) | "error \(.code // .error) \(.path // .dir): \(.message)"'

# What became worse. A log that lost its end may look whole: only two runs show it.
set -- "$runs"/check-*/
if [ $# -gt 1 ]; then
  answer=$(kcli diff -o json --fail-on never "$runs") || exit 4
  worse=$(printf '%s\n' "$answer" | jq -r '
    .rows[] | select(.verdict as $verdict | ["damaged", "rewritten", "shrunk", "gone"] | index($verdict))
    | "\(.verdict) \(.dir // "a log dir"): log end \(.log_end_offset_before) to \(.log_end_offset_after) "
      + (.findings_new | join(" "))')
  [ -z "$worse" ] || printf '%s\n' "$worse"
  [ -z "$worse" ] || [ "$status" -eq 4 ] || status=1
fi
[ "$status" -eq 0 ] || echo "Look: kcli explain CODE; kcli diff $runs"
exit "$status"
