import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toJsonSchema } from '../../../../src/configuration/schema-walk.ts'
import type { SchemaNode } from './schema-node.ts'
import { withoutSecrets } from './secrets.ts'

const schema = toJsonSchema() as SchemaNode

const text = `name: a  # stays
llms:
  primary: { provider: openai, model: m, api_key: sk-typed, headers: { x-team: team-typed, authorization: "Bearer \${TOKEN}" } }
  small:
    provider: openai-compatible
    base_url: https://me:pw-typed@models.example/v1
    api_key: "********"
tools:
  - name: m
    type: mcp
    config: { command: run, env: { KEY: env-typed } }
`

test('typed secrets are left out; masks, references and everything else stay', () => {
  const kept = withoutSecrets(text, schema)
  assert.doesNotMatch(kept, /-typed/)
  assert.equal(kept.split('""').length, 4)
  assert.match(kept, /name: a {2}# stays\n/)
  assert.match(kept, /"Bearer \$\{TOKEN\}"/)
  assert.match(kept, /api_key: "\*{8}"/)
  assert.match(kept, /https:\/\/models\.example\/v1/)
})

test('a text without typed secrets stays as it is', () => {
  const clean = 'llms:\n  primary: { provider: openai, model: m, api_key: "${KEY}" } # https://a.example\n'
  assert.equal(withoutSecrets(clean, schema), clean)
})

test('named secrets of a faulty text are left out too', () => {
  const kept = withoutSecrets('llms: [\n  primary:\n    api_key: sk-typed\n    client_secret: "cs-typed"\n    model: m\n', schema)
  assert.doesNotMatch(kept, /-typed/)
  assert.match(kept, /model: m/)
})
