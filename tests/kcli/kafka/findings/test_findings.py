"""Findings of the pieces of a file become those of the whole file."""

from kcli.kafka.findings.findings import Finding, merged


def finding(code="LOG-003", path="d/a", position=0, more=None):
    return Finding(code, "words", "d", path, position, more=more)


def test_findings_of_one_kind_in_one_file_are_counted_at_the_first():
    found = merged([finding(position=5, more=0), finding(position=9, more=2)])

    assert [(finding.position, finding.message, finding.more) for finding in found] == [
        (5, "words (and 3 more)", None)
    ]


def test_other_files_other_codes_and_findings_that_are_all_listed_stay():
    different = [finding(more=0), finding(path="d/b", more=0), finding("LOG-007", more=0)]

    assert len(merged(different)) == 3
    assert len(merged([finding(), finding()])) == 2


def test_findings_of_a_file_come_in_the_order_of_its_bytes_and_those_without_a_byte_last():
    places = [9, None, 0]
    found = merged(finding(position=place) for place in places)

    assert [finding.position for finding in found] == [0, 9, None]
