#!/bin/sh
# Has the new disk the same logs as the old one?
# 0: the same, or the fingerprints are taken; 1: they differ; 4: not all is read; else: kcli has no answer
#
# A log dir moves to another disk or volume. With the broker stopped:
#   sh disk-swap.sh before.ndjson /old/data       takes a fingerprint of each range of offsets, and then
#   rsync -aHS --delete /old/data/ /new/data/     copies all files: -a keeps times, owners and dot files
#   sh disk-swap.sh before.ndjson /new/data       compares, without the old disk
# The file must not lie in a log dir.
# Then put the new path into log.dirs in the place of the old one, with its own meta.properties: directory.id
# is what the cluster knows the log dir by. Before the start: kcli runbook pre-start-gate.
set -eu
export KCLI_CONFIG= # no setting of a person counts: neither the config file nor variables KCLI_...
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit "$1"; }
case "$# ${1-}" in *" -h" | *" --help") usage 0 ;; 2" "*) ;; *) usage 2 >&2 ;; esac
command -v jq > /dev/null || { echo "jq is not here" >&2 && exit 127; }
fingerprints=$1 dir=$2

take() { # fingerprints, of -stray and -future directories, too
  status=0
  kcli replica fingerprint -o ndjson --include-leftovers --fail-on never "$@" || status=$?
  [ "$status" -eq 0 ] || [ "$status" -eq 4 ] || exit "$status"
}
list() { # what kcli cannot read, and each error finding: of that there is no fingerprint
  jq -r 'select(.type == "error" or .severity == "error") | "NOT READ: \(.path // .dir): \(.message)"'
}

if [ ! -e "$fingerprints" ]; then
  take --out "$fingerprints" "$dir"
  gaps=$(list < "$fingerprints")
  echo "$fingerprints has the fingerprints of $dir. Copy it, then run this with the copy."
  [ -n "$gaps" ] || exit 0
  printf '%s\n' "$gaps" "NOT ALL of it can be read: nothing will show whether that is copied." >&2
  exit 4
fi
answer=$(take "$dir")

# One line a range: which directory, which offsets, how many bytes, their hash. Where it lies does not count.
differences=$(printf '%s\n' "$answer" | jq -rn --slurpfile before "$fingerprints" '
  def lines: map(select(.type == "fingerprint") | "\(.dir | sub(".*/"; "")) offsets \(.first_offset)"
    + "..\(.last_offset), start \(.log_start_offset), \(.batches) batches, \(.bytes) bytes, \(.hash)");
  [inputs] as $after | ($before | lines) as $old | ($after | lines) as $new
  | (($old - $new)[] | "  old  \(.)"), (($new - $old)[] | "  new  \(.)")')
gaps=$(printf '%s\n' "$answer" | cat "$fingerprints" - | list)
if [ -n "$differences" ]; then
  echo "THEY DIFFER. Keep the old disk, copy again with rsync -c:"
  printf '%s\n' "$differences" | sort -k 2
fi
if [ -n "$gaps" ]; then
  printf '%s\n' "$gaps" "NOT ALL of them can be read: nothing shows whether that is the same." >&2
  exit 4
fi
[ -z "$differences" ] || exit 1
number=$(printf '%s\n' "$answer" | jq -n '[inputs | select(.type == "fingerprint") | .dir] | unique | length')
echo "The same: $number partitions. Next: kcli check $dir (indexes, checkpoints), then pre-start-gate."
