#!/usr/bin/env bash
# One question, one JSON answer. With SESSION=name, the service keeps the conversation.
. "$(dirname "$0")/core.sh"
core chain ${SESSION:+-H "session-id: $SESSION"} -d "{\"messages\": [{\"role\": \"user\", \"content\": $(json "${1:?Give a question.}")}]}"
echo
