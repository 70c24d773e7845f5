import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import { prepare } from './prepare.ts'

/** A connection as it looks through a pooler, whose queries are answered by these processes of the server, one after another. */
function connection(pids: number[], version = { version: '18.1', isOld: false }): pg.Client {
  let asked = 0
  const query = async () => ({ rows: [{ ...version, pid: pids[asked++ % pids.length] }] })
  return { processID: 4711, query, end: async () => undefined } as unknown as pg.Client
}

test('a transaction pooler is refused, whichever server processes it uses', async () => {
  for (const [first, second] of [
    [[1], [1]],
    [[1, 2], [3]],
    [[1], [2, 1, 3]],
  ] as const) {
    const opened = connection([...second])
    await assert.rejects(
      prepare(connection([...first]), async () => opened),
      /^Error: DATABASE_URL leads to a pooler that gives each transaction another connection; .+pool_mode = session/,
    )
  }
})

test('a server that is too old is refused', async () => {
  const old = connection([1], { version: '13.9', isOld: true })
  await assert.rejects(
    prepare(old, async () => old),
    /^Error: The database is Postgres 13\.9; it must be version 14 or later\.$/,
  )
})
