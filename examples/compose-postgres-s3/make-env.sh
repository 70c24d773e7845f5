#!/bin/sh
# Writes .env with new secrets for compose.yaml. A file that exists is kept: its secrets belong to the data.
set -eu
cd "$(dirname "$0")"
umask 077
if [ -e .env ]; then echo "$(pwd)/.env exists." >&2; exit 1; fi
secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
cat > .env <<END
POSTGRES_PASSWORD=$(secret)
SECRET_KEY=$(secret)
S3_SECRET_KEY=$(secret)
END
echo "Wrote .env"
