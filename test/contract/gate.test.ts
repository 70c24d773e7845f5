import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { test, type TestContext } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { openEvents } from '../fixtures/audit-events.ts'
import { openEvidence } from '../fixtures/gate-evidence.ts'
import { bothDatabases } from '../fixtures/both-databases.ts'
import { startService } from '../fixtures/service.ts'

const databases = bothDatabases()

const place = '/core/v1/agent/config'
const ungated = 'description: First.\n'
const gated = `# Ours.
description: First.
releases:
  gate: {dataset: core}
`

async function start(t: TestContext, environment: Record<string, string>, yaml = gated) {
  const service = await startService(t, { yaml, environment })
  const evidence = await openEvidence(t, service.settings)
  const newEvents = await openEvents(t, service.settings)
  const admin = async () => service.as({ sub: 'root', roles: ['admin'] })
  const request = async (method: string, path: string, body: unknown, headers = {}) =>
    (await admin()).request(method, path, { body, headers })
  return {
    service,
    ...evidence,
    newEvents,
    put: (configuration: object, more = {}) => request('PUT', place, { configuration, ...more }),
    putText: (text: string, query = '') => request('PUT', `${place}${query}`, text, { 'content-type': 'application/yaml' }),
    restore: (body: object) => request('POST', `${place}/restore`, body),
    get: async () => (await (await admin()).request('GET', place)).body,
    file: () => readFile(service.settings.agentConfig, 'utf8'),
    edit: (text: string) => writeFile(service.settings.agentConfig, text),
    warnings: () => service.log.map((line) => JSON.parse(line)).filter(({ level, override }) => level === 40 && override !== undefined),
    errors: () => service.log.map((line) => JSON.parse(line)).filter(({ level }) => level === 50),
  }
}

type Fixture = Awaited<ReturnType<typeof start>>

/** Changes nothing, and returns the hash of the refused configuration. */
async function refusedHash(reply: Awaited<ReturnType<Fixture['put']>>): Promise<string> {
  assert.equal(reply.status, 409, reply.text)
  assert.equal(reply.body.details.error_type, 'GateNotPassed')
  assert.match(reply.body.details.config_hash, /^[0-9a-f]{64}$/)
  return reply.body.details.config_hash
}

