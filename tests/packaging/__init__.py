"""What `make dist` makes: wheel, sdist, man page and one file that needs nothing but Python."""
