"""`kcli sql`: values that SQL knows and Parquet, JSON or Python may not."""

import json

import pytest

pytestmark = pytest.mark.slow


def test_parquet_keeps_types(kcli, dirs, tmp_path):
    from pyarrow import parquet

    query = "SELECT key, headers, crc FROM records JOIN batches USING (dir, position) LIMIT 9"
    done = kcli("sql", query, dirs[0],
                "--out", tmp_path / "o.parquet")  # fmt: skip
    schema = parquet.read_table(tmp_path / "o.parquet").schema

    assert done.exit_code == 0
    assert [str(kind) for kind in schema.types][::2] == ["binary", "int64"]


LARGE = {
    "18446744073709551615::UBIGINT": ("uint64", 2**64 - 1),
    "9223372036854775808::HUGEINT": ("decimal128(38, 0)", 2**63),
    "-99999999999999999999999999999999999999::HUGEINT": ("decimal128(38, 0)", 1 - 10**38),
    "7::DECIMAL(18, 0)": ("int64", 7),
    "1.50::DECIMAL(10, 2)": ("decimal128(10, 2)", 1.5),
    "12345678901234567890.123::DECIMAL(38, 10)": ("decimal128(38, 10)", "12345678901234567890.1230000000"),
    "-0.1234567890123456789::DECIMAL(38, 19)": ("decimal128(38, 19)", "-0.1234567890123456789"),
}
"""Numbers of SQL: their type in Parquet, and their value in JSON."""


@pytest.mark.parametrize("target", ["o.parquet", "run/"])
def test_parquet_has_large_numbers(kcli, dirs, tmp_path, target):
    from pyarrow import parquet

    columns = ", ".join(
        f"{number} AS c{place}, {{'a': [{number}, NULL]}} AS s{place}" for place, number in enumerate(LARGE)
    )
    query = f"SELECT {columns} UNION ALL SELECT {', '.join(['NULL'] * 2 * len(LARGE))}"
    done = kcli("sql", query, dirs[0], "--out", f"{tmp_path}/{target}", "-o", "parquet")
    assert done.exit_code == 0
    file = next((tmp_path / "run" / "rows").glob("*.parquet"), tmp_path / "o.parquet")
    table = parquet.ParquetFile(file).read()
    for place, (kind, value) in enumerate(LARGE.values()):
        assert str(table.schema.field(f"c{place}").type) == kind
        plain, nested = (table.column(f"{word}{place}").to_pylist() for word in "cs")
        assert str(plain[0]) == {1.5: "1.50"}.get(value, str(value))
        assert (plain[1], nested) == (None, [{"a": [plain[0], None]}, None])


def test_parquet_has_no_number_of_39_digits(kcli, dirs, tmp_path):
    query = "SELECT 100000000000000000000000000000000000000::HUGEINT AS x"
    out = tmp_path / "o.parquet"
    done = kcli("sql", query, dirs[0], "--out", out)

    assert (done.exit_code, done.stdout, out.exists()) == (4, "", False)
    assert done.stderr == f"kcli: --out {out}: cannot write: a number has more than 38 digits\n"
    assert kcli("sql", query, dirs[0], "-o", "tsv", "--no-headers").stdout == f"{10**38}\n"


def test_large_numbers_have_all_their_digits(kcli, dirs):
    query = f"SELECT {', '.join(f'{one} AS c{place}' for place, one in enumerate(LARGE))}"
    row = json.loads(kcli("sql", query, dirs[0], "-o", "ndjson").stdout)
    cells = kcli("sql", query, dirs[0], "-o", "tsv", "--no-headers").stdout

    assert [*row.values()][1:] == [value for _, value in LARGE.values()]
    assert cells.rstrip().split("\t") == [str(value) for _, value in LARGE.values()]


def test_decimals_are_compared_and_sorted_as_numbers(kcli, dirs):
    numbers = ["0.5", "12345678901234567890.25", "3.0", "-99999999999999999999.75"]
    query = f"SELECT unnest([{', '.join(numbers)}]::DECIMAL(38, 2)[]) AS x"
    words = ("-o", "tsv", "--no-headers", "--sort", "x", "--where", "x > 0.5 or x < 0")
    done = kcli("sql", query, dirs[0], *words)

    assert (done.exit_code, done.stdout) == (0, f"{numbers[3]}\n3.0\n{numbers[1]}\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (f"{2**128 - 1}::UHUGEINT", str(2**128 - 1)),
        (f"{10**49 + 1}::BIGNUM", str(10**49 + 1)),
        ("'101010'::BIT", "101010"),
        ("'10:00:00+05:30'::TIMETZ", "10:00:00+05:30"),
        ("union_value(n := 1)", "1"),
        ("1::VARIANT", "1"),
    ],
)
def test_a_value_that_arrow_has_no_type_for_is_the_text_of_duckdb(kcli, dirs, tmp_path, value, text):
    from pyarrow import parquet

    query = f"SELECT {value} AS x, 1 AS x, [{value}, NULL] AS z"
    row = json.loads(kcli("sql", query, dirs[0], "-o", "ndjson").stdout)
    del row["type"]

    assert row == {"x": text, "x_1": 1, "z": f"['{text}', NULL]" if ":" in text else f"[{text}, NULL]"}
    assert kcli("sql", query, dirs[0], "--out", tmp_path / "o.parquet").exit_code == 0
    table = parquet.read_table(tmp_path / "o.parquet")
    assert table.column("x").to_pylist() == [text]


@pytest.mark.parametrize(
    ("key", "order"), [("x", "-Infinity 0.5 1.5 Infinity NaN"), ("-x", "NaN Infinity 1.5 0.5 -Infinity")]
)
def test_floats_that_are_no_numbers_are_sorted_as_duckdb_does(kcli, dirs, key, order):
    query = "SELECT x::DOUBLE AS x FROM (VALUES ('1.5'), ('nan'), ('0.5'), ('inf'), ('-inf'), (NULL)) t(x)"
    done = kcli("sql", query, dirs[0], f"--sort={key}", "--no-headers")

    assert (done.exit_code, done.stdout.split()) == (0, [*order.split(), "\\N"])
