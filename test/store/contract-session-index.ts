import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionRecord } from '../../src/sessions/session-store.ts'
import { query, type Database } from '../../src/store/database.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { documentsPerSegment } from '../../src/store/sessions/search/session-index.ts'
import { hasWord } from '../../src/store/words.ts'
import { hour } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('index of the search of sessions', registerIndex)

const owners = ['agent-core ann', 'agent-core bob']
const rarely = ['Quittung', 'ÖSTERREICH', 'σοφός', 'İstanbul', '100%_a', 'naïve', 'Straße']

interface Sample {
  key: string
  sessionId: string
  owner: string
  updatedAt: number
  name: string
  texts: string[]
}

/** Sessions of two owners; some have a rare word in the name, a message, or a late message, and some are long. */
function samples(count: number): Sample[] {
  return Array.from({ length: count }, (_, n) => {
    const rare = n % 37 === 0 ? rarely[(n / 37) % rarely.length]! : 'plain'
    const texts = [`question number ${n} about invoices`, `answer ${n * 7} ${n % 74 === 0 ? rare : ''}`]
    if (n % 500 === 1) for (let more = 0; more < 40; more++) texts.push(`${'long text '.repeat(20)} part ${more} of ${n}`)
    const times = { updatedAt: hour + Math.floor(n / 3) }
    return { key: randomUUID(), sessionId: `s${n}`, owner: owners[n % 2]!, name: n % 74 === 0 ? 'name' : `${rare} ${n}`, texts, ...times }
  })
}

