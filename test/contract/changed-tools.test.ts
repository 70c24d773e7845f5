import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { execPath } from 'node:process'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startService } from '../fixtures/service.ts'

const rawServer = fileURLToPath(new URL('../fixtures/raw-mcp-server.ts', import.meta.url))

async function startPinned(t: TestContext) {
  const folder = await mkdtemp(path.join(tmpdir(), 'pinned-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const notes = path.join(folder, 'description')
  await writeFile(notes, 'One.')
  const tools = [{ name: 's', type: 'mcp', config: { command: execPath, args: [rawServer, 'changes', notes], pin: true } }]
  const service = await startService(t, { script: {}, config: { tools } })
  const admin = () => service.as({ sub: 'root', roles: ['admin'] })
  return {
    service,
    notes,
    changed: async (query = '') => (await admin()).request('GET', `/core/v1/tools/changed${query}`),
    accept: async (name: string, body?: object) =>
      (await admin()).request('POST', `/core/v1/tools/${encodeURIComponent(name)}/accept`, { body }),
    async statusOf(name: string): Promise<string | undefined> {
      const { body } = await (await admin()).request('GET', '/core/v1/tools')
      return body.tools.find((tool: { name: string }) => tool.name === name)?.status
    },
  }
}

test('Changed tools: a changed definition is listed with its differences, and accepted by its hash', async (t) => {
  const { service, notes, changed, accept, statusOf } = await startPinned(t)
  assert.equal(await statusOf('s__moody'), 'ready')
  assert.deepEqual((await changed()).body, { tools: [], offset: null, has_more: false })
  await writeFile(notes, 'Two.')
  await service.restart()
  assert.equal(await statusOf('s__moody'), 'error')
  const page = (await changed()).body
  const [tool] = page.tools
  assert.deepEqual(
    { ...tool, accepted: tool.accepted.description, changed: tool.changed.description },
    { name: 's__moody', entry: 's', accepted: 'One.', changed: 'Two.', changes: ['description changed'] },
  )
  assert.match(tool.changed.seen_at, /^\d{4}-.*Z$/)
  assert.deepEqual({ offset: page.offset, has_more: page.has_more }, { offset: 's__moody', has_more: false })
  assert.deepEqual((await changed('?before=s__moody')).body, { tools: [], offset: null, has_more: false })
  const wrong = await accept('s__moody', { hash: tool.accepted.hash })
  assert.deepEqual([wrong.status, wrong.body.details.error_type], [409, 'DefinitionChanged'])
  const right = await accept('s__moody', { hash: tool.changed.hash })
  assert.deepEqual([right.status, right.body], [200, { name: 's__moody', accepted: tool.changed }])
  const again = await accept('s__moody')
  assert.deepEqual([again.status, again.body.details.error_type], [404, 'NotFound'])
  const until = Date.now() + 5000
  while ((await statusOf('s__moody')) !== 'ready' && Date.now() < until) await sleep(50)
  assert.equal(await statusOf('s__moody'), 'ready')
  assert.equal(service.log.filter((line) => line.includes('A changed tool was accepted')).length, 1)
})

test('Changed tools: wrong parameters are 422, and an unknown tool is 404', async (t) => {
  const { changed, accept } = await startPinned(t)
  assert.equal((await changed('?limit=101')).status, 422)
  assert.equal((await accept('s__moody', { hash: 1 })).status, 422)
  assert.equal((await accept('s__moody', { other: 1 })).status, 422)
  assert.equal((await accept('s')).status, 404)
  assert.equal((await accept('__proto__')).status, 404)
  assert.equal((await accept('a/b', {})).status, 404)
})
