#!/bin/sh
# One open issue for a label: opened with the report, or updated to it. one_issue.sh LABEL TITLE REPORT
set -eu
label=$1 title=$2 report=$3
gh label create "$label" --force >/dev/null
number=$(gh issue list --label "$label" --state open --limit 1 --json number --jq '.[].number')
if [ -n "$number" ]; then
  gh issue edit "$number" --body-file "$report"
else
  gh issue create --title "$title" --label "$label" --body-file "$report"
fi
