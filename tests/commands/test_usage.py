"""What is said of a value that an option cannot use: which it was, and which can be used."""

import shlex

import pytest
from typer.testing import CliRunner

from commands.app import app

ID = "u4NdSfWRQjaZ_ENyxMXLJA"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("ls --limit x", "--limit: expected a whole number of at least 0, found 'x'"),
        (f"ls --limit {2**63}", f"--limit: expected a whole number from 0 to {2**63 - 1}, found {2**63}"),
        ("ls --limit -1", "--limit: expected a whole number of at least 0, found -1"),
        ("dump --max-batch-bytes 0", "expected a whole number from 1 to 2147483647, found 0"),
        ("ls --partition -1", "partition '-1': expected a whole number from 0 to 2147483647"),
        ("ls --partition 3..", "partition '3..': write both ends of a range, such as 3..99"),
        ("dump --epoch 3..", "--epoch '3..': write both ends of a range, such as 3..99"),
        ("dump --producer-id 4000..", "--producer-id '4000..': write both ends of a range, such as 4000.."),
        ("replica elect --isr 3..", "--isr 3..: expected ids of brokers, as in --isr 1,2 or 1..3"),
        ("lookup timestamp -1h", "no such option: -1h; for so long ago write 1h"),
        ("lookup timestamp -5", "no such option: -5"),
        ("scan --no-summary", "where settings switch --summary on, KCLI_SUMMARY=0 switches it off"),
        ("ls --no-summary", "no such option: --no-summary"),
        ("rlmm state --at -1h", "time '-1h': for so long ago write 1h"),
        ("ls --partition 3-1", "partition '3..1': the range is empty; did you mean 1..3?"),
        ("dump --offsets 9..5", "--offsets 9..5: the range is empty; did you mean 5..9?"),
        ("dump --offsets x", "--offsets x: expected offsets such as 100..200, 100.., ..200 or 100"),
        ("dump --time 9..5", "--time 9..5: the range is empty, it ends before it begins"),
        ("ls --limit 5 --limit 7", "kcli: --limit is given 2 times; it takes one value"),
        ("ls -o csv --output json -o tsv", "kcli: --output is given 3 times; it takes one value"),
        ("ls --only a --only b", "kcli: --only is given 2 times; it takes one value"),
        ("dump --control --no-control", "kcli: --control is given 2 times; it takes one value"),
        ("ls --columns segmens", "'segmens'; did you mean segments? kcli help columns ls lists all"),
        ("ls --sort=-zzz", "--sort: no column 'zzz'; there are dir, broker_id"),
        ("scan --only scan_segmnt", "did you mean scan_segment"),
        ("rlmm partition --topic t", "no such option: --topic"),
        ("epoch --install-completion", "no such option: --install-completion"),
        ("rlmm --show-completion", "no such option: --show-completion"),
        ("rlmm partition --jobs 2", "no such option: --jobs"),
        ("dump --epoch -2", "-2"),
        (f"dump --epoch {1 << 31}", f"{1 << 31}"),
        ("dump --producer-id -2", "-2"),
        (f"dump --producer-id {1 << 63}", f"{1 << 63}"),
        ("epoch end-offset", "--epoch"),
        ("epoch end-offset --epoch 2 --columns nothing", "no column 'nothing'"),
        ("epoch end-offset --epoch 2 --sort nothing", "no column 'nothing'"),
        ("epoch end-offset --epoch 2 --columns dir,dir", "dir"),
        ("epoch end-offset --epoch 2 --columns ''", "--columns"),
        ("epoch end-offset --epoch 2 --jobs 2 --spark", "--spark"),
        ("epoch end-offset --epoch 2 --spark-conf novalue", "--spark-conf"),
        ("epoch end-offset --epoch 2 --spark-master x --spark-remote y", "--spark-remote"),
        ("epoch end-offset --epoch 2 --jobs 0", "--jobs"),
        ("epoch end-offset --epoch 2 --fail-on sometimes", "--fail-on"),
        ("epoch end-offset --epoch 2 --color blue", "--color"),
        ("epoch end-offset --epoch 2 -o xml", "xml"),
        ("epoch end-offset --epoch 2 --topic-regex '('", "--topic-regex"),
        ("epoch end-offset --epoch 2 --files-from absent", "absent"),
        ("epoch end-offset --epoch 2 --server-config absent", "absent"),
        ("epoch show --from rumours", "rumours"),
        ("epoch show --broker dead", "dead"),
        ("epoch at soon", "soon"),
        ("lookup offset x", "x"),
        ("lookup timestamp soon", "soon"),
        ("truncate", "--to-offset"),
        ("truncate --to-offset 5 --to-epoch 1", "--to-epoch"),
        ("truncate --to-offset 5 --to-high-watermark", "--to-high-watermark"),
        ("truncate --to-offset 5 --shutdown maybe", "maybe"),
        ("truncate --to-offset -1", "-1"),
        ("truncate --to-epoch -1", "-1"),
        ("truncate --to-offset five", "five"),
        ("replica elect --isr x", "--isr x: expected ids of brokers"),
        ("replica elect --isr 1 --metadata y", "use --isr or --metadata, not both"),
        ("replica elect --metadata /absent", "--metadata /absent: no such file"),
        ("scan --summary --only scan_segment", "--summary and --only scan_segment contradict each other"),
        *(
            (f"scan --rate={text}", f"kcli: --rate {text}: expected a rate such as 500K, 50M or 1G")
            for text in ("0", "-1", "M", "1T", "1.5M", "50m")
        ),
        ("rlmm state --lookup 2:x", "2:x"),
        ("rlmm state --next-txn 9999999999:1", "9999999999:1"),
        ("rlmm state --list 1 --highest 1", "--highest"),
        ("rlmm state --deleted --list 1", "--deleted"),
        *(
            (f"{name} --at ''", "kcli: time '': expected epoch milliseconds")
            for name in ("compact", "producers", "retention", "rlmm retention", "startup", "txn open")
        ),
        ("rlmm retention --retention-ms 10 --local-retention-ms 11", "--local-retention-ms 11"),
        ("rlmm dump -o text --format yaml", "--format yaml"),
        ("rlmm dump --format kafka", "-o text"),
        ("startup --shutdown maybe", "--shutdown maybe: expected one of clean, unclean"),
        ("startup --kafka-version 2.8", "--kafka-version 2.8: expected a release such as 3.9 or 4.3.1"),
        ("startup --kafka-version 9.9", "--kafka-version 9.9: 4.4 is the newest release whose start"),
        ("startup --read-rate fast", "--read-rate fast: expected a rate such as 500K, 50M or 1G"),
        ("epoch validate --position 20", "expected OFFSET:EPOCH"),
        ("epoch validate --position 20:x", "leader epoch 'x'"),
        ("epoch validate --position -1:2", "offset '-1'"),
        ("epoch validate --position 20:2147483648", "leader epoch"),
        ("epoch validate --position 20:2 --reset soon", "expected one of earliest, latest, none"),
        ("epoch validate --position 20:2 --metadata /absent", "--metadata /absent: no such file"),
        ("scan -o junit", "junit"),
        ("failover", "who goes away?"),
        ("failover --broker x", "--broker x: expected ids of brokers"),
        ("failover --controller --zk", "leave out --zk"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(tmp_path, words, message):
    done = CliRunner().invoke(app, [*shlex.split(words), str(tmp_path)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("help columns epok show", "help columns epok show: did you mean epoch show"),
        ("help columns", "help columns COMMAND: expected one of epoch show, "),
        ("help nosuch", "kcli: help nosuch: no such page; kcli help lists the pages\n"),
        ("help trunc", "kcli: help trunc: no such page; did you mean truncation or truncate?"),
        ("truncat", "no such command: truncat; did you mean truncate?"),
        ("zzz", "no such command: zzz; kcli -h lists the commands"),
        ("fsck", "no such command: fsck; kcli check answers that"),
        ("version", "no such command: version; kcli --version answers that"),
        ("epoch shw", "kcli: no such command: epoch shw; did you mean show?"),
        ("epoch zzz", "kcli: no such command: epoch zzz; kcli epoch -h lists the commands"),
        ("ls --nosuch", "kcli: no such option: --nosuch; did you mean --nul or --out? kcli ls -h says what"),
        ("ls --jobs", "kcli: option --jobs requires an argument; kcli ls -h says what it takes"),
        ("epoch at", "kcli: missing argument OFFSET; kcli epoch at -h says what it takes"),
        ("--zzz", "kcli: no such option: --zzz; kcli -h says what it takes"),
        ("epoch show", "expected at least one PATH"),
        ("lookup offset 3", "expected at least one PATH"),
        ("ls --topik x", "--topic"),
        ("explain EPOC-001", "no such code; did you mean EPOCH-001"),
        ("runbook pre-start", "kcli: runbook pre-start: no such runbook; did you mean pre-start-gate?"),
        ("-v ls", "kcli: -v belongs after the command"),
        ("schema", "epoch end-offset"),
        ("schema epoch", "epoch end-offset"),
        ("schema nothing at all", "epoch end-offset"),
        ("schema lss", "kcli: schema lss: did you mean ls? expected one of "),
        ("replica simulate", "name a SCENARIO, or use --list"),
        ("replica simulate loss --list", "name a SCENARIO, or use --list"),
        ("replica simulate loss --protocol raft", "--protocol raft: expected one of high-watermark"),
        ("replica simulate lost", "lost: expected a .toml file, or one of high-watermark"),
        ("replica simulate absent.toml", "absent.toml: no such file"),
        ("rlmm partition --layout 3.6 foo:0", "--layout 3.6: expected one of kafka, kip"),
        ("rlmm partition --layout kip :0", ":0"),
        ("rlmm partition --layout kip foo", "foo"),
        ("rlmm partition foo:0", "foo:0"),
        (f"rlmm partition {ID}", ID),
        (f"rlmm partition {ID}:-1", f"{ID}:-1"),
        (f"rlmm partition {ID}:2147483648", "2147483648"),
        (f"rlmm partition {ID}:0 --partitions 0", "--partitions"),
        ("rlmm bootstrap --bootstrap-server x:1 --timeout 0s", "--timeout"),
        ("rlmm bootstrap --bootstrap-server x:1 --timeout 1h", "--timeout"),
        ("rlmm bootstrap --bootstrap-server x:1 --command-config no/such.properties", "no/such.properties"),
        ("rlmm bootstrap --bootstrap-server x:1 --events .", "--events"),
        ("rlmm bootstrap --bootstrap-server x:1 -o text", "text"),
        ("partition-for", "use one of --key, --group"),
        ("partition-for --key a", "--key needs --partitions N"),
        ("partition-for --key a --partitions 3 --as int", "--key a: expected a key as int"),
        ("partition-for --key 99999999999 --partitions 3 --as int", "expected a key as int"),
        ("partition-for --key a --partitions 3 --as avro", "--as avro: expected one of string"),
        ("partition-for --topic-id x:0", "--topic-id x:0: expected TOPIC_ID:PARTITION"),
        ("partition-for --topic-id ''", "kcli: --topic-id '': expected TOPIC_ID:PARTITION"),
        (f"partition-for --share-group {ID}:0", "expected GROUP:TOPIC_ID:PARTITION"),
        ("partition-for --group a --partitions 0", "--partitions"),
        ("uuid -- ''", "kcli: '': expected "),
        *((f"uuid -- {text}", f"kcli: {text}: expected ") for text in ("x", "g" * 32, ID[:-1], f"{ID}AA")),
    ],
)
def test_a_line_that_means_nothing_is_named(kcli, words, message):
    done = kcli(*shlex.split(words))
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("repeated", "together"),
    [
        ("epoch end-offset --epoch 0 --epoch 2,3", "epoch end-offset --epoch 0,2,3"),
        ("epoch show --columns epoch --columns dir", "epoch show --columns epoch,dir"),
        ("epoch show --sort topic --sort=-epoch", "epoch show --sort topic,-epoch"),
        ("epoch show --topic orders --topic plain", "epoch show --topic orders,plain"),
        ("epoch show --partition 0 --partition 3-4", "epoch show --partition 0,3-4"),
        ("dump --only dump_batch --epoch 0 --epoch 3", "dump --only dump_batch --epoch 0,3"),
        ("dump --only dump_batch --codec none --codec zstd", "dump --only dump_batch --codec none,zstd"),
        (
            "dump --only dump_batch --producer-id 7 --producer-id=-1",
            "dump --only dump_batch --producer-id 7,-1",
        ),
    ],
)
def test_a_list_is_repeated_or_has_commas(kcli, log_dir, repeated, together):
    for name in ("orders-0", "orders-1", "plain-3"):
        log_dir.partition(name)
    one, other = (kcli(*words.split(), log_dir.path, "-o", "tsv") for words in (repeated, together))

    assert (one.exit_code, one.stdout) == (other.exit_code, other.stdout)
    assert one.exit_code == 0 and one.stdout.count("\n") > 1


@pytest.mark.parametrize("question", ["check", "lookup offset 5", "lookup timestamp 5", "follow --leader"])
def test_a_directory_of_remote_storage_is_there_and_no_archive(kcli, orders, tmp_path, question):
    packed = tmp_path / "tier.tar"
    packed.write_bytes(b"")
    paths = (orders, orders) if "--leader" in question else (orders,)
    for path in (packed, packed / "tier", tmp_path / "gone"):
        done = kcli("rlmm", *question.split(), *paths, "--storage", path)
        assert (done.exit_code, done.stdout) == (2, "")
        assert f"--storage {path}: " in done.stderr
        assert ("archive: unpack it" in done.stderr) is (path.name != "gone")
