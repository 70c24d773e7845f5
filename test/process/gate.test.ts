import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { openEvents } from '../fixtures/audit-events.ts'
import { bothDatabases } from '../fixtures/both-databases.ts'
import { makeFolder, serve, type RunningService } from '../fixtures/process.ts'
import { runIn } from '../../src/cli/terminal-fixture.ts'

const databases = bothDatabases()

const get = async ({ client }: RunningService) => (await client.request('GET', '/core/v1/agent/config')).body
const put = ({ client }: RunningService, configuration: object, more = {}) =>
  client.request('PUT', '/core/v1/agent/config', { body: { configuration, ...more } })

async function stop({ child, ended }: RunningService): Promise<void> {
  child.kill('SIGTERM')
  await ended
}

/** A service with a gate, and an older version without any. */
async function start(t: TestContext, environment: Record<string, string>) {
  const folder = await makeFolder(t)
  const service = await serve(t, folder, environment)
  assert.equal((await put(service, { releases: { gate: { dataset: 'core' } } })).status, 200)
  const run = (...words: string[]) => runIn(folder, words, environment)
  const lines = (await run('config', 'history')).out.trimEnd().split('\n').slice(1)
  const location = { databaseUrl: environment['DATABASE_URL'], databaseConnections: 1, dataDir: path.join(folder, '.agent-core') }
  const newEvents = await openEvents(t, location)
  await newEvents()
  return { folder, service, run, versions: lines.map((line) => line.split(' ')[0]!), newEvents, file: path.join(folder, 'agent.yaml') }
}

for (const { name, environment } of databases) {
  test(`the command that restores a version obeys the gate of the running service, or overrides the gate on the record, on ${name}`, async (t) => {
    const { service, run, versions, newEvents, file } = await start(t, await environment())
    const text = await readFile(file, 'utf8')
    const refused = await run('config', 'restore', versions.at(-1)!)
    assert.deepEqual([refused.code, refused.out], [1, ''])
    assert.match(refused.err, /^The change has not passed the gate \(releases\.gate\): the dataset "core" does not exist\./)
    assert.equal(await readFile(file, 'utf8'), text)
    assert.deepEqual(await newEvents(), [])
    const wrong = await run('config', 'restore', versions.at(-1)!, '--override', ' ')
    assert.match(wrong.err, /The reason must have 1 to 500 characters/)
    const restored = await run('config', 'restore', versions.at(-1)!, '--override', 'an outage')
    assert.equal(restored.code, 0, restored.err)
    assert.match(
      restored.out,
      /^Version \S+ is in use\. Changed: releases\.\nwarning: The version has not passed the gate .*"core" does not exist/,
    )
    const shown = await until(
      () => get(service),
      ({ configuration }) => configuration.releases === undefined,
    )
    assert.equal(shown.warnings, undefined)
    const events = (await newEvents()).toSorted((a, b) => (a.action < b.action ? -1 : 1))
    assert.deepEqual(
      events.map(({ action, actor: { via }, configVersion }) => [action, via, configVersion]),
      [
        ['configuration.overridden', 'cli', shown.version],
        ['configuration.restored', 'cli', shown.version],
      ],
    )
    assert.equal((events[0]!.data as { override: string }).override, 'an outage')
    assert.doesNotMatch((await run('doctor')).out, /gate/)
    const again = await run('config', 'restore', versions[0]!)
    assert.equal(again.code, 0, again.err)
    // The service writes the restored text into the folder, which is removed at the end.
    await stop(service)
  })
}

test('a file that was edited while nothing ran is accepted by a command, without a start', async (t) => {
  const { service, run, file, folder } = await start(t, {})
  await stop(service)
  await writeFile(file, 'name: Edited\n')
  const edited = (await run('config', 'history')).out.trimEnd().split('\n')[1]!.split(' ')[0]!
  const unused = await run('doctor')
  assert.match(unused.out, /warn +gate: the administrators' tenant has no dataset "core"\n/)
  assert.match(unused.out, /warn +gate: The edit of \S+agent\.yaml has not passed the gate .*"core" does not exist/)
  const shownFirst = await run('config', 'show')
  assert.match(shownFirst.out, /^releases:\n  gate:\n    dataset: core\n/m)
  assert.equal((await run('config', 'restore', edited)).code, 1)
  assert.equal((await run('config', 'restore', edited, '--override', 'a rescue')).code, 0)
  const shown = await get(await serve(t, folder, {}))
  assert.deepEqual([shown.configuration.name, shown.configuration.releases, shown.warnings], ['Edited', undefined, undefined])
})

test('an edit that the running service has refused is accepted by a command', async (t) => {
  const { service, run, file } = await start(t, {})
  await writeFile(file, 'name: Edited\n')
  await until(
    () => get(service),
    ({ warnings }) => warnings !== undefined,
  )
  const edited = (await run('config', 'history')).out.trimEnd().split('\n')[1]!.split(' ')[0]!
  assert.equal((await run('config', 'restore', edited, '--override', 'a rescue')).code, 0)
  const shown = await until(
    () => get(service),
    ({ configuration }) => configuration.name === 'Edited',
  )
  assert.deepEqual([shown.configuration.releases, shown.warnings], [undefined, undefined])
  await stop(service)
})

test('doctor warns of a skill that was changed while nothing ran', async (t) => {
  const { service, run, file, folder } = await start(t, {})
  const skill = path.join(folder, 'skills/refunds/SKILL.md')
  await mkdir(path.dirname(skill), { recursive: true })
  await writeFile(skill, '---\nname: refunds\ndescription: One.\n---\nDo.\n')
  const added = await put(service, { skills: [{ path: 'skills/*' }] }, { override: 'a new skill' })
  assert.equal(added.status, 200, added.text)
  await stop(service)
  assert.doesNotMatch((await run('doctor')).out, /has not passed/)
  const text = await readFile(file, 'utf8')
  await writeFile(skill, '---\nname: refunds\ndescription: Two.\n---\nDo.\n')
  assert.match(
    (await run('doctor')).out,
    /warn +gate: The change of files has not passed the gate .* Files have changed: skills\[refunds\]/,
  )
  assert.equal(await readFile(file, 'utf8'), text)
})
