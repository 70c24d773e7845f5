#!/bin/sh
# Writes deploy/.env with generated secrets, for deploy/compose.yaml. An existing file is not changed.
set -eu
cd "$(dirname "$0")"
umask 077
if [ -e .env ]; then echo "$(pwd)/.env already exists." >&2; exit 1; fi
secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
cat > .env <<END
POSTGRES_PASSWORD=$(secret)
SECRET_KEY=$(secret)
S3_ACCESS_KEY=agent-core
S3_SECRET_KEY=$(secret)
# Addresses at which clients reach the service and the files that it creates.
PUBLIC_URL=http://localhost:8080
S3_PUBLIC_ENDPOINT=http://localhost:7070
# Host addresses on which both are published.
LISTEN=127.0.0.1:8080
S3_LISTEN=127.0.0.1:7070
WORKERS=2
END
echo "Created $(pwd)/.env"
