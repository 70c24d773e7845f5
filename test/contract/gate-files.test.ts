import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { openConfigurationStore } from '../../src/store/configuration/configurations.ts'
import { openDatabase } from '../../src/store/open.ts'
import { createSecretBox, plainBox } from '../../src/store/secrets/secret-box.ts'
import { until } from '../fixtures/async-client.ts'
import { openEvents } from '../fixtures/audit-events.ts'
import type { ModelAnswer, ModelServerRequest } from '../fixtures/model-server.ts'
import { bothDatabases } from '../fixtures/both-databases.ts'
import { endOf, recordRefunds, startExperiment, startRefunding } from '../fixtures/refund-shop.ts'
import { startService, type ServiceOptions, type TestService } from '../fixtures/service.ts'

const databases = bothDatabases()

const place = '/core/v1/agent/config'
const gate = { releases: { gate: { dataset: 'core' } } }
const skillOf = (description: string) => `---\nname: refunds\ndescription: ${description}\n---\nDo.\n`
const skillFile = 'skills/refunds/SKILL.md'

async function fixtureOf(service: TestService) {
  const admin = async () => service.as({ sub: 'root', roles: ['admin'] })
  const get = async () => (await (await admin()).request('GET', place)).body
  return {
    service,
    admin,
    get,
    write: (name: string, text: string) => writeFile(path.join(path.dirname(service.settings.agentConfig), name), text),
    put: async (body: object) => (await admin()).request('PUT', place, { body }),
    newest: async () => (await (await admin()).request('GET', `${place}/history?limit=1`)).body.versions[0],
    /** The warning of the gate. */
    refused: async () => {
      const { warnings } = await until(get, (shown) => shown.warnings?.some((line: string) => line.includes('has not passed the gate')))
      return warnings.find((line: string) => line.includes('has not passed the gate')) as string
    },
    isNew: (version: string) => until(get, (shown) => shown.version !== version && shown.warnings === undefined),
    tryOut: async (candidate: object = { patch: {} }) => {
      const client = await admin()
      const ended = await endOf(client, await startExperiment(client, { dataset_id: 'core', candidate }))
      assert.equal(ended.status, 'completed', JSON.stringify(ended))
      return { verdict: ended.verdict, ...ended.variants.at(-1), baseline: ended.variants[0] }
    },
    errors: () => service.log.map((line) => JSON.parse(line)).filter(({ level }) => level === 50),
  }
}

async function startWithSkill(t: TestContext, environment: Record<string, string>) {
  const started = await startRefunding(t, {
    environment,
    config: { ...gate, skills: [{ path: 'skills/*' }] },
    project: { [skillFile]: skillOf('Refund once.') },
  })
  const promptOf = async () => {
    await (await started.as()).chat('Refund order 9.')
    return String(started.model.requests.findLast(({ body }) => /order 9/.test(JSON.stringify(body)))!.body.messages[0].content)
  }
  return { ...(await fixtureOf(started)), started, promptOf }
}