for (const { name, environment } of databases) {
  test(`Gate: each way to change the configuration needs an experiment, with one hash for all ways, on ${name}`, async (t) => {
    const { put, putText, restore, get, addDataset, addExperiment } = await start(t, await environment())
    const dataset = await addDataset()
    const { version } = await get()
    const refused = await put({ description: 'Second.' })
    const hash = await refusedHash(refused)
    assert.deepEqual(refused.body.details, {
      error_type: 'GateNotPassed',
      config_hash: hash,
      dataset: 'core',
      reason: 'no experiment on the dataset "core" has tried this configuration',
    })
    assert.equal(await refusedHash(await put({ description: 'Second.' }, { in_memory_only: true })), hash)
    assert.equal(await refusedHash(await putText(gated.replace('First.', 'Second. # in other words'))), hash)
    assert.equal(await refusedHash(await putText(gated.replace('First.', 'Second.'), '?in_memory_only=true')), hash)
    assert.equal((await get()).version, version)
    await addExperiment(dataset, { configHash: hash })
    assert.equal((await put({ description: 'Second.' })).status, 200)
    const first = await get()
    assert.equal(first.configuration.description, 'Second.')
    const back = await restore({ version })
    const hashBefore = await refusedHash(back)
    assert.notEqual(hashBefore, hash)
    await addExperiment(dataset, { configHash: hashBefore })
    assert.equal((await restore({ version })).status, 200)
    assert.equal((await get()).configuration.description, 'First.')
  })

  test(`Gate: the running gate counts for its own removal; what changes nothing needs no experiment, on ${name}`, async (t) => {
    const { put, putText, get } = await start(t, await environment())
    await refusedHash(await put({ releases: null }))
    await refusedHash(await put({ releases: { gate: { dataset: 'core', min_pass_rate: 0 } } }))
    await refusedHash(await putText(ungated))
    await refusedHash(await put({ releases: null }, { in_memory_only: true }))
    assert.equal((await put({ description: 'First.' })).status, 200)
    assert.equal((await putText(`# Another comment.\n${gated}`)).status, 200)
    assert.deepEqual((await get()).configuration.releases, {
      gate: { dataset: 'core', min_pass_rate: 0.95, max_added_writes: 0, max_age_hours: 24 },
    })
  })

  test(`Gate: an experiment that is too bad, too old, not completed or of another dataset refuses with its figures, on ${name}`, async (t) => {
    const { put, addDataset, addExperiment, datasets } = await start(t, await environment())
    const change = () => put({ description: 'Second.' })
    const reasonOf = async () => {
      const reply = await change()
      await refusedHash(reply)
      return reply.body.details
    }
    assert.match((await reasonOf()).reason, /"core" does not exist/)
    const empty = await addDataset({ isEmpty: true })
    const { reason, config_hash: configHash } = await reasonOf()
    assert.match(reason, /has no examples/)
    await datasets.remove('default', empty)
    const [dataset, other] = [await addDataset(), await addDataset({ name: 'other' })]
    await addExperiment(other, { configHash })
    await addExperiment(dataset, { configHash, status: 'failed' })
    assert.match((await reasonOf()).reason, /no experiment/)
    const endedAt = Date.now() - 25 * 3_600_000
    const old = await addExperiment(dataset, { configHash, endedAt })
    assert.deepEqual((await reasonOf()).experiment, { id: old, pass_rate: 1, added: 0, ended_at: new Date(endedAt).toISOString() })
    await addExperiment(dataset, { configHash, endedAt: Date.now() - 2000 })
    const bad = await addExperiment(dataset, { configHash, endedAt: Date.now() - 1000, passRate: 0.9 })
    const refused = await reasonOf()
    assert.deepEqual([refused.experiment.id, refused.experiment.pass_rate], [bad, 0.9])
    await addExperiment(dataset, { configHash, endedAt: Date.now() - 500, added: 1 })
    assert.match((await reasonOf()).reason, /added or changed writes is 1, and must be at most 0/)
    await addExperiment(dataset, { configHash, endedAt: Date.now() - 300, done: 0 })
    assert.match((await reasonOf()).reason, /1 of the replays has no result/)
    await addExperiment(dataset, { configHash, endedAt: Date.now() - 100, passRate: 0.95 })
    assert.equal((await change()).status, 200)
  })

  test(`Gate: experiments of another tenant than the administrators' count for nothing, on ${name}`, async (t) => {
    const { service, put } = await start(t, await environment())
    const acme = await openEvidence(t, service.settings, 'acme')
    const configHash = await refusedHash(await put({ description: 'Second.' }))
    await acme.addExperiment(await acme.addDataset(), { configHash })
    const refused = await put({ description: 'Second.' })
    assert.equal(await refusedHash(refused), configHash)
    assert.match(refused.body.details.reason, /"core" does not exist/)
  })

  test(`Gate: a check warns, and changes nothing, on ${name}`, async (t) => {
    const { put, putText, restore, get } = await start(t, await environment())
    const { version } = await get()
    for (const reply of [
      await put({ description: 'Second.' }, { validate_only: true }),
      await put({ description: 'Second.' }, { validate_only: true, override: 'now' }),
      await putText(ungated, '?validate_only=true'),
    ]) {
      assert.equal(reply.status, 200, reply.text)
      assert.match(reply.body.warnings[0], /has not passed the gate .*"core" does not exist/)
    }
    assert.deepEqual((await restore({ version, validate_only: true })).body.warnings, [])
    assert.equal((await get()).version, version)
  })

  test(`Gate: an override needs a reason, and leaves the reason in the ledger and in the log, on ${name}`, async (t) => {
    const { put, putText, restore, get, newEvents, warnings } = await start(t, await environment())
    const { version } = await get()
    await newEvents()
    for (const override of ['', ' ', 'x'.repeat(501), 5]) {
      const reply = await put({ description: 'Second.' }, { override })
      assert.equal(reply.status, 422, reply.text)
      assert.deepEqual(reply.body.detail[0].loc, ['body', 'override'])
    }
    assert.equal((await putText(ungated, `?override=${'x'.repeat(501)}`)).status, 422)
    assert.deepEqual(await newEvents(), [])
    const changes = [
      { change: () => put({ description: 'Second.' }, { override: 'an outage' }), reason: 'an outage', act: 'configuration.changed' },
      { change: () => put({ name: 'M' }, { override: 'memory', in_memory_only: true }), reason: 'memory', act: 'configuration.changed' },
      { change: () => putText(gated.replace('First.', 'Third.'), '?override=a%20text'), reason: 'a text', act: 'configuration.changed' },
      { change: () => restore({ version, override: 'back\u0000 \ud800' }), reason: 'back\u0000 \ufffd', act: 'configuration.restored' },
    ]
    for (const { change, reason, act } of changes) {
      const reply = await change()
      assert.equal(reply.status, 200, reply.text)
      const [changed, overridden, ...others] = await newEvents()
      assert.deepEqual([changed?.action, overridden?.action, others], [act, 'configuration.overridden', []])
      assert.deepEqual(
        [overridden?.actor.sub, overridden?.target, overridden?.configVersion],
        ['root', 'configuration', reply.body.version],
      )
      const { override, dataset, version: made } = overridden!.data as Record<string, unknown>
      assert.deepEqual({ override, dataset, made }, { override: reason, dataset: 'core', made: reply.body.version })
      assert.equal(warnings().at(-1).override.toWellFormed(), reason)
    }
  })

  test(`Gate: an override that nothing refuses is recorded nowhere; with the ledger off, the log has the override, on ${name}`, async (t) => {
    const { put, addDataset, addExperiment, newEvents, warnings } = await start(t, await environment())
    const configHash = await refusedHash(await put({ description: 'Second.' }))
    await addExperiment(await addDataset(), { configHash })
    await newEvents()
    assert.equal((await put({ description: 'Second.' }, { override: 'not needed' })).status, 200)
    assert.deepEqual(
      (await newEvents()).map(({ action }) => action),
      ['configuration.changed'],
    )
    assert.deepEqual(warnings(), [])
    assert.equal((await put({ audit: { enabled: false } }, { override: 'quiet' })).status, 200)
    assert.equal((await newEvents()).length, 2)
    assert.equal((await put({ description: 'Third.' }, { override: 'quieter' })).status, 200)
    assert.deepEqual(await newEvents(), [])
    assert.deepEqual(
      warnings().map(({ override }) => override),
      ['quiet', 'quieter'],
    )
  })

  test(`Gate: an edit of the file is applied only after its experiment, on ${name}`, async (t) => {
    const { service, put, get, edit, file, errors, addDataset, addExperiment } = await start(t, await environment())
    const dataset = await addDataset()
    const configHash = await refusedHash(await put({ description: 'Edited.' }))
    const text = (await file()).replace('First.', 'Edited.')
    await edit(text)
    const { warnings } = await until(get, (shown) => shown.warnings !== undefined)
    assert.match(warnings[0], new RegExp(`The edit of agent.yaml has not passed the gate .* ${configHash}`))
    assert.equal((await get()).configuration.description, 'First.')
    assert.equal(await file(), text)
    assert.match(errors().at(-1).msg, /agent.yaml was edited, but the edit has not passed the gate; the configuration is unchanged/)
    const logged = errors().length
    await edit(text)
    await service.restart()
    assert.equal((await get()).configuration.description, 'First.')
    assert.match((await get()).warnings[0], /has not passed the gate/)
    assert.equal(await file(), text)
    assert.equal(errors().length, logged + 1)
    await addExperiment(dataset, { configHash })
    await edit(text)
    await until(get, (shown) => shown.configuration.description === 'Edited.')
    assert.equal((await get()).warnings, undefined)
  })

  test(`Gate: an edit that removes the gate while nothing runs is not applied at the next start, on ${name}`, async (t) => {
    const { service, get, edit, file, addDataset, addExperiment } = await start(t, await environment())
    const { version } = await get()
    await service.close(0)
    await edit(ungated)
    await service.restart()
    assert.deepEqual([(await get()).version, (await get()).configuration.releases.gate.dataset], [version, 'core'])
    const [warning] = (await get()).warnings
    await addExperiment(await addDataset(), { configHash: /[0-9a-f]{64}/.exec(warning)![0] })
    await service.restart()
    assert.deepEqual([(await get()).configuration.releases, (await get()).warnings], [undefined, undefined])
    assert.equal(await file(), ungated)
  })

  test(`Gate: an override makes a change beside an edit that is not applied, on ${name}`, async (t) => {
    const { put, putText, get, edit, file } = await start(t, await environment())
    await edit(gated.replace('First.', 'Edited.'))
    await until(get, (shown) => shown.warnings !== undefined)
    const reply = await put({ name: 'Urgent' }, { override: 'an outage' })
    assert.equal(reply.status, 200, reply.text)
    const { configuration } = await get()
    assert.deepEqual([configuration.name, configuration.description], ['Urgent', 'First.'])
    const text = gated.replace('First.', 'Edited.')
    await edit(text)
    await until(get, (shown) => shown.warnings !== undefined)
    assert.equal((await putText(text, '?override=as%20edited')).status, 200)
    const after = await get()
    assert.deepEqual([after.configuration.description, after.warnings, await file()], ['Edited.', undefined, text])
  })

  test(`Gate: a start ends a change in memory, and does not apply an edit that has not passed, on ${name}`, async (t) => {
    const { service, put, get, edit, file } = await start(t, await environment())
    assert.equal((await put({ releases: null }, { in_memory_only: true, override: 'a trial' })).status, 200)
    await service.close(0)
    await edit((await file()).replace('First.', 'Edited.'))
    await service.restart()
    const { configuration, warnings } = await get()
    assert.deepEqual([configuration.description, configuration.releases.gate.dataset, warnings.length], ['First.', 'core', 1])
    const { version } = await get()
    await service.restart()
    assert.equal((await get()).version, version)
  })

  test(`Gate: a first start, and a change that adds the gate, need no experiment, on ${name}`, async (t) => {
    const { put, get } = await start(t, await environment(), ungated)
    assert.equal((await put({ description: 'Second.' }, { override: 'not needed' })).status, 200)
    assert.equal((await put({ releases: { gate: { dataset: 'core' } } })).status, 200)
    await refusedHash(await put({ description: 'Third.' }))
    assert.equal((await get()).configuration.description, 'Second.')
  })
}

