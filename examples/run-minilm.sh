#!/usr/bin/env bash
# Sets up what is missing, then turns sentences into embeddings with MiniLM. Arguments are the sentences.
set -euo pipefail
# shellcheck source=../.ci/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../.ci/setup.sh"
cd "$ROOT"
setup_environment
setup_python examples
setup_models
setup_adapter
exec "$PYTHON" -m examples.minilm "$@"
