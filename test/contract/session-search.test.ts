import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'

const idsOf = (sessions: { session_id: string }[]) => sessions.map(({ session_id }) => session_id)

test('Session search: sessions are found by the words of their name and messages, in any case', async (t) => {
  const { client } = await startService(t, {
    script: ({ body }) => ({ text: `Antwort: ${body.messages.at(-1).content.slice(0, 5)} 100%` }),
  })
  await client.chat('Die UMSÄTZE nach Region', { 'session-id': 'sales' })
  await client.chat('hello', { 'session-id': 'long' })
  await client.chat('and then umsätze, per region_name', { 'session-id': 'long' })
  await client.chat('something else', { 'session-id': 'other' })
  const search = async (q: string) => {
    const { status, body } = await client.request('GET', `/core/v1/sessions?q=${encodeURIComponent(q)}`)
    assert.equal(status, 200)
    return idsOf(body.sessions)
  }
  assert.deepEqual(await search('Umsätze'), ['long', 'sales'])
  assert.deepEqual(await search('region umsätze'), ['long', 'sales'])
  assert.deepEqual(await search('  HELLO  '), ['long'])
  // Words in two different messages are not one match.
  assert.deepEqual(await search('hello umsätze'), [])
  assert.deepEqual(await search('antwort: some'), ['other'])
  for (const literal of ['%', '_', '*', '?', '[', ']', '\\', '.', '^', '$', "'", 'n_n', 'n%e', 'a*t', '[a]', '(', '***:x', 'ä]'])
    assert.deepEqual(
      await search(literal),
      ({ '%': ['other', 'long', 'sales'], _: ['long'], n_n: ['long'] } as Record<string, string[]>)[literal] ?? [],
      literal,
    )
  assert.deepEqual(await search('100% else'), [])
  assert.deepEqual(await search(' '), ['other', 'long', 'sales'])
})

test('Session search: a page ends when full, and goes on with next', async (t) => {
  const { client } = await startService(t, { script: { text: 'ok' } })
  for (const n of [1, 2, 3, 4, 5]) await client.chat(n % 2 ? `odd ${n}` : `even ${n}`, { 'session-id': `s${n}` })
  const page = async (query: string) => (await client.request('GET', `/core/v1/sessions?q=odd&limit=2${query}`)).body
  const first = await page('')
  assert.deepEqual({ ids: idsOf(first.sessions), count: first.count, next: first.next }, { ids: ['s5', 's3'], count: 2, next: 's3' })
  const second = await page(`&before=${first.next}`)
  assert.deepEqual({ ids: idsOf(second.sessions), next: second.next }, { ids: ['s1'], next: undefined })
})

test('Session search: callers find their own sessions, administrators those of the tenant', async (t) => {
  const { as } = await startService(t, { script: { text: 'ok' } })
  const [ann, bob] = [await as({ sub: 'ann' }), await as({ sub: 'bob' })]
  await ann.chat('secret of ann', { 'session-id': 'a' })
  await bob.chat('secret of bob', { 'session-id': 'b' })
  const found = async (client: typeof ann) => idsOf((await client.request('GET', '/core/v1/sessions?q=secret')).body.sessions)
  assert.deepEqual(await found(ann), ['a'])
  assert.deepEqual(await found(bob), ['b'])
  assert.deepEqual(await found(await as({ sub: 'root', roles: ['admin'] })), ['b', 'a'])
  assert.deepEqual(await found(await as({ sub: 'ann', tenant: 'elsewhere', roles: ['admin'] })), [])
})

test('Session search: too long a text and too many words are refused', async (t) => {
  const { client } = await startService(t, { script: { text: 'ok' } })
  for (const q of ['x'.repeat(201), 'a b c d e f g h i j k']) {
    const { status, body } = await client.request('GET', `/core/v1/sessions?q=${encodeURIComponent(q)}`)
    assert.equal(status, 422)
    assert.deepEqual(body.detail[0].loc, ['query', 'q'])
  }
})
