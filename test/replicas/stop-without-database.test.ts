import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'

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
