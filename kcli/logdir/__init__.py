"""Where bytes come from: log dirs on disk, opened read-only, walked lazily, every entry classified."""