for (const { name, environment } of databases) {
  test(`Gate: a changed skill is used only after an experiment over its files has passed, on ${name}`, async (t) => {
    const { admin, get, write, put, newest, refused, isNew, tryOut, errors, promptOf } = await startWithSkill(t, await environment())
    await recordRefunds(await admin(), 2)
    const { version } = await get()
    await write(skillFile, skillOf('Refund twice.'))
    const warning = await refused()
    assert.match(warning, /no experiment on the dataset "core" has tried this configuration\. Files have changed: skills\[refunds\]\./)
    assert.match(errors().at(-1).msg, /Files of skills or modules were changed, but the change has not passed the gate/)
    assert.match(await promptOf(), /Refund once/)

    const bad = await tryOut()
    assert.deepEqual([bad.verdict, bad.effects.added, bad.baseline.pass_rate], ['failed', 2, 1])
    assert.ok(warning.includes(bad.config_hash))
    assert.notEqual(bad.baseline.config_hash, bad.config_hash)
    const reply = await put({ configuration: {} })
    assert.equal(reply.status, 409, reply.text)
    assert.deepEqual([reply.body.details.files, reply.body.details.config_hash], [['skills[refunds]'], bad.config_hash])
    assert.equal((await get()).version, version)

    await write(skillFile, skillOf('Refund once, and be kind.'))
    const good = await tryOut()
    assert.equal(good.verdict, 'passed')
    await isNew(version)
    const { kind, by, diff } = await newest()
    assert.deepEqual([kind, by, diff], ['skills', 'file', ['skills[refunds]']])
    assert.match(await promptOf(), /be kind/)
  })

  test(`Gate: a changed skill is used with an override, which the ledger has, on ${name}`, async (t) => {
    const { service, write, put, refused, get, promptOf } = await startWithSkill(t, await environment())
    const newEvents = await openEvents(t, service.settings)
    await write(skillFile, skillOf('Refund never.'))
    await refused()
    await newEvents()
    const reply = await put({ configuration: {}, override: 'an outage' })
    assert.deepEqual([reply.status, reply.body.diff], [200, ['skills[refunds]']], reply.text)
    const events = await newEvents()
    assert.deepEqual(
      events.map(({ action }) => action),
      ['configuration.changed', 'configuration.overridden'],
    )
    const { override, files } = events[1]!.data as Record<string, unknown>
    assert.deepEqual([override, files], ['an outage', ['skills[refunds]']])
    await until(get, ({ warnings }) => warnings === undefined)
    assert.match(await promptOf(), /Refund never/)
  })

  test(`Gate: a skill that changed while nothing ran is not used after the start, and its former files are, on ${name}`, async (t) => {
    const { service, get, write, refused, promptOf } = await startWithSkill(t, await environment())
    const { version } = await get()
    await service.close(0)
    await write(skillFile, skillOf('Refund twice.'))
    await service.restart()
    assert.match(await refused(), /Files have changed: skills\[refunds\]/)
    assert.doesNotMatch(await promptOf(), /refunds:/)
    assert.equal((await get()).version, version)
    await write(skillFile, skillOf('Refund once.'))
    await until(get, ({ warnings }) => warnings === undefined)
    assert.match(await promptOf(), /Refund once/)
    assert.equal((await get()).version, version)
  })

  test(`Gate: an experiment over files that have changed since fails, and opens no gate, on ${name}`, async (t) => {
    const { admin, write, refused } = await startWithSkill(t, await environment())
    await recordRefunds(await admin(), 1)
    await write(skillFile, skillOf('Refund once, again.'))
    const before = await refused()
    const client = await admin()
    const id = await startExperiment(client, { dataset_id: 'core', candidate: { patch: {} } })
    await write(skillFile, skillOf('Refund twice.'))
    const { status, error } = await endOf(client, id)
    if (status === 'failed') assert.match(error, /the files have changed since: skills\[refunds\]/)
    const after = await until(refused, (warning) => warning !== before)
    assert.match(after, /no experiment/)
  })
}

const moduleOf = (description: string) => `import { prefix } from './lib/prefix.ts'
export default {
  description: ${JSON.stringify(description)},
  schema: { type: 'object', properties: { order: { type: 'integer' } }, required: ['order'] },
  effect: 'write',
  execute: ({ order }) => prefix + order,
}
`
const moduleFile = 'tools/refund.ts'
const helperFile = 'tools/lib/prefix.ts'

/** Calls the tool once, or twice where its description says so. */
function callRefund({ body: { messages, tools } }: ModelServerRequest): ModelAnswer {
  const times = JSON.stringify(tools).includes('Call it twice') ? 2 : 1
  const asked = messages.findLastIndex(({ role }: { role: string }) => role === 'user')
  const order = Number(/\d+/.exec(messages[asked].content)?.[0])
  const done = messages.slice(asked).filter(({ role }: { role: string }) => role === 'tool').length
  return done < times ? { calls: [{ name: 'refund', arguments: JSON.stringify({ order }) }] } : { text: 'Refunded.' }
}

async function startWithModule(t: TestContext, environment: Record<string, string>, config: ServiceOptions['config'] = gate) {
  const service = await startService(t, {
    environment,
    script: callRefund,
    config: { ...config, tools: [{ name: 'refund', type: 'module', config: { path: moduleFile } }] },
    project: { [moduleFile]: moduleOf('Refunds an order.'), [helperFile]: "export const prefix = 'one '\n" },
  })
  const fixture = await fixtureOf(service)
  const list = async () => (await (await fixture.admin()).request('GET', '/core/v1/tools')).body.tools[0]
  const execute = async () => {
    const client = await fixture.admin()
    return (await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'refund', tool_input: { order: 7 } } })).body.output
      ?.result
  }
  return { ...fixture, list, execute }
}