function registerIndex(database: () => Database): void {
  async function fill(tenant: string, added: readonly Sample[]): Promise<void> {
    const { db } = database()
    await database()
      .forTenant(tenant)
      .unit(async (connection) => {
        for (let from = 0; from < added.length; from += 200) {
          const part = added.slice(from, from + 200)
          const rows = part.map(({ key, sessionId, owner, updatedAt, name, texts }) => {
            const counts = { message_count: texts.length, window_start: 0, created_at: updatedAt, updated_at: updatedAt }
            return { tenant, owner, session_id: sessionId, key, short_name: name, checkpoint_id: key, ...counts }
          })
          await query(connection, db.insertInto('sessions').values(rows as never))
          const messages = part.flatMap(({ key, texts }) =>
            texts.map((content, idx) => ({ tenant, session: key, idx, role: 'human' as const, content, created_at: hour, data: null })),
          )
          for (let at = 0; at < messages.length; at += 500) {
            await query(connection, db.insertInto('messages').values(messages.slice(at, at + 500)))
          }
        }
      })
  }

  async function segmentsOf(tenant: string, owner = ''): Promise<number> {
    const count = database().db.selectFrom('search_segments').select('segment').where('tenant', '=', tenant).where('owner', '=', owner)
    return (await query(database().forTenant(tenant).read, count)).rows.length
  }

  /** What a search must find, by the rule of the databases for a text. */
  function expected(all: readonly Sample[], words: readonly string[], owner: string | undefined): string[] {
    return all
      .filter((sample) => owner === undefined || sample.owner === owner)
      .filter(({ name, texts }) => [name, ...texts].some((text) => words.every((word) => hasWord(text, word.toLowerCase()))))
      .toSorted((a, b) => b.updatedAt - a.updatedAt || (a.sessionId < b.sessionId ? 1 : -1))
      .map(({ sessionId }) => sessionId)
  }

  async function start() {
    const tenant = randomUUID()
    const sessions = createSessionStore(database())
    const page = (words: string[], change: { limit?: number; owner?: string; before?: SessionRecord | undefined } = {}) =>
      sessions.search(
        { tenant, owner: change.owner ?? owners[0]! },
        { words, limit: change.limit ?? 100_000, anyOwner: change.owner === undefined, before: change.before },
      )
    /** All matches, page by page where a search ends early. */
    const found = async (words: string[], change: { limit?: number; owner?: string } = {}) => {
      const ids: string[] = []
      for (let before: SessionRecord | undefined; ;) {
        const { sessions: matches, scannedTo } = await page(words, { ...change, before })
        ids.push(...matches.map(({ sessionId }) => sessionId))
        if (!scannedTo) return ids
        before = scannedTo
      }
    }
    const indexed = async (count: number, owner?: string) => {
      for (const until = Date.now() + 60_000; (await segmentsOf(tenant, owner)) < count && Date.now() < until;) {
        await page(['anything'], owner === undefined ? {} : { owner })
        await sleep(20)
      }
      assert.equal(await segmentsOf(tenant, owner), count)
    }
    return { tenant, sessions, page, found, indexed }
  }

  test('an index finds what the texts have, for administrators and owners, in the order of activity and page by page', async () => {
    const { tenant, found, indexed } = await start()
    const all = samples(2 * documentsPerSegment + 600)
    await fill(tenant, all)
    await indexed(2)
    await indexed(1, owners[1])
    const searches = [
      ...rarely.map((word) => [word]),
      ['invoices', '700'],
      ['part', '30'],
      ['question', 'plain'],
      ['nowhere'],
      ['12'],
      ['ΣΟΦΌ'],
    ]
    for (const words of searches) {
      const ids = expected(all, words, undefined)
      assert.deepEqual(await found(words), ids, words.join(' '))
      assert.deepEqual(await found(words, { limit: 7 }), ids, words.join(' '))
      assert.deepEqual(await found(words, { owner: owners[1]! }), expected(all, words, owners[1]), words.join(' '))
    }
    assert.deepEqual(await segmentsOf(tenant, owners[0]), 0, 'an owner who does not search has no index')
  })

  test('later activity, new sessions and removals count at once, and an index without most of its sessions is made anew', async () => {
    const { tenant, sessions, found, indexed } = await start()
    const all = samples(10 * documentsPerSegment)
    await fill(tenant, all)
    await indexed(10)
    const { db, forTenant } = database()
    const moved = all[5]!
    moved.updatedAt = hour + 20_000_000
    moved.texts.push('unheard')
    await forTenant(tenant).unit(async (connection) => {
      const message = { tenant, session: moved.key, idx: 2, role: 'human' as const, content: 'unheard', created_at: hour, data: null }
      await query(connection, db.insertInto('messages').values(message))
      const update = db.updateTable('sessions').set({ updated_at: moved.updatedAt, message_count: 3 })
      await query(connection, update.where('tenant', '=', tenant).where('key', '=', moved.key))
    })
    const late = { ...samples(1)[0]!, sessionId: 'late', updatedAt: Date.now(), texts: ['unheard of'], name: 'late' }
    await fill(tenant, [late])
    assert.deepEqual(await found(['unheard']), ['late', 's5'])
    assert.deepEqual(await found(['number', '5', 'invoices']), expected([...all, late], ['number', '5', 'invoices'], undefined))
    await sessions.remove({ tenant, owner: late.owner }, 'late', { jobId: randomUUID(), now: hour })
    assert.deepEqual(await found(['unheard']), ['s5'])
    const ofMoved = db.selectFrom('search_documents').select('document').where('tenant', '=', tenant).where('session', '=', moved.key)
    assert.equal((await query(forTenant(tenant).read, ofMoved)).rows.length, 1)
    await sessions.remove({ tenant, owner: moved.owner }, moved.sessionId, { jobId: randomUUID(), now: hour })
    assert.equal((await query(forTenant(tenant).read, ofMoved)).rows.length, 0)
    assert.deepEqual(await found(['unheard']), [])

    // Most sessions are removed, and many become active again.
    const isKept = ({ sessionId }: Sample) => sessionId.includes('1')
    const removed = all.filter((sample) => !isKept(sample) && sample !== moved).map(({ key }) => key)
    await forTenant(tenant).unit(async (connection) => {
      for (let at = 0; at < removed.length; at += 500) {
        const keys = removed.slice(at, at + 500)
        await query(connection, db.deleteFrom('sessions').where('tenant', '=', tenant).where('key', 'in', keys))
        await query(connection, db.deleteFrom('search_documents').where('tenant', '=', tenant).where('session', 'in', keys))
      }
      await query(
        connection,
        db
          .updateTable('sessions')
          .set({ updated_at: hour + 30_000_000 })
          .where('tenant', '=', tenant),
      )
    })
    const kept = all.filter(isKept)
    for (const sample of kept) sample.updatedAt = hour + 30_000_000
    const right = JSON.stringify(expected(kept, ['Quittung'], undefined))
    // The index is dropped and made anew meanwhile, and each search is complete. Another process may still index.
    const other = createSessionStore(database())
    const search = { words: ['Quittung'], limit: 100_000, anyOwner: true, before: undefined }
    const idsOf = async () => (await other.search({ tenant, owner: '' }, search)).sessions.map(({ sessionId }) => sessionId)
    const until = Date.now() + 60_000
    do assert.equal(JSON.stringify(await idsOf()), right)
    while ((await segmentsOf(tenant)) !== Math.floor(kept.length / documentsPerSegment) && Date.now() < until)
    assert.equal(await segmentsOf(tenant), Math.floor(kept.length / documentsPerSegment))
    assert.equal(JSON.stringify(await found(['Quittung'])), right)
  })

  test('another tenant with the same words has an index of its own', async () => {
    const [here, there] = [await start(), await start()]
    const all = samples(documentsPerSegment + 200)
    await fill(here.tenant, all)
    await here.indexed(1)
    assert.deepEqual(await there.found(['invoices']), [])
    assert.equal(await segmentsOf(there.tenant), 0)
  })
}
