"""Draw the pictures of README anew."""

from tests.pictures import main

main()