for (const { name, environment } of databases) {
  test(`Gate: a changed module, and a changed import of a module, is loaded only after its experiment has passed, on ${name}`, async (t) => {
    const { admin, get, write, newest, refused, isNew, tryOut, list, execute } = await startWithModule(t, await environment())
    await recordRefunds(await admin(), 1)
    const first = (await get()).version
    await write(moduleFile, moduleOf('Refunds. Call it twice.'))
    assert.match(await refused(), /Files have changed: tools\[refund\]/)
    assert.equal((await list()).description, 'Refunds an order.')
    const bad = await tryOut()
    assert.deepEqual([bad.verdict, bad.effects.added], ['failed', 1])
    assert.equal((await list()).description, 'Refunds an order.')
    await write(moduleFile, moduleOf('Refunds one order.'))
    assert.equal((await tryOut()).verdict, 'passed')
    const { version } = await isNew(first)
    assert.deepEqual([(await list()).description, (await newest()).diff], ['Refunds one order.', ['tools[refund]']])

    await write(helperFile, "export const prefix = 'two '\n")
    await refused()
    assert.equal(await execute(), 'one 7')
    assert.equal((await tryOut()).verdict, 'passed')
    await isNew(version)
    assert.equal(await execute(), 'two 7')
  })

  test(`Gate: a module that changed while nothing ran is not loaded after the start, on ${name}`, async (t) => {
    const { service, write, refused, get, list, execute } = await startWithModule(t, await environment())
    await service.close(0)
    await write(helperFile, "export const prefix = 'two '\n")
    await service.restart()
    await refused()
    const { status, description } = await list()
    assert.equal(status, 'error', description)
    await write(helperFile, "export const prefix = 'one '\n")
    await until(get, ({ warnings }) => warnings === undefined)
    await until(list, (listed) => listed.status === 'ready')
    assert.equal(await execute(), 'one 7')
  })

  test(`without a gate, a module follows its file and makes no version; the change that adds a gate pins the present file, on ${name}`, async (t) => {
    const { write, get, put, newest, refused, list, execute } = await startWithModule(t, await environment(), {})
    const { version } = await get()
    await write(moduleFile, moduleOf('Refunds quickly.'))
    await until(list, ({ description }) => description === 'Refunds quickly.')
    assert.equal((await get()).version, version)
    const reply = await put({ configuration: gate })
    assert.equal(reply.status, 200, reply.text)
    assert.deepEqual((await newest()).diff, ['releases', 'tools[refund]'])
    await write(helperFile, "export const prefix = 'two '\n")
    await refused()
    assert.equal(await execute(), 'one 7')
    const removed = await put({ configuration: { releases: null }, override: 'no gate' })
    assert.equal(removed.status, 200, removed.text)
    await until(execute, (output) => output === 'two 7')
  })

  test(`Gate: a version without hashes of modules, as former releases have made, gets those of the present files at the start, on ${name}`, async (t) => {
    const variables = await environment()
    const { service, get, write, newest, refused, list } = await startWithModule(t, variables)
    await service.close(0)
    const database = await openDatabase(service.settings)
    const box = variables['DATABASE_URL'] === undefined ? plainBox : createSecretBox(service.settings.secretKeys)
    const store = await openConfigurationStore(database, { box, adminTenant: 'default', now: Date.now })
    const { n, skills, ...former } = (await store.newest())!
    assert.deepEqual(Object.keys(skills ?? {}), ['tools[refund]'])
    const version = randomUUIDv7()
    assert.ok(await store.add({ ...former, version, storedVersion: version, diff: [], isAudited: true }, n))
    await database.close()
    await service.restart()
    assert.deepEqual([(await get()).warnings, (await list()).status], [undefined, 'ready'])
    assert.deepEqual((await newest()).diff, ['tools[refund]'])
    await write(helperFile, "export const prefix = 'two '\n")
    await refused()
  })
}
