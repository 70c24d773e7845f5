import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { documentsOf } from '../fixtures/documents.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { startS3, type S3Server } from '../fixtures/s3-server.ts'
import { startService } from '../fixtures/service.ts'

let server: PostgresServer
let s3: S3Server
before(async () => {
  ;[server, s3] = [await startPostgres(), await startS3()]
})
after(() => Promise.all([server.stop(), s3.close()]))

test('Knowledge: replicas with a database and a bucket find each new document, and no deleted one', async (t) => {
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 's'.repeat(32), ...s3.environment }
  const config = { tools: [{ name: 'knowledge_search' }] }
  const services = [await startService(t, { script: {}, config, environment }), await startService(t, { script: {}, config, environment })]
  const [one, two] = [await documentsOf(services[0]!), await documentsOf(services[1]!)]
  assert.deepEqual(await two.search('parking'), [])
  const { id, state } = await one.add('parking.md', '# Parking\n\nGuests park behind the house.')
  assert.equal(state, 'ready')
  for (const replica of [two, one]) assert.equal((await replica.search('parking'))[0]?.document_id, id)
  assert.equal((await two.remove(id)).status, 200)
  for (const replica of [one, two]) assert.deepEqual(await replica.search('parking'), [])
  const next = await two.add('parking.md', '# Parking\n\nGuests park on the roof.')
  for (const replica of [one, two])
    assert.deepEqual(
      (await replica.search('parking')).map(({ document_id }) => document_id),
      [next.id],
    )
})
