#!/usr/bin/env bash
# Reads the rest of a run after the id of the last event that arrived: resume.sh 01a1fd5d-67f6-7502-b401-06e47c62549c:4
. "$(dirname "$0")/core.sh"
needs 1 'EVENT_ID' "$@"
core "runs/${1%:*}/stream" -H "last-event-id: $1"
