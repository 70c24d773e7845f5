import assert from 'node:assert/strict'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { openEvidence } from '../fixtures/gate-evidence.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import type { Client } from '../fixtures/service-client.ts'
import { startService, type TestService } from '../fixtures/service.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const place = '/core/v1/agent/config'
const yaml = `llms: {primary: {provider: embedded, model: rules-1}}
skills: [{path: 'skills/*'}]
`
const skillOf = (text: string) => `---\nname: refunds\ndescription: ${text}\n---\nDo it.\n`

interface Replica extends TestService {
  admin: Client
  /** The description of the skill that this process uses; undefined where the skill is not used. */
  used(): string | undefined
  write(text: string): Promise<void>
}

async function newDatabase(): Promise<Record<string, string>> {
  return { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
}

/** A process with its own folder, whose skill has this description. */
async function start(t: TestContext, environment: Record<string, string>, text: string, more = ''): Promise<Replica> {
  const service = await startService(t, { yaml: yaml + more, environment, project: { 'skills/refunds/SKILL.md': skillOf(text) } })
  const file = path.join(path.dirname(service.settings.agentConfig), 'skills/refunds/SKILL.md')
  return Object.assign(service, {
    admin: await service.as({ sub: 'root', roles: ['admin'] }),
    used: () => service.service.agent.skills?.skills[0]?.description,
    write: (next: string) => writeFile(file, skillOf(next)),
  })
}

const configOf = async ({ admin }: Replica) => (await admin.request('GET', place)).body
const historyOf = async ({ admin }: Replica) => (await admin.request('GET', `${place}/history`)).body.versions

test('replicas with the same files make one version, and each uses the skill', async (t) => {
  const environment = await newDatabase()
  const replicas = [await start(t, environment, 'One.'), await start(t, environment, 'One.')] as const
  assert.deepEqual(
    replicas.map((replica) => replica.used()),
    ['One.', 'One.'],
  )
  assert.deepEqual(
    (await historyOf(replicas[0])).map(({ kind }: any) => kind),
    ['seed'],
  )
  assert.equal((await configOf(replicas[1])).warnings, undefined)
})

test('a change on one replica is pinned: the others do not use their former files until they have the new ones', async (t) => {
  const environment = await newDatabase()
  const [a, b] = [await start(t, environment, 'One.'), await start(t, environment, 'One.')]
  await a.write('Two.')
  await until(
    async () => [a.used(), b.used()].join(),
    (used) => used === 'Two.,',
  )
  const [newest] = await historyOf(b)
  assert.deepEqual([newest.kind, newest.diff], ['skills', ['skills[refunds]']])
  const { version, warnings } = await configOf(b)
  assert.equal(version, (await configOf(a)).version)
  assert.match(
    warnings.join(),
    /skills\[refunds\]: the files of this process are not those of the configuration \(pinned \w{12}, here \w{12}\)/,
  )
  assert.equal((await configOf(a)).warnings, undefined)
  await b.write('Two.')
  await until(
    async () => b.used(),
    (used) => used === 'Two.',
  )
  assert.equal((await configOf(b)).warnings, undefined)
  assert.equal((await historyOf(b)).length, 2)
})

test('a new replica with new files pins them, and one that starts with former files does not undo that', async (t) => {
  const environment = await newDatabase()
  const a = await start(t, environment, 'One.')
  const b = await start(t, environment, 'Two.')
  assert.equal(b.used(), 'Two.')
  await until(
    async () => a.used(),
    (used) => used === undefined,
  )
  const c = await start(t, environment, 'One.')
  assert.equal(c.used(), undefined)
  assert.match((await configOf(c)).warnings.join(), /skills\[refunds\]/)
  assert.deepEqual(
    (await historyOf(c)).map(({ kind }: any) => kind),
    ['skills', 'seed'],
  )
})

test('the first process after all have stopped uses its files, whatever was pinned before', async (t) => {
  const environment = await newDatabase()
  const a = await start(t, environment, 'One.')
  await a.write('Two.')
  await until(
    async () => a.used(),
    (used) => used === 'Two.',
  )
  await a.close(0)
  const b = await start(t, environment, 'One.')
  assert.equal(b.used(), 'One.')
  assert.deepEqual(
    (await historyOf(b)).map(({ kind }: any) => kind),
    ['skills', 'skills', 'seed'],
  )
})

test('replicas change a shared folder together: one version, used by both', async (t) => {
  const environment = await newDatabase()
  const [a, b] = [await start(t, environment, 'One.'), await start(t, environment, 'One.')]
  await Promise.all([a.write('Two.'), b.write('Two.')])
  await until(
    async () => [a.used(), b.used()].join(),
    (used) => used === 'Two.,Two.',
  )
  assert.equal((await historyOf(a)).length, 2)
})

test('a change over HTTP keeps the pins; folders that it adds are pinned, and folders that it removes are not', async (t) => {
  const environment = await newDatabase()
  const [a, b] = [await start(t, environment, 'One.'), await start(t, environment, 'One.')]
  await a.write('Two.')
  await until(
    async () => [a.used(), b.used()].join(),
    (used) => used === 'Two.,',
  )
  // Sent to the replica with the former files.
  const put = (configuration: object) => b.admin.request('PUT', place, { body: { configuration } })
  const described = await put({ description: 'Other.' })
  assert.deepEqual(described.body.diff, ['description'])
  await until(
    async () => configOf(a),
    ({ version }) => version === described.body.version,
  )
  assert.deepEqual([a.used(), b.used()], ['Two.', undefined])
  const removed = await put({ skills: [] })
  assert.ok(removed.body.diff.includes('skills[0]'), removed.text)
  const back = await put({ skills: [{ path: 'skills/*' }] })
  assert.ok(back.body.diff.includes('skills[refunds]'), back.text)
  await until(
    async () => [a.used(), b.used()].join(),
    (used) => used === ',One.',
  )
})

test('a change in memory stays in effect while files of skills change', async (t) => {
  const environment = await newDatabase()
  const a = await start(t, environment, 'One.')
  const body = { configuration: { description: 'In memory.' }, in_memory_only: true }
  assert.equal((await a.admin.request('PUT', place, { body })).status, 200)
  await a.write('Two.')
  await until(
    async () => a.used(),
    (used) => used === 'Two.',
  )
  const { configuration } = await configOf(a)
  assert.equal(configuration.description, 'In memory.')
  const text = await a.admin.request('GET', place, { headers: { accept: 'application/yaml' } })
  assert.ok(!text.text.includes('In memory.'))
})

test('an edit of the file of a replica keeps a change over HTTP, also after files of skills have changed', async (t) => {
  const environment = await newDatabase()
  const a = await start(t, environment, 'One.')
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-former-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = a.settings.agentConfig
  await cp(file, path.join(folder, 'agent.yaml'))
  await a.admin.request('PUT', place, { body: { configuration: { description: 'By HTTP.' } } })
  await a.write('Two.')
  await until(
    async () => a.used(),
    (used) => used === 'Two.',
  )
  // A ConfigMap rolls out: the former text with one more field.
  const b = await startService(t, { yaml: `${yaml}name: Rolled\n`, environment, project: { 'skills/refunds/SKILL.md': skillOf('Two.') } })
  const admin = await b.as({ sub: 'root', roles: ['admin'] })
  const { configuration } = (await admin.request('GET', place)).body
  assert.deepEqual([configuration.name, configuration.description], ['Rolled', 'By HTTP.'])
})

test('under a gate, a changed skill of a replica is used nowhere until its experiment has passed', async (t) => {
  const environment = await newDatabase()
  const gate = 'releases: {gate: {dataset: core}}\n'
  const [a, b] = [await start(t, environment, 'One.', gate), await start(t, environment, 'One.', gate)]
  const { addDataset, addExperiment } = await openEvidence(t, a.settings)
  const dataset = await addDataset()
  await a.write('Two.')
  const { version, warnings } = await until(
    () => configOf(a),
    (shown) => shown.warnings !== undefined,
  )
  assert.match(warnings[0], /The change of files has not passed the gate .* Files have changed: skills\[refunds\]/)
  assert.deepEqual([a.used(), b.used()], ['One.', 'One.'])
  const started = await start(t, environment, 'Two.', gate)
  assert.deepEqual([started.used(), (await configOf(started)).version], [undefined, version])
  await addExperiment(dataset, { configHash: /[0-9a-f]{64}/.exec(warnings[0])![0] })
  await until(
    async () => [a.used(), b.used(), started.used()].join(),
    (used) => used === 'Two.,,Two.',
  )
  await b.write('Two.')
  await until(
    async () => b.used(),
    (used) => used === 'Two.',
  )
  for (const replica of [a, b, started]) assert.equal((await configOf(replica)).warnings, undefined)
})
