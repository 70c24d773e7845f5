#!/usr/bin/env bash
# Hands a question over as a CloudEvent and returns at once; then waits for the end of the run and reads its outcome.
# An id is accepted once: sending the same id again runs nothing a second time.
. "$(dirname "$0")/core.sh"
needs 2 "ID 'QUESTION'" "$@"
accepted=$(core chain_async -d "{\"specversion\": \"1.0\", \"type\": \"ai.service.agent.chain\", \"source\": \"urn:example:curl\", \"id\": $(json "$1"),
  \"data\": {\"messages\": [{\"role\": \"user\", \"content\": $(json "$2")}]}}")
echo "$accepted"
run=$(sed -E 's/.*"request_id":"([^"]+)".*/\1/' <<< "$accepted")
# The stream of a run ends with the run.
core "runs/$run/stream" > /dev/null
core "runs/$run"
echo
