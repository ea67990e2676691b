"""The walk past damage, summaries, and files judged against each other."""
