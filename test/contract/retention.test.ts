import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { createFolder, runIn } from '../../src/cli/terminal-fixture.ts'
import { until } from '../fixtures/async-client.ts'
import { startService, type TestService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

const day = 86_400_000

/** Backdates a session and its runs. */
function age({ settings }: Pick<TestService, 'settings'>, sessionId: string, days: number): void {
  const database = new DatabaseSync(path.join(settings.dataDir, 'agent-core.db'), { timeout: 5000 })
  database.prepare('update sessions set updated_at = ? where session_id = ?').run(Date.now() - days * day, sessionId)
  database.prepare('update runs set ended_at = ? where session_id = ? and ended_at is not null').run(Date.now() - days * day, sessionId)
  database.exec("update jobs set due_at = 0 where kind = 'retention'")
  database.close()
}

test('Retention: old sessions are deleted with their files, old runs of kept sessions are 410, and the rest is unchanged', async (t) => {
  const write = callOf('write_file', { file_name: 'a.txt', content: 'x' })
  const service = await startService(t, {
    script: ({ body }) => (body.messages.at(-1).role === 'tool' ? { text: 'written' } : { calls: write.calls }),
    config: { tools: [{ name: 'write_file' }], retention: { sessions: 30, runs: 7 } },
  })
  const { client, settings } = service
  for (const id of ['old', 'kept', 'young']) await client.chat('write', { 'session-id': id, 'request-id': `r-${id}` })
  const folders = async () => (await readdir(path.join(settings.dataDir, 'artifacts'))).filter((name) => !name.startsWith('.'))
  const unstored = await client.request('POST', '/v1/responses', { body: { model: 'agent-core', input: 'write', store: false } })
  assert.equal((await folders()).length, 4)
  const operator = await service.as({ sub: 'olga', roles: ['operator'] })
  const before = (await operator.request('GET', '/core/v1/metrics')).body
  age(service, 'old', 31)
  age(service, 'kept', 8)
  age(service, unstored.headers.get('session-id')!, 1)
  await service.restart()

  const run = (id: string) => service.client.request('GET', `/core/v1/runs/r-${id}`)
  await until(
    async () => (await run('kept')).status,
    (status) => status === 410,
  )
  assert.deepEqual((await run('kept')).body.details, { error_type: 'Gone' })
  assert.equal((await service.client.request('GET', '/core/v1/runs/r-kept/stream')).status, 410)
  assert.equal((await service.client.chat('write', { 'session-id': 'kept', 'request-id': 'r-kept' })).status, 410)
  assert.equal((await service.client.request('POST', '/core/v1/runs/r-kept/feedback', { body: { score: 1 } })).status, 410)
  assert.deepEqual([(await run('old')).status, (await run('young')).status], [410, 200])

  const session = (id: string) => service.client.session(id)
  assert.deepEqual([(await session('old')).status, (await session('kept')).status], [404, 200])
  assert.equal((await session('kept')).body.messages[1].response_metadata.generated_artifacts.length, 1)
  await until(
    async () => (await folders()).length,
    (count) => count === 2,
  )
  const download = await service.client.request('GET', '/core/v1/download_artifact/1/0', { headers: { 'session-id': 'kept' } })
  assert.equal(await (await fetch(download.body.body.download_url)).text(), 'x')

  const reader = await service.as({ sub: 'olga', roles: ['operator'] })
  assert.deepEqual((await reader.request('GET', '/core/v1/metrics')).body, before)
  assert.equal((await reader.request('GET', '/core/v1/logs')).body.total, 1)
  // The session can continue.
  assert.equal((await service.client.chat('again', { 'session-id': 'kept' })).status, 200)
  assert.equal((await session('kept')).body.messages.length, 4)
})

test('Retention: "db prune" reports and removes expired data at once, also beside a running service', async (t) => {
  const service = await startService(t, { script: [{ text: 'a' }, { text: 'b' }], config: { retention: { sessions: 30 } } })
  for (const id of ['old', 'young']) await service.client.chat('hello', { 'session-id': id })
  const { settings } = service
  const environment = { DATA_DIR: settings.dataDir, AGENT_CONFIG: settings.agentConfig, FILES_ROOT: settings.filesRoot }
  const folder = await createFolder(t)
  const prune = (...args: string[]) => runIn(folder, ['db', 'prune', ...args], environment)
  assert.deepEqual(await prune(), { code: 0, out: 'No data is older than the retention of the configuration.\n', err: '' })
  age(service, 'old', 31)
  const dry = await prune('--dry-run')
  assert.deepEqual(
    { code: dry.code, out: dry.out },
    { code: 0, out: 'KIND      TENANT   COUNT\nsessions  default  1\nWould be removed: 1 sessions.\n' },
  )
  assert.equal((await service.client.session('old')).status, 200)
  assert.match((await prune()).out, /^Removed: 1 sessions\.$/m)
  assert.deepEqual([(await service.client.session('old')).status, (await service.client.session('young')).status], [404, 200])
  assert.match((await prune()).out, /^No data is older/)
})

test('Retention: limits are days, and 0 keeps data for ever; anything else is refused', async (t) => {
  const folder = await createFolder(t)
  const { writeFile } = await import('node:fs/promises')
  for (const [retention, code] of [
    [{ sessions: 0, runs: 0.5 }, 0],
    [{ sessions: -1 }, 1],
    [{ session: 1 }, 1],
    [{ runs: '90d' }, 1],
  ] as const) {
    await writeFile(path.join(folder, 'agent.yaml'), stringify({ retention }))
    const { code: found, out, err } = await runIn(folder, ['config', 'check'])
    assert.equal(found === 0 ? 0 : 1, code, JSON.stringify(retention) + out + err)
  }
})
