import assert from 'node:assert/strict'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { startLimited } from '../../processes/limited-process.ts'
import type { Question } from './child.ts'
import { createQueryProcess } from './process.ts'

const processes = createQueryProcess({ cancelGraceMs: 0 })
after(() => processes.close())

const endless = 'with recursive n(i) as (select 1 union all select 1 from n) select count(*) from n'
const long = 'select count(*) from range(20000000) t(i) where sin(i) > 2'

function query(sql: string): Question {
  const plan = { tables: [], filters: [], cacheDir: tmpdir() }
  return { type: 'query', plan, sql, visible: { tables: [], withheld: [] }, limits: { maxRows: 10, maxCharacters: 1000 } }
}

function askAs(owner: string, sql: string, signal = new AbortController().signal) {
  return processes.ask(query(sql), { caller: { tenant: owner, owner }, signal })
}

test('a query is repeated if its process was killed because of another query', { timeout: 60_000 }, async () => {
  await askAs('bob', 'select 1')
  const stop = new AbortController()
  const cancelled = askAs('alice', endless, stop.signal)
  const otherQuery = askAs('bob', long)
  await wait(50)
  stop.abort(new Error('enough'))
  await assert.rejects(cancelled, { message: 'enough' })
  const answer = await otherQuery
  assert.deepEqual(answer.type === 'rows' && answer.rows.rows, [[0]])
})

test('the process of an endless query ends with the service', { timeout: 20_000 }, async (t) => {
  const child = startLimited(new URL('./child', import.meta.url), { limits: { dataKb: 2_000_000, heapMb: 512 } })
  t.after(() => child.kill('SIGKILL'))
  child.ref()
  child.send({ id: 1, question: query(endless) })
  await once(child, 'message')
  // The query has begun and does not answer.
  const answered = await Promise.race([once(child, 'message'), wait(2000, 'busy')])
  assert.equal(answered, 'busy')
  const exited = once(child, 'exit')
  // When the service dies, all of its pipes are closed.
  for (const pipe of child.stdio) pipe?.destroy()
  assert.notEqual(await Promise.race([exited, wait(5000, 'still there')]), 'still there')
})
