#!/bin/sh
# A disk is full: what goes by itself, and what may go?
# 0: something goes, or may go; 1: nothing does: move partitions; 4: not all is read; else: kcli has no answer
#
# A log dir that has no room for one more write goes offline; with its last one the broker ends.
#   sh disk-full.sh HOURS LOG_DIR...       or: sh disk-full.sh HOURS --server-config FILE
# HOURS is what you would keep if you lowered retention for a while, such as 24. Never remove files of a log
# by hand. A broker that is down needs room to start: bytes_needed of kcli startup -o json.
set -eu
export KCLI_CONFIG= # no setting of a person counts: neither the config file nor variables KCLI_...
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit "$1"; }
case "$# ${1-}" in *" -h" | *" --help") usage 0 ;; [01]" "*) usage 2 >&2 ;; esac
case $1 in "" | 0* | *[!0-9]* | ???????*) usage 2 >&2 ;; esac
command -v jq > /dev/null || { echo "jq is not here" >&2 && exit 127; }
ms=$(($1 * 3600000))
shift

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
ask ls -o json --by log-dir "$@"
dirs=$answer
ask ls -o json "$@"
partitions=$answer
ask retention -o json --only retention_partition \
  --config "retention.ms=$ms" --config "local.retention.ms=$ms" "$@"
retention=$answer

# deletable_bytes_now goes without you; deletable_bytes is what would go with HOURS.
printf '%s\n' "$dirs" "$partitions" "$retention" | jq -rs --arg ms "$ms" '
  def size: if . < 1048576 then "\(. / 1024 | ceil) KiB" else "\(. / 1048576 | ceil) MiB" end;
  def lines(f): if . == [] then "  nothing" else .[] | f end;
  (.[2].rows | group_by(.topic) | map({
    topic: .[0].topic, now: (map(.deletable_bytes_now // 0) | add),
    more: (map((.deletable_bytes // 0) - (.deletable_bytes_now // 0)) | add),
    name: (if .[0].settings_from["remote.storage.enable"] == "topic" then "local." else "" end
      + "retention.ms")})) as $topics
  | (.[0].rows[] | "\(.name): \(.file_system_free_bytes | size) of \(.file_system_bytes | size) free, "
      + "\(.leaving_bytes | size) in directories that a running broker removes"),
    "By itself, within log.retention.check.interval.ms (5 minutes) of a running broker:",
    ($topics | map(select(.now > 0)) | sort_by(-.now) | lines("  \(.now | size)  \(.topic)")),
    "If you lower retention, and undo it afterwards:",
    ($topics | map(select(.more > 0 and (.topic | startswith("__") | not))) | sort_by(-.more)
      | lines("  \(.more | size)  \(.topic):",
        "    kafka-configs.sh --bootstrap-server HOST:9092 --alter --entity-type topics "
          + "--entity-name \(.topic) --add-config \(.name)=\($ms)")),
    "Former replicas, for a person to judge (kcli runbook stray-directory):",
    (.[1].rows | map(select(.state == "stray")) | lines("  \(.disk_bytes | size)  \(.dir)"))'
echo "Note the old values first: kafka-configs.sh ... --describe --entity-type topics --entity-name NAME."
echo "To undo: --add-config with the old value, or --delete-config if the topic had none of its own."
[ -z "$gaps" ] || exit 4
printf '%s\n' "$retention" | jq -e 'any(.rows[]; (.deletable_bytes_now // 0) > 0
  or (.deletable_bytes // 0) > 0 and (.topic | startswith("__") | not))' > /dev/null
