"""What kafka-dump-log misreads, and kcli does not."""

LEADER_CHANGE = (
    b"\0\0\0\2",
    bytes.fromhex("0001000000030200000001" + "000100" + "00" * 12 + "01" + "000100"),
)
"""A leader change of version 1 with a voter's directory, AAEAAAAAAAAAAAAAAAAAAQ; none granted its vote."""


MISREAD = {
    "LeaderChange of version 1": (
        "the tool reads it as version 0, and takes the directories for tags and voters; kcli prints them",
        LEADER_CHANGE,
        *(
            'LeaderChange: {"version":1,"leaderId":3,"voters":[{"voterId":1,'
            f'"voterDirectoryId":"{directory}"}}],"grantingVoters":[]}}'
            for directory in ("AAAAAAAAAAAAAAAAAAAAAA", "AAEAAAAAAAAAAAAAAAAAAQ")
        ),
    )
}
"""Control records that no recording has: why, key and value, what the tool printed, what kcli prints."""


LEADER_CHANGED = bytes.fromhex("0001000000030200000001" + "ff" * 16 + "000200000001" + "ff" * 16 + "0000")
