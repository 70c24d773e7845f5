import assert from 'node:assert/strict'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { parse } from 'yaml'
import { until } from '../fixtures/async-client.ts'
import { openEvents } from '../fixtures/audit-events.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { runIn } from '../../src/cli/terminal-fixture.ts'
import { makeFolder, serve, type RunningService } from '../fixtures/process.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const place = '/core/v1/agent/config'
const get = ({ client }: RunningService) => client.request('GET', place)
const put = ({ client }: RunningService, configuration: object, more = {}) =>
  client.request('PUT', place, { body: { configuration, ...more } })

async function newEnvironment(): Promise<Record<string, string>> {
  return { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
}

test('the first service starts with the samples, a joining service writes the shared configuration, and changes in memory end with the last service', async (t) => {
  const environment = await newEnvironment()
  const [here, there] = [await makeFolder(t), await makeFolder(t)]
  const a = await serve(t, here, environment)
  assert.match(await readFile(path.join(here, 'agent.yaml'), 'utf8'), /rules-1/)
  assert.equal((await put(a, { description: 'Stored.' })).status, 200)
  assert.equal((await put(a, { name: 'Memory' }, { in_memory_only: true })).status, 200)
  const b = await serve(t, there, environment)
  assert.equal((await get(b)).text, (await get(a)).text)
  assert.equal((await get(b)).body.configuration.name, 'Memory')
  assert.match(await readFile(path.join(there, 'agent.yaml'), 'utf8'), /Stored\./)
  const shown = parse((await runIn(await makeFolder(t), ['config', 'show'], environment)).out)
  assert.deepEqual({ name: shown.name, description: shown.description }, { name: 'Memory', description: 'Stored.' })
  // After the kill, the surviving service still has the change in memory, also for a joining service.
  a.child.kill('SIGKILL')
  await a.ended
  const again = await serve(t, here, environment)
  assert.equal((await get(again)).text, (await get(b)).text)
  for (const one of [again, b]) one.child.kill('SIGKILL')
  await Promise.all([again.ended, b.ended])
  // Both start at once while the leases of dead services still hold: neither mistakes the other for a serving service.
  const both = await Promise.all([serve(t, here, environment), serve(t, there, environment)])
  for (const one of both)
    await until(
      () => get(one),
      ({ body }) => body.configuration.name === 'Agent Core',
    )
  await until(
    async () => (await Promise.all(both.map(get))).map(({ text }) => text),
    ([x, y]) => x === y,
  )
  assert.equal((await get(both[0])).body.configuration.description, 'Stored.')
})

test('a start does not drop changes in memory of a stalled service, whether the service has kept its connection or its lease', async (t) => {
  const environment = await newEnvironment()
  const client = new pg.Client(environment['DATABASE_URL'])
  await client.connect()
  t.after(() => client.end())
  const stalled = await serve(t, await makeFolder(t), environment)
  assert.equal((await put(stalled, { name: 'Memory' }, { in_memory_only: true })).status, 200)
  const { version } = (await get(stalled)).body
  stalled.child.kill('SIGSTOP')
  await client.query('update processes set alive_until = started_at')
  const second = await serve(t, await makeFolder(t), environment)
  assert.equal((await get(second)).body.version, version)
  second.child.kill('SIGKILL')
  await second.ended
  // The database ends all connections, and the stall lasts longer than a renewal.
  await client.query('delete from processes where alive_until > started_at')
  await client.query('update processes set alive_until = 2 * started_at')
  const connections = 'from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()'
  await client.query(`select pg_terminate_backend(pid) ${connections}`)
  const starting = serve(t, await makeFolder(t), environment)
  await until(
    () => client.query('select id from processes where alive_until between started_at + 16000 and started_at + 60000'),
    ({ rowCount }) => rowCount === 1,
  )
  stalled.child.kill('SIGCONT')
  const third = await starting
  assert.equal((await get(third)).body.version, version)
  assert.equal((await get(stalled)).body.version, version)
})

test('former configurations are listed and restored from any machine, and running services apply them', async (t) => {
  const environment = await newEnvironment()
  const service = await serve(t, await makeFolder(t), environment)
  const first = (await get(service)).body.version as string
  await put(service, { description: 'Second.', access: { roles: { reader: ['tools.read'] } } })
  const elsewhere = await makeFolder(t)
  const history = await runIn(elsewhere, ['config', 'history'], environment)
  assert.match(
    history.out,
    /^version +since +source +changed by +changes\n\S+ +\S+ +put +\S+ \(default\) +.*description.*\n\S+ +\S+ +seed +-\n$/,
  )
  const made = await runIn(elsewhere, ['keys', 'create', '--sub', 'ann', '--roles', 'reader,nobody'], environment)
  assert.deepEqual({ code: made.code, match: made.err.match(/There is no role "\w+"/g) }, { code: 0, match: ['There is no role "nobody"'] })
  const restored = await runIn(elsewhere, ['config', 'restore', first], environment)
  assert.match(restored.out, /^Version \S+ is in use\. Changed: .*description/)
  await until(
    () => get(service),
    ({ body }) => body.configuration.description !== 'Second.',
  )
  assert.match((await runIn(elsewhere, ['config', 'history'], environment)).out, / restore /)
  const location = { databaseUrl: environment['DATABASE_URL'], databaseConnections: 1, dataDir: elsewhere }
  const events = (await (await openEvents(t, location))()).filter(({ target }) => target === 'configuration')
  assert.deepEqual(
    events.map(({ action, actor: { issuer, via } }) => [action, issuer, via]),
    [
      ['configuration.changed', 'agent-core', 'service'],
      ['configuration.changed', 'agent-core', 'api'],
      ['configuration.restored', 'os', 'cli'],
    ],
  )
  const none = await runIn(elsewhere, ['config', 'restore', 'x'], environment)
  assert.deepEqual(
    { code: none.code, err: none.err },
    { code: 1, err: 'There is no version "x"; "agent-core config history" lists the versions.\n' },
  )
})

test('without a shared database copies of the file are listed and restored, and the running service applies them', async (t) => {
  const folder = await makeFolder(t)
  const service = await serve(t, folder, {})
  await put(service, { description: 'Second.' })
  await put(service, { name: 'Third' })
  const history = await runIn(folder, ['config', 'history'], {})
  const [head, third, second, first, ...rest] = history.out.trimEnd().split('\n')
  assert.deepEqual({ code: history.code, rest }, { code: 0, rest: [] })
  assert.match(head!, /^version +since +source +changed by +changes$/)
  assert.match(third!, /^[0-9a-f]{16} +20\S+Z +- +- +name$/)
  assert.match(second!, /^[0-9a-f]{16} +20\S+Z +- +- +description$/)
  assert.match(first!, /^[0-9a-f]{16} +- +- +-$/)
  const before = await readFile(path.join(folder, 'agent.yaml'), 'utf8')
  const version = first!.split(' ')[0]!
  const restored = await runIn(folder, ['config', 'restore', version], {})
  assert.equal(restored.out, `Version ${version} is in use. Changed: name description.\n`)
  const { body } = await until(
    () => get(service),
    ({ body }) => body.configuration.name === 'Agent Core',
  )
  assert.notEqual(body.configuration.description, 'Second.')
  // The replaced configuration is a single version as well, and can be restored.
  const after = (await runIn(folder, ['config', 'history'], {})).out.trimEnd().split('\n')
  assert.equal(after.length, 5)
  assert.equal(after[1]!.split(' ')[0], version)
  assert.equal((await runIn(folder, ['config', 'restore', third!.split(' ')[0]!], {})).code, 0)
  assert.equal(await readFile(path.join(folder, 'agent.yaml'), 'utf8'), before)
  const none = await runIn(folder, ['config', 'restore', 'x'], {})
  assert.deepEqual(
    { code: none.code, err: none.err },
    { code: 1, err: 'There is no version "x"; "agent-core config history" lists the versions.\n' },
  )
})

test('doctor checks the configuration in the database, and reports an edit that is not in effect', async (t) => {
  const environment = await newEnvironment()
  const folder = await makeFolder(t)
  const service = await serve(t, folder, environment)
  const { version } = (await get(service)).body
  service.child.kill('SIGTERM')
  await service.ended
  assert.match((await runIn(folder, ['doctor'], environment)).out, new RegExp(`ok +configuration: version ${version} in the database\n`))
  await writeFile(path.join(folder, 'agent.yaml'), 'name: Edited\n')
  assert.match(
    (await runIn(folder, ['doctor'], environment)).out,
    /warn +configuration: \S+agent\.yaml has an edit that is not in effect\n/,
  )
  await writeFile(path.join(folder, 'agent.yaml'), 'tools: 5\n')
  const { code, out } = await runIn(folder, ['doctor'], environment)
  assert.match(out, /warn +configuration: agent\.yaml:1 tools/)
  assert.equal(code, 0)
})

test('without --init an empty database gets no sample', async (t) => {
  const environment = await newEnvironment()
  const { code, out, err } = await runIn(await makeFolder(t), ['serve'], environment)
  assert.deepEqual({ code, out }, { code: 1, out: '' })
  assert.match(err, /^The database has no configuration yet, and \S+agent\.yaml does not exist\. .*serve --init.*\n$/)
})

test('a start lists in lines the faults of a first file, and of the configuration in the database', async (t) => {
  const environment = await newEnvironment()
  const folder = await makeFolder(t)
  await mkdir(path.join(folder, 'files'))
  const file = path.join(folder, 'agent.yaml')
  await writeFile(file, 'tools: 5\n')
  const invalid = await runIn(folder, ['serve'], environment)
  assert.equal(invalid.code, 2)
  assert.match(invalid.err, /^agent\.yaml:1 tools: .+\n$/)
  await writeFile(file, 'llms: {primary: {provider: openai, model: m, api_key: "${MY_KEY}"}}\n')
  const unset = await runIn(folder, ['serve'], environment)
  assert.equal(unset.code, 2)
  assert.match(unset.err, /^agent\.yaml.*llms\.primary.*MY_KEY/)
  const service = await serve(t, folder, { ...environment, MY_KEY: 'k' })
  service.child.kill('SIGTERM')
  await service.ended
  const without = await runIn(folder, ['serve'], environment)
  assert.equal(without.code, 1)
  assert.match(without.err, /^The configuration in the database cannot be used by this process:\n.*MY_KEY[\s\S]*config restore/)
  // The new environment brings a new file.
  await rm(file)
  await writeFile(file, 'name: Other\n')
  const mended = await serve(t, folder, environment)
  assert.equal((await get(mended)).body.configuration.name, 'Other')
})
