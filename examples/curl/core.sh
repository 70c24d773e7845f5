# Sourced by the other scripts. `core PATH [CURL OPTIONS]` calls the service. The key stays out of the list of processes.
set -euo pipefail
: "${AGENT_CORE_KEY:?is not set. Run: export AGENT_CORE_KEY=\$(cat .agent-core/admin.key)}"

# Ends the script with its usage, unless so many arguments are given: `needs 1 "'QUESTION'" "$@"`.
needs() {
  local count=$1 usage=$2
  shift 2
  [ $# -ge "$count" ] || { echo "Missing arguments: $(basename "$0") $usage" >&2; exit 2; }
}

core() {
  curl -sS --no-buffer --fail-with-body "${AGENT_CORE_URL:-http://127.0.0.1:8080}/core/v1/$1" "${@:2}" \
    -H @<(printf 'x-service-access: %s' "$AGENT_CORE_KEY") -H 'content-type: application/json'
}

# The text as a JSON string.
json() { printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"; }
