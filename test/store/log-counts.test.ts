import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { createRunReports } from '../../src/store/reports/run-reports.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'
import { endOf, storeOf } from './fixture.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'agent-core-log-counts-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('runs removed from the logs before the migration are not counted', async () => {
  const before = await openSqlite(folder)
  const { store, start, tenant } = storeOf(before)
  for (const sessionId of ['a', 'b', 'c']) {
    const { run, turn } = await start({ sessionId })
    await store.finish(run, 1, endOf(turn))
  }
  await before.close()
  const file = new DatabaseSync(path.join(folder, 'agent-core.db'))
  file.exec(`update runs set status = 'gone', ended_at = null where session_id = 'b';
    alter table metrics drop column removed; alter table runs drop column losses; delete from kysely_migration where name >= '0009'`)
  file.close()
  const database = await openSqlite(folder)
  const reports = createRunReports(database)
  const always = { from: undefined, to: undefined }
  assert.deepEqual(
    { count: await reports.count(tenant, always), success: (await reports.sums(tenant, always)).counts.success },
    { count: 2, success: 3 },
  )
  await database.close()
})