test('Gate: an override that cannot be recorded changes nothing, also where the file is the configuration', async (t) => {
  const { put, get, file, database } = await start(t, {})
  const [before, text] = [await get(), await file()]
  const run = (statement: string) => database.all.unit((connection) => connection.execute(statement, []))
  await run("create trigger kill_act before insert on audit_events begin select raise(abort, 'killed'); end")
  for (const more of [{}, { in_memory_only: true }]) {
    const reply = await put({ description: 'Second.' }, { override: 'an outage', ...more })
    assert.deepEqual([reply.status, reply.body.details.error_type], [503, 'ConfigurationNotStored'])
    assert.deepEqual([await get(), await file()], [before, text])
  }
  await run('drop trigger kill_act')
  assert.equal((await put({ description: 'Second.' }, { override: 'an outage' })).status, 200)
})

test('Gate: unknown and wrong fields of the gate are refused with their paths', async (t) => {
  const { put } = await start(t, {}, ungated)
  const cases: [object, (string | number)[]][] = [
    [{ gates: {} }, ['releases', 'gates']],
    [{ gate: { dataset: 'core', max: 1 } }, ['releases', 'gate', 'max']],
    [{ gate: {} }, ['releases', 'gate', 'dataset']],
    [{ gate: { dataset: 'core', min_pass_rate: 1.1 } }, ['releases', 'gate', 'min_pass_rate']],
    [{ gate: { dataset: 'core', max_added_writes: -1 } }, ['releases', 'gate', 'max_added_writes']],
    [{ gate: { dataset: 'core', max_age_hours: 0 } }, ['releases', 'gate', 'max_age_hours']],
  ]
  for (const [releases, at] of cases) {
    const reply = await put({ releases })
    assert.equal(reply.status, 422, reply.text)
    assert.deepEqual(reply.body.detail[0].loc, ['body', 'configuration', ...at])
  }
})

test('Gate: faults of a change, and another version, are told before the gate', async (t) => {
  const { put, service } = await start(t, {})
  assert.equal((await put({ description: 5 })).status, 422)
  const admin = await service.as({ sub: 'root', roles: ['admin'] })
  const stale = await admin.request('PUT', place, { body: { configuration: { description: 'x' } }, headers: { 'if-match': '"other"' } })
  assert.equal(stale.status, 412)
})
