# shellcheck shell=bash
# Signs you in as the Owner for ./dev kndl, and gives the Hub your setup token.

DEV_LOGIN=${KNDL_DEV_LOGIN:-ada}

sign_in() { :; }
