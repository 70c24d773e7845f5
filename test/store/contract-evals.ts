import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Dataset } from '../../src/evals/dataset.ts'
import type { NewExample } from '../../src/evals/dataset-store.ts'
import type { ExperimentResult, NewExperiment } from '../../src/evals/experiment-store.ts'
import { summarize } from '../../src/evals/experiments/figures.ts'
import { createNewId } from '../../src/service/new-id.ts'
import type { Database } from '../../src/store/database.ts'
import { createDatasetStore } from '../../src/store/evals/datasets.ts'
import { createExperimentStore } from '../../src/store/evals/experiments.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('datasets', registerDatasetContract)
storeContract('experiments', registerExperimentContract)

const newId = createNewId()

/** Datasets of a tenant that no other test has. */
function datasetsOf(database: Database, tenant: string = randomUUID()) {
  const store = createDatasetStore(database)
  const datasetOf = (changes: Partial<Dataset> = {}): Dataset => ({
    tenant,
    id: newId(),
    name: 'core',
    description: '',
    scorers: [{ name: 'effects', kind: 'effects' }],
    share: 'none',
    revision: 0,
    createdAt: 1,
    updatedAt: 1,
    ...changes,
  })
  const exampleOf = (changes: Partial<NewExample> = {}): NewExample => ({
    id: newId(),
    name: 'one',
    tags: ['a'],
    source: undefined,
    session: undefined,
    content: { input: { messages: [{ role: 'user', content: 'hello' }] } },
    createdAt: 2,
    media: [],
    ...changes,
  })
  const add = async (changes: Partial<Dataset> = {}) => {
    const dataset = datasetOf(changes)
    assert.equal(await store.insert(dataset, 10), 'added')
    return dataset
  }
  const addExample = async (dataset: string, changes: Partial<NewExample> = {}) => {
    const added = await store.addExample(tenant, dataset, exampleOf(changes), 10)
    assert.ok(typeof added === 'object')
    return added
  }
  const names = async (dataset: string, revision?: number) => {
    const page = { limit: 10, before: undefined, ...(revision !== undefined && { revision }) }
    return (await store.examples(tenant, dataset, page)).map(({ name }) => name)
  }
  return { store, tenant, datasetOf, exampleOf, add, addExample, names }
}

