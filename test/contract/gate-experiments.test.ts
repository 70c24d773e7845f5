import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { bothDatabases } from '../fixtures/both-databases.ts'
import { startRefunding } from '../fixtures/refund-shop.ts'

const databases = bothDatabases()

const place = '/core/v1/agent/config'

for (const { name, environment } of databases) {
  test(`Gate: a candidate that refunds twice is kept out, and one that its experiment has passed is let in, on ${name}`, async (t) => {
    const service = await startRefunding(t, { environment: await environment(), config: { releases: { gate: { dataset: 'core' } } } })
    const admin = await service.as({ sub: 'root', roles: ['admin'] })
    const send = async (method: string, path: string, body: unknown, headers = {}) => {
      const reply = await admin.request(method, path, { body, headers })
      assert.ok(reply.status < 300, reply.text)
      return reply.body
    }
    const put = (configuration: object, more = {}) => admin.request('PUT', place, { body: { configuration, ...more } })
    /** The ended experiment's last variant. */
    const tryOut = async (candidate: object) => {
      const { id } = await send('POST', '/core/v1/experiments', { dataset_id: 'core', candidate })
      const ended = await until(
        async () => (await admin.request('GET', `/core/v1/experiments/${id}`)).body,
        ({ status }) => status !== 'pending' && status !== 'running',
      )
      assert.equal(ended.status, 'completed', JSON.stringify(ended))
      return { id, verdict: ended.verdict, ...ended.variants.at(-1) }
    }
    await send('POST', '/core/v1/datasets', { name: 'core' })
    for (const order of [1, 2]) {
      assert.equal((await admin.chat(`Refund order ${order}`, { 'request-id': `r${order}` })).status, 200)
      await send('POST', '/core/v1/datasets/core/examples', { from_run: { request_id: `r${order}` } })
    }
    const { version } = (await admin.request('GET', place)).body

    const twice = { instructions: 'Refund twice.' }
    const bad = await tryOut({ patch: twice })
    const refused = await put(twice)
    assert.equal(refused.status, 409, refused.text)
    const { ended_at: endedAt, ...experiment } = refused.body.details.experiment
    assert.deepEqual(experiment, { id: bad.id, pass_rate: 0, added: 2 })
    assert.ok(Date.parse(endedAt) > 0)
    assert.equal(refused.body.details.config_hash, bad.config_hash)

    const another = { instructions: 'Refund the next.' }
    const measure = (scorers: object[]) => send('PATCH', '/core/v1/datasets/core', { scorers })
    await measure([{ name: 'answers', kind: 'contains', texts: ['Refunded'] }])
    const changed = await tryOut({ patch: another })
    assert.deepEqual([changed.verdict, changed.effects], ['passed', { same: 0, added: 0, removed: 0, changed: 2 }])
    assert.match((await put(another)).body.details?.reason, /added or changed writes is 2, and must be at most 0/)
    await measure([])

    const good = await tryOut({ patch: { description: 'Refunds once.' } })
    assert.deepEqual([good.verdict, good.pass_rate, good.effects.added], ['passed', 1, 0])
    assert.equal((await put({ description: 'Refunds once.' })).status, 200)

    // The text of the file has the hash of the text that is sent, and of the version that is restored.
    const text = (await admin.request('GET', `${place}?format=yaml`)).text.replace('Refunds once.', 'Refunds.')
    const written = await tryOut({ text })
    const sent = await admin.request('PUT', place, { body: text, headers: { 'content-type': 'application/yaml' } })
    assert.equal(sent.status, 200, sent.text)
    assert.notEqual(written.config_hash, good.config_hash)
    const earlier = await tryOut({ version })
    const restored = await admin.request('POST', `${place}/restore`, { body: { version } })
    assert.equal(restored.status, 200, restored.text)
    assert.equal(earlier.verdict, 'passed')
    assert.deepEqual(service.refunds(), [1, 2])
  })
}
