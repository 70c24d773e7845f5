#!/usr/bin/env bash
# One question, one JSON answer. With SESSION=name, the service keeps the conversation.
. "$(dirname "$0")/core.sh"
needs 1 "'QUESTION'" "$@"
core chain ${SESSION:+-H "session-id: $SESSION"} -d "{\"messages\": [{\"role\": \"user\", \"content\": $(json "$1")}]}"
echo
