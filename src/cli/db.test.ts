import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { holdDataDir } from '../store/sqlite/data-dir.ts'
import { createFolder, runIn } from './terminal-fixture.ts'

test('migrate creates and updates a database, and reports the migrations', async (t) => {
  const folder = await createFolder(t)
  const first = await runIn(folder, ['db', 'migrate'])
  assert.deepEqual({ code: first.code, err: first.err }, { code: 0, err: '' })
  assert.match(
    first.out,
    /^Migrated: 0001-schema, 0034-budgets, 0035-schedules, 0036-steering, 0037-light-reservations, 0038-containment, 0039-audit, 0040-evals\.\n$/,
  )
  assert.deepEqual(await runIn(folder, ['db', 'migrate']), { code: 0, out: 'The database is up to date.\n', err: '' })
})

test('a data directory in use is not touched', async (t) => {
  const folder = await createFolder(t)
  const lock = holdDataDir(path.join(folder, '.agent-core'))
  const { code, out, err } = await runIn(folder, ['db', 'migrate'])
  lock.release()
  assert.deepEqual({ code, out }, { code: 1, out: '' })
  assert.match(err, /^Another agent-core is using /)
})

test('a database of a later version is reported', async (t) => {
  const folder = await createFolder(t)
  await runIn(folder, ['db', 'migrate'])
  const database = new DatabaseSync(path.join(folder, '.agent-core', 'agent-core.db'))
  database.exec("insert into kysely_migration values ('9999-later', '2999-01-01')")
  database.close()
  const { code, err } = await runIn(folder, ['db', 'migrate'])
  assert.equal(code, 1)
  assert.match(
    err,
    /^The database was migrated by a later version of agent-core \(9999-later\)\. Start that version, or restore a backup\.\n$/,
  )
})

test('a database of an old unreleased build is refused, with what to do', async (t) => {
  const folder = await createFolder(t)
  await runIn(folder, ['db', 'migrate'])
  const database = new DatabaseSync(path.join(folder, '.agent-core', 'agent-core.db'))
  database.exec("update kysely_migration set name = '0001-initial' where name = '0001-schema'")
  database.close()
  const { code, out, err } = await runIn(folder, ['db', 'migrate'])
  assert.deepEqual({ code, out }, { code: 1, out: '' })
  assert.match(
    err,
    /^The database belongs to an unreleased build of agent-core, and lacks 27 of its migrations \(0002-interface is the first\)\. Start a build /,
  )
})

test('a migration that fails is reported with its cause', async (t) => {
  const folder = await createFolder(t)
  await writeFile(path.join(folder, 'agent.yaml'), '')
  await runIn(folder, ['db', 'migrate'])
  const database = new DatabaseSync(path.join(folder, '.agent-core', 'agent-core.db'))
  database.exec('delete from kysely_migration')
  database.close()
  for (const args of [['serve'], ['db', 'migrate']]) {
    const { code, err } = await runIn(folder, args)
    assert.equal(code, 1)
    assert.match(err, /^The database could not be migrated\. .*sessions.* already exists/, args.join(' '))
  }
})

test('an unreachable server is reported with address and reason, without the password', async (t) => {
  const environment = { DATABASE_URL: 'postgres://postgres:hidden@127.0.0.1:1/none', SECRET_KEY: 'x'.repeat(32) }
  const folder = await createFolder(t)
  const reason = `The database "none" at 127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1`
  await writeFile(path.join(folder, 'agent.yaml'), '')
  for (const args of [['serve'], ['db', 'migrate'], ['keys', 'list'], ['keys', 'create', '--sub', 'a'], ['config', 'history']]) {
    assert.deepEqual(await runIn(folder, args, environment), { code: 1, out: '', err: `${reason}\n` }, args.join(' '))
  }
  const { code, out } = await runIn(folder, ['doctor'], environment)
  assert.equal(code, 1)
  assert.ok(out.includes(`fail  store: Postgres: ${reason}\n`), out)
  assert.doesNotMatch(out, /hidden/)
})
