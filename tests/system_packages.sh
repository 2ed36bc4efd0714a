#!/bin/sh
# Installs the system packages that some tests need, as root on Debian and its kin; otherwise names them in one line.
# Tests that miss theirs are skipped by name.
missing=""
command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
command -v java >/dev/null 2>&1 || missing="$missing openjdk-17-jre-headless"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    if { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >/dev/null 2>&1; then
        exit 0
    fi
    echo "could not install$missing: the tests that need them will be skipped" >&2
    exit 0
fi
echo "not installed:$missing (tests of the web console need chromium, tests on Spark need java; they will be skipped)" >&2
