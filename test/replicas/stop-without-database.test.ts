import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { event, sendEvent } from '../fixtures/async-client.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { startProxy } from '../fixtures/postgres-proxy.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { leaseMs } from '../../src/store/leases/holder.ts'
import { makeFolder, runCommand, serve } from '../fixtures/process.ts'

test('a service stops while its database is away', async (t) => {
  const server = await startPostgres()
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const service = await serve(t, await makeFolder(t), environment)
  await server.stop()
  service.child.kill('SIGTERM')
  assert.equal(await service.ended, 0)
})

test('an idle replica that is stopped refuses requests for a while before it closes its port', async (t) => {
  const server = await startPostgres()
  t.after(() => server.stop())
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const { child, client, ended, stdout } = await serve(t, await makeFolder(t), environment)
  const told = Promise.withResolvers<void>()
  child.stdout!.on('data', () => stdout().includes('Stopping') && told.resolve())
  child.kill('SIGTERM')
  await told.promise
  const { status, body } = await client.chat('Hello')
  assert.deepEqual({ status, error_type: body.details.error_type }, { status: 503, error_type: 'Overloaded' })
  assert.equal(await ended, 0)
})

test('a start that fails while it executes a run of an earlier process ends with 1', async (t) => {
  const server = await startPostgres()
  t.after(() => server.stop())
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const proxy = await startProxy(environment.DATABASE_URL)
  t.after(() => proxy.close())
  const asked = Promise.withResolvers<void>()
  const model = await startModelServer(() => {
    asked.resolve()
    if (model.requests.length === 1) return { silentAfter: 0 }
    // The end of the run cannot be stored.
    proxy.decide(() => 'cut before')
    return { text: 'Hello.' }
  })
  t.after(() => model.close())
  const folder = await makeFolder(t)
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms: { primary } }))
  const first = await serve(t, folder, environment)
  await sendEvent(first.client, event('e', { messages: [{ role: 'user', content: 'Hello' }] }))
  await asked.promise
  first.child.kill('SIGKILL')
  await first.ended
  await sleep(leaseMs)
  // The last step of a start adds the job of this name.
  proxy.decide((text) => (/insert into.*"retention"/is.test(text) ? 'cut before' : 'passed'))
  const second = runCommand(t, folder, ['serve'], { ...environment, DATABASE_URL: proxy.url })
  assert.equal(await Promise.race([second.ended, sleep(40_000, 'still there', { ref: false })]), 1)
  assert.equal(model.requests.length, 2)
  assert.match(second.stderr(), /cannot be reached/)
})
