# Sourced by the other scripts. `core PATH [CURL OPTIONS]` calls the service. The key stays out of the list of processes.
set -euo pipefail
: "${AGENT_CORE_KEY:?is not set. Run: export AGENT_CORE_KEY=\$(cat .agent-core/admin.key)}"

core() {
  curl -sS --no-buffer --fail-with-body "${AGENT_CORE_URL:-http://127.0.0.1:8080}/core/v1/$1" "${@:2}" \
    -H @<(printf 'x-service-access: %s' "$AGENT_CORE_KEY") -H 'content-type: application/json'
}

# The text as a JSON string.
json() { printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"; }
