#!/bin/sh
# Says hello to whom it is told to.
printf "Hello, %s!\n" "${1:-world}"
