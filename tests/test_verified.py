"""The page of what is verified says what the judges' files say; but for the days of the last run."""

from tests.verified import PAGE, PARTS, last_run, reported, text


def test_the_page_is_what_the_judges_say():
    """Else `python -m tests.verified` writes it."""
    page = PAGE.read_text()
    assert text(last_run(page)) == page
    assert len(page.splitlines()) <= 60


def test_a_report_gives_what_passed_and_the_day(tmp_path):
    for part, failures in (("live", 0), ("spark", 2)):
        (tmp_path / f"{part}.xml").write_text(
            f'<testsuites><testsuite errors="0" failures="{failures}" skipped="1" tests="1204" '
            'timestamp="2026-11-28T23:00:00.1+00:00" /></testsuites>'
        )
    last = reported([tmp_path])
    assert last == {"live": ("1,203", "2026-11-28"), "spark": ("1,201, 2 failed", "2026-11-28")}
    assert last_run(text(last)) == dict.fromkeys(PARTS, ("–", "–")) | last
