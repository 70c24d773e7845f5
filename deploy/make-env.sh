#!/bin/sh
# Writes deploy/.env with secrets of its own, for deploy/compose.yaml; one that is there stays as it is.
set -eu
cd "$(dirname "$0")"
umask 077
if [ -e .env ]; then echo "$(pwd)/.env is there already." >&2; exit 1; fi
secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
cat > .env <<END
POSTGRES_PASSWORD=$(secret)
SECRET_KEY=$(secret)
S3_ACCESS_KEY=agent-core
S3_SECRET_KEY=$(secret)
# How clients reach the service, and the links to files that it makes.
PUBLIC_URL=http://localhost:8080
S3_PUBLIC_ENDPOINT=http://localhost:7070
# Where both are published.
LISTEN=127.0.0.1:8080
S3_LISTEN=127.0.0.1:7070
WORKERS=2
END
echo "Made $(pwd)/.env"