function registerDatasetContract(database: () => Database): void {
  test('a dataset is found by its id and its name, by its tenant alone', async () => {
    const { store, tenant, add } = datasetsOf(database())
    const dataset = await add()
    assert.deepEqual(await store.find(tenant, dataset.id), { ...dataset, examples: 0 })
    assert.deepEqual(await store.find(tenant, 'core'), { ...dataset, examples: 0 })
    assert.equal(await store.find(randomUUID(), dataset.id), undefined)
    assert.equal(await store.change(randomUUID(), dataset.id, { name: 'x' }, 5), undefined)
    assert.equal(await store.remove(randomUUID(), dataset.id), false)
  })

  test('a name is used once in a tenant, and a tenant has a greatest number of datasets', async () => {
    const { store, tenant, datasetOf, add } = datasetsOf(database())
    await add()
    const other = await add({ name: 'other' })
    const [first, second] = await Promise.all([store.insert(datasetOf({ name: 'n' }), 10), store.insert(datasetOf({ name: 'n' }), 10)])
    assert.deepEqual(new Set([first, second]), new Set(['added', 'name']))
    assert.equal(await store.change(tenant, other.id, { name: 'core' }, 5), 'name')
    assert.equal(await store.insert(datasetOf({ name: 'more' }), 3), 'tenant')
    const [newest, next] = await store.list(tenant, { limit: 2, before: undefined })
    assert.deepEqual([newest?.name, next?.name], ['n', 'other'])
    assert.deepEqual(
      (await store.list(tenant, { limit: 2, before: next?.id })).map(({ name }) => name),
      ['core'],
    )
  })

  test('each change of the examples makes a revision, and earlier ones stay as they were', async () => {
    const { store, tenant, add, addExample, names } = datasetsOf(database())
    const { id } = await add()
    const one = await addExample(id)
    await addExample(id, { name: 'two' })
    assert.equal((await store.changeExample(tenant, id, one.id, () => ({ name: 'one again' }), 7))?.revision, 3)
    assert.equal(await store.removeExample(tenant, id, one.id, 8), true)
    assert.equal(await store.removeExample(tenant, id, one.id, 8), false)
    assert.deepEqual(await names(id), ['two'])
    assert.deepEqual(await names(id, 0), [])
    assert.deepEqual(await names(id, 1), ['one'])
    assert.deepEqual(await names(id, 2), ['two', 'one'])
    assert.deepEqual(await names(id, 3), ['two', 'one again'])
    const oldest = await store.examples(tenant, id, { limit: 1, before: undefined, after: '', revision: 2 })
    const next = await store.examples(tenant, id, { limit: 1, before: undefined, after: oldest[0]!.id, revision: 2 })
    assert.deepEqual([oldest[0]?.name, next[0]?.name], ['one', 'two'])
    assert.deepEqual((await store.example(tenant, id, one.id, 2))?.name, 'one')
    assert.equal(await store.example(tenant, id, one.id), undefined)
    const dataset = await store.find(tenant, id)
    assert.deepEqual([dataset?.revision, dataset?.examples, dataset?.updatedAt], [4, 1, 8])
    const changed = await store.change(tenant, id, { scorers: [] }, 9)
    assert.deepEqual(changed !== 'name' && changed?.revision, 5)
  })

  test('concurrent examples have revisions of their own, up to the greatest number of examples', async () => {
    const { store, tenant, exampleOf, add } = datasetsOf(database())
    const { id } = await add()
    const added = await Promise.all(Array.from({ length: 5 }, () => store.addExample(tenant, id, exampleOf(), 3)))
    const revisions = added.map((example) => (typeof example === 'object' ? example.revision : example))
    assert.deepEqual(
      revisions.map(String).toSorted((a, b) => a.localeCompare(b)),
      ['1', '2', '3', 'full', 'full'],
    )
  })

  test('the deletion of a session takes its examples and their media, but not detached ones', async () => {
    const { start, tenant } = storeOf(database())
    const { run, turn } = await start()
    const { store, add, addExample, exampleOf, names } = datasetsOf(database(), tenant)
    const { id } = await add()
    const { session } = turn
    const media = [{ hash: 'ab', mediaType: 'image/png', data: 'AA==' }]
    const source = { requestId: 'r', owner: 'o', configVersion: '1' }
    const kept = await addExample(id, { name: 'kept', source, session, media })
    const lost = await addExample(id, { name: 'lost', source, session, media })
    await addExample(id, { name: 'by hand' })
    assert.deepEqual(await store.media(tenant, id, kept.id), media)
    await store.changeExample(tenant, id, kept.id, () => ({ source: undefined }), 9)
    const removal = { jobId: randomUUID(), now: 10 }
    assert.equal(await createSessionStore(database()).remove(run, run.sessionId, removal), true)
    assert.deepEqual(await names(id), ['by hand', 'kept'])
    assert.deepEqual(await names(id, 2), [])
    assert.deepEqual(await store.media(tenant, id, lost.id), [])
    assert.deepEqual(await store.media(tenant, id, kept.id), media)
    assert.equal((await store.example(tenant, id, kept.id))?.source, undefined)
    assert.equal(await store.addExample(tenant, id, exampleOf({ session }), 10), 'gone')
  })
}

const spec: NewExperiment['spec'] = {
  identity: {
    tenant: 'acme',
    issuer: 'agent-core',
    sub: 'ann',
    owner: 'agent-core ann',
    roles: ['admin'],
    keyId: 'k',
    signingKeyId: 's',
    expiresAt: 1,
  },
  datasets: [{ id: 'd', name: 'core', revision: 1, examples: 1 }],
  repetitions: 1,
  scorers: [{ name: 'effects', kind: 'effects' }],
  tools: { onMiss: 'fail', live: [] },
  variants: [{ kind: 'version', version: 'v', configHash: 'c' }],
}

