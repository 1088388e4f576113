#!/bin/sh
# Run every check, write what those that found a difference printed: checks.sh REPORT CHECK...
# Status 1 of a check is a difference, any other means that it could not be made, such as without
# the Hub. Fails where any check did; says differs=true where the report holds something.
set -u
report=$1
shift
PATH=$PWD/.venv/bin:$PATH
log=$(mktemp)
: >"$report"
failed=0
for check in "$@"; do
  sh -c "$check" >"$log" 2>&1
  status=$?
  echo "status $status: $check"
  test $status -eq 0 && continue
  failed=1
  cat "$log"
  test $status -eq 1 || continue
  # An issue holds 65,536 characters; the end of a log says what was wrong.
  { echo "## \`$check\`" && echo '```' && tail -c 12000 "$log" && echo '```'; } >>"$report"
done
rm -f "$log"
test -s "$report" && echo "differs=true" >>"${GITHUB_OUTPUT:-/dev/null}"
exit $failed
