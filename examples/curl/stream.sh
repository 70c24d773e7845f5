#!/usr/bin/env bash
# One question, its answer as server-sent events. Each event has an id, from which a broken stream can be resumed (resume.sh).
. "$(dirname "$0")/core.sh"
needs 1 "'QUESTION'" "$@"
core chain_streaming -d "{\"on_disconnect\": \"continue\", \"messages\": [{\"role\": \"user\", \"content\": $(json "$1")}]}"
