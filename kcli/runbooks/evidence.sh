#!/bin/sh
# What may a vendor see of an incident without a key or a value?
# 0: the archive is made; 3, 4: made, files that cannot be read are in it as errors; else: it is not made
#
# Headers, offsets, epochs, times, sizes, findings, and the log dirs as kcli bundle writes them: no key, value
# or header of a record, no secret. Names of topics, groups, clients, hosts, directories and producer ids ARE
# in it, and findings quote lines of damaged checkpoints: look before you send it.
#   sh evidence.sh NEW_DIR LOG_DIR...           or: sh evidence.sh NEW_DIR --server-config FILE
# NEW_DIR is made, outside of log dirs; NEW_DIR.tar.gz is what you send. Do it before a restart: a start
# changes the files. Copy the damaged partition directories whole as well, and keep them.
set -eu
export KCLI_CONFIG= # the settings of a person are not those of this script
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit "$1"; }
case "$# ${1-}" in *" -h" | *" --help") usage 0 ;; [01]" "*) usage 2 >&2 ;; esac
case $1 in -*) usage 2 >&2 ;; esac # a directory, not an option
out=${1%/}
shift
if [ -e "$out" ] || [ -e "$out.tar.gz" ]; then
  echo "$out or $out.tar.gz is there already: name a new directory" >&2
  exit 2
fi

whole=0
unwritten() { echo "$out.tar.gz is not there, or not whole: begin anew where there is room" >&2 && exit 1; }
keep() { # keep a run of kcli below NEW_DIR: rows, findings, errors, run.json with its arguments and version
  name=$1 status=0
  shift
  kcli "$@" -o ndjson --out "$out/$name/" || status=$?
  case $status in
    0 | 1) ;;
    3 | 4) # some files could not be read: that is evidence, too
      [ -d "$out/$name" ] || unwritten
      whole=$status ;;
    *) exit "$status" ;;
  esac
}
keep ls ls "$@"
keep startup startup "$@"
keep check check --rate 50M "$@"
keep epochs epoch show "$@"
keep checkpoints checkpoint show "$@"

# The log dirs themselves, without payloads: the vendor asks kcli of them what he likes (kcli bundle -h).
status=0
kcli bundle "$@" -o table --out "$out/bundle.tar.gz" || status=$?
case $status in
  0) ;;
  3 | 4)
    [ "$status" -eq 3 ] || [ -e "$out/bundle.tar.gz" ] || unwritten
    whole=$status ;;
  *) exit "$status" ;;
esac

tar --force-local -C "$out" -czf "$out.tar.gz" . || unwritten # a name such as ev-10:30 is no host
echo "$out.tar.gz is made. Look into it before you send it: tar tzf $out.tar.gz"
[ "$whole" -eq 0 ] || echo "Some files could not be read: see the folders errors in it." >&2
exit "$whole"
