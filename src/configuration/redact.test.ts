import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAgentConfig } from './parse.ts'
import { hideUrlSecrets, redactConfig } from './redact.ts'

const text = `
llms:
  primary:
    provider: openai-compatible
    model: x
    base_url: https://me:hunter2@models.example/v1?key=hunter2#top
    api_key: hunter2
    headers: {authorization: "Bearer hunter2", x-tenant: "\${TENANT}", x-token: "Bearer \${TOKEN}", x-mixed: "hunter2\${TOKEN}"}
  fallback:
    - {provider: amazon-bedrock, model: y, access_key_id: hunter2, secret_access_key: "\${SECRET}", session_token: hunter2}
tools:
  - {name: sales, type: data_query, config: {tables: {sales: data/sales.csv}}}
instructions: See https://docs.example/?page=2 and https://me:hunter2@docs.example/.
`

test('every secret is masked; references and other values stay unchanged', () => {
  const config = parseAgentConfig(text)
  const shown = redactConfig(config)
  assert.doesNotMatch(JSON.stringify(shown), /hunter2/)
  assert.deepEqual(shown.llms.primary, {
    ...config.llms.primary,
    base_url: 'https://********@models.example/v1?********#top',
    api_key: '********',
    headers: { authorization: '********', 'x-tenant': '${TENANT}', 'x-token': 'Bearer ${TOKEN}', 'x-mixed': '********' },
  })
  assert.deepEqual(shown.llms.fallback[0], {
    ...config.llms.fallback[0],
    access_key_id: '********',
    secret_access_key: '${SECRET}',
    session_token: '********',
  })
  assert.deepEqual(shown.tools, config.tools)
  assert.equal(shown.instructions, 'See https://docs.example/?page=2 and https://********@docs.example/.')
})

test('the original configuration is not modified', () => {
  const config = parseAgentConfig(text)
  redactConfig(config)
  assert.deepEqual(config, parseAgentConfig(text))
})

test('a configuration without secrets is shown unchanged', () => {
  const config = parseAgentConfig('id: mine\nllms: {primary: {provider: openai, model: x, base_url: "https://host/v1"}}')
  assert.deepEqual(redactConfig(config), config)
})

test('the config of a tool of unknown type is masked completely', () => {
  const config = parseAgentConfig('tools: [{name: calculator}]')
  config.tools.push({ name: 'later', type: 'later', config: { url: 'x', args: ['a', 7], token: '${T}' } })
  assert.deepEqual(redactConfig(config).tools[1]?.config, { url: '********', args: ['********', '********'], token: '${T}' })
})

test('users and queries of URLs are masked, except references', () => {
  const cases: [string, string][] = [
    ['https://${USER}:${PASS}@host/${PATH}?key=${KEY}&v=${V}', 'https://${USER}:${PASS}@host/${PATH}?key=${KEY}&v=${V}'],
    ['https://me:${PASS}@host/?key=${KEY}&v=1', 'https://********@host/?********'],
    ['https://me:se/cr@et@host/x', 'https://********@host/x'],
    ['https://me:se?cr@host/x', 'https://********@host/x'],
    ['https://host/@scope/package', 'https://host/@scope/package'],
    ['--db=postgres://u:p@h:5432/d?sslkey=k', '--db=postgres://********@h:5432/d?********'],
    ['${BASE}/v1', '${BASE}/v1'],
    ['a?b=c', 'a?b=c'],
  ]
  for (const [given, shown] of cases) assert.equal(hideUrlSecrets(given), shown)
})
