import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPostgres } from './postgres-server.ts'
import { makeFolder, serve } from './process-fixture.ts'

test('a service that is asked to stop while its database is away ends', async (t) => {
  const server = await startPostgres()
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const service = await serve(t, await makeFolder(t), environment)
  await server.stop()
  service.child.kill('SIGTERM')
  assert.equal(await service.ended, 0)
})