function registerExperimentContract(database: () => Database): void {
  const setUp = async () => {
    const { tenant, add, store: datasets } = datasetsOf(database())
    const store = createExperimentStore(database())
    const dataset = await add()
    const experimentOf = (changes: Partial<NewExperiment> = {}): NewExperiment => ({
      tenant,
      owner: 'agent-core ann',
      id: newId(),
      requestId: randomUUID(),
      bodyHash: 'h',
      spec,
      configurations: '',
      dataset: dataset.id,
      configHash: 'c',
      createdAt: 1,
      ...changes,
    })
    const resultOf = (changes: Partial<ExperimentResult> = {}): ExperimentResult => ({
      variant: 0,
      example: 'e1',
      repetition: 1,
      outcome: 'passed',
      figures: { dataset: 0, tokens: 3, durationMs: 4, scores: [], effects: { same: 1, added: 0, removed: 0, changed: 0 } },
      session: undefined,
      content: { output: 'hello' },
      createdAt: 3,
      ...changes,
    })
    return { tenant, store, datasets, dataset, experimentOf, resultOf }
  }

  test('an experiment is stored with its job, and a repeated request changes nothing', async () => {
    const { tenant, store, experimentOf } = await setUp()
    const experiment = experimentOf()
    assert.equal(await store.insert(experiment), undefined)
    const found = await store.find(tenant, experiment.id)
    assert.deepEqual([found?.status, found?.spec, found?.verdict], ['pending', spec, undefined])
    const repeated = await store.insert(experimentOf({ requestId: experiment.requestId, bodyHash: 'other' }))
    assert.deepEqual([repeated?.known.id, repeated?.known.bodyHash], [experiment.id, 'h'])
    assert.equal((await store.list(tenant, { limit: 10, before: undefined })).length, 1)
    assert.equal(await store.find(randomUUID(), experiment.id), undefined)
    const table = database().jobs.table({ now: () => 10 })
    const { claimed } = await table.claim('experiment', 100)
    const mine = claimed.filter(({ job }) => job.tenant === tenant)
    assert.deepEqual(
      mine.map(({ job }) => job.data),
      [{ id: experiment.id }],
    )
    for (const { job } of claimed) await table.remove(job)
  })

  test('the first result under a key stays, and none is added behind the end', async () => {
    const { tenant, store, experimentOf, resultOf } = await setUp()
    const { id } = experimentOf()
    await store.insert(experimentOf({ id }))
    assert.equal(await store.addResult(tenant, id, resultOf()), false)
    assert.equal(await store.start(tenant, id, 2), 0)
    assert.equal(await store.start(tenant, id, 5), 1)
    await store.addResult(tenant, id, resultOf())
    await store.addResult(tenant, id, resultOf({ outcome: 'failed' }))
    await store.addResult(tenant, id, resultOf({ variant: 1 }))
    const { results: first } = await store.results(tenant, id, { limit: 1, offset: 0 })
    assert.deepEqual(first, [resultOf(), resultOf({ variant: 1 })])
    assert.deepEqual(
      (await store.done(tenant, id)).map(({ variant, example, outcome }) => [variant, example, outcome]),
      [
        [0, 'e1', 'passed'],
        [1, 'e1', 'passed'],
      ],
    )
    const summary = summarize(await store.done(tenant, id), 2)
    const end = { status: 'completed' as const, verdict: 'passed' as const, summary, now: 9 }
    assert.equal(await store.end(tenant, id, end), true)
    assert.equal(await store.end(tenant, id, { ...end, status: 'cancelled' }), false)
    assert.equal(await store.addResult(tenant, id, resultOf({ variant: 2 })), false)
    const ended = await store.find(tenant, id)
    assert.deepEqual(
      [ended?.status, ended?.startedAt, ended?.endedAt, ended?.summary],
      ['completed', 2, 9, JSON.parse(JSON.stringify(summary))],
    )
  })

  test('processes that were lost without a new result are counted; those that leave, and those before a result, are not', async () => {
    const { tenant, store, experimentOf, resultOf } = await setUp()
    const { id } = experimentOf()
    await store.insert(experimentOf({ id }))
    const start = () => store.start(tenant, id, 2)
    assert.deepEqual([await start(), await start(), await start()], [0, 1, 2])
    await store.addResult(tenant, id, resultOf())
    assert.deepEqual([await start(), await start()], [0, 1])
    await store.leave(tenant, id)
    assert.deepEqual([await start(), await start()], [0, 1])
    await store.end(tenant, id, { status: 'cancelled', verdict: 'none', now: 3 })
    assert.equal(await start(), undefined)
    assert.equal(await store.start(tenant, newId(), 2), undefined)
  })

  test('results are listed by example and repetition, and by the outcome of a variant; traces are read one by one', async () => {
    const { tenant, store, experimentOf, resultOf } = await setUp()
    const { id } = experimentOf()
    await store.insert(experimentOf({ id }))
    await store.start(tenant, id, 2)
    const trace = [{ n: 1, kind: 'reply' }]
    for (const example of ['e3', 'e2', 'e1'])
      for (const repetition of [1, 2])
        for (const variant of [0, 1]) {
          const outcome = variant === 1 && example !== 'e2' && repetition === 2 ? 'failed' : 'passed'
          await store.addResult(tenant, id, resultOf({ example, repetition, variant, outcome, trace }))
        }
    const namesOf = (results: ExperimentResult[]) => results.map((result) => `${result.example} ${result.repetition} ${result.variant}`)
    const { results: second, hasMore } = await store.results(tenant, id, { limit: 2, offset: 1 })
    assert.deepEqual([hasMore, (await store.results(tenant, id, { limit: 5, offset: 1 })).hasMore], [true, false])
    assert.deepEqual(namesOf(second), ['e1 2 0', 'e1 2 1', 'e2 1 0', 'e2 1 1'])
    assert.equal(second[0]?.trace, undefined)
    const { results: failed } = await store.results(tenant, id, { limit: 9, offset: 0, having: { variant: 1, outcome: 'failed' } })
    assert.deepEqual(namesOf(failed), ['e1 2 0', 'e1 2 1', 'e3 2 0', 'e3 2 1'])
    const whole = await store.resultsOf(tenant, id, { example: 'e2', repetition: 2 })
    assert.deepEqual([namesOf(whole), whole[0]?.trace], [['e2 2 0', 'e2 2 1'], trace])
    assert.deepEqual(await store.results(randomUUID(), id, { limit: 9, offset: 0 }), { results: [], hasMore: false })
  })

  test('a page of long results ends early, and the next one goes on behind it', async () => {
    const { tenant, store, experimentOf, resultOf } = await setUp()
    const { id } = experimentOf()
    await store.insert(experimentOf({ id }))
    await store.start(tenant, id, 2)
    const content = { output: 'x'.repeat(1_500_000) }
    for (const example of ['e1', 'e2', 'e3'])
      for (const variant of [0, 1]) await store.addResult(tenant, id, resultOf({ example, variant, content }))
    const pages = await Promise.all([0, 1, 2].map((offset) => store.results(tenant, id, { limit: 9, offset })))
    assert.deepEqual(
      pages.map(({ results, hasMore }) => [results.map(({ example }) => example), hasMore]),
      [
        [['e1', 'e1'], true],
        [['e2', 'e2'], true],
        [['e3', 'e3'], false],
      ],
    )
  })

  test('configurations are there until the end', async () => {
    const { tenant, store, experimentOf } = await setUp()
    const { id } = experimentOf()
    await store.insert(experimentOf({ id, configurations: 'sealed' }))
    assert.equal(await store.configurations(tenant, id), 'sealed')
    assert.equal(await store.configurations(randomUUID(), id), undefined)
    await store.end(tenant, id, { status: 'cancelled', verdict: 'none', now: 3 })
    assert.equal(await store.configurations(tenant, id), undefined)
  })

  test('a gate finds the newest completed experiment with a configuration, whatever its verdict', async () => {
    const { tenant, store, dataset, experimentOf } = await setUp()
    const endedAt = async (
      now: number,
      { status = 'completed', configHash = 'c' }: { status?: 'completed' | 'failed'; configHash?: string },
    ) => {
      const experiment = experimentOf({ configHash })
      await store.insert(experiment)
      await store.end(tenant, experiment.id, { status, verdict: now === 20 ? 'failed' : 'passed', now })
      return experiment.id
    }
    await endedAt(10, {})
    const newest = await endedAt(20, {})
    await endedAt(30, { status: 'failed' })
    await endedAt(40, { configHash: 'other' })
    const asked = { dataset: dataset.id, configHash: 'c', since: 0 }
    assert.equal((await store.completed(tenant, asked))?.id, newest)
    assert.equal(await store.completed(tenant, { ...asked, since: 21 }), undefined)
    assert.equal(await store.completed(randomUUID(), asked), undefined)
  })

  test('an ended experiment is removed with its results, and with its dataset', async () => {
    const { tenant, store, datasets, dataset, experimentOf, resultOf } = await setUp()
    const [one, two] = [experimentOf(), experimentOf()]
    for (const experiment of [one, two]) {
      await store.insert(experiment)
      await store.start(tenant, experiment.id, 2)
      await store.addResult(tenant, experiment.id, resultOf())
    }
    assert.equal(await store.remove(tenant, one.id), false)
    await store.end(tenant, one.id, { status: 'cancelled', verdict: 'none', now: 3 })
    assert.equal(await store.remove(tenant, one.id), true)
    assert.deepEqual(await store.done(tenant, one.id), [])
    assert.equal(await datasets.remove(tenant, dataset.id), true)
    assert.equal(await store.find(tenant, two.id), undefined)
    assert.deepEqual(await store.done(tenant, two.id), [])
  })
}
