import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { startLimited } from '../../processes/limited-process.ts'

test('the process of an endless query ends with the service', { timeout: 20_000 }, async (t) => {
  const child = startLimited(new URL('./child', import.meta.url), { limits: { dataKb: 2_000_000, heapMb: 512 } })
  t.after(() => child.kill('SIGKILL'))
  child.ref()
  const plan = { tables: [], filters: [], cacheDir: tmpdir() }
  const sql = 'with recursive n(i) as (select 1 union all select 1 from n) select count(*) from n'
  const limits = { maxRows: 10, maxCharacters: 1000 }
  child.send({ id: 1, question: { type: 'query', plan, sql, visible: { tables: [], withheld: [] }, limits } })
  await once(child, 'message')
  // The query has begun and does not answer.
  const answered = await Promise.race([once(child, 'message'), wait(2000, 'busy')])
  assert.equal(answered, 'busy')
  const exited = once(child, 'exit')
  // When the service dies, all of its pipes are closed.
  for (const pipe of child.stdio) pipe?.destroy()
  assert.notEqual(await Promise.race([exited, wait(5000, 'still there')]), 'still there')
})
