import type { Principal } from '../access/permissions.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import { ServiceError } from '../errors.ts'
import { runGone } from '../runs/run-store.ts'
import type { FindRunKey, NamedRun } from '../runs/run-view.ts'
import type { JsonObject } from '../agent/messages.ts'
import type { RunKey } from '../runs/run.ts'
import type { Dataset, ListedDataset, ListedExample, StoredExample } from './dataset.ts'
import type { DatasetChanges, DatasetStore, ExampleChanges, ExamplesPage, NewExample, Page } from './dataset-store.ts'
import { bytesOf, maxExampleBytes, toExample, type Example, type ExampleDraft } from './example.ts'
import { exampleFromRun, type RecordedRun } from './from-run.ts'
import { checkScorers, type ScorerScope } from './scorers/check-scorers.ts'
import type { Scorer } from './scorers/scorer.ts'
import { withMedia, type MediaPorts } from './media.ts'

export type NewDataset = Pick<Dataset, 'name' | 'description' | 'scorers' | 'share'>

/** Names the run that an example is made of, and what the run does not have. */
export interface RunExample extends NamedRun {
  name?: string | undefined
  tags?: readonly string[] | undefined
  expected?: JsonObject | undefined
}

/** Changed fields. `isDetached`: the deletion of the session leaves the example. */
export interface ExamplePatch extends Partial<
  Pick<ExampleDraft, 'name' | 'tags' | 'input' | 'before' | 'recording' | 'model_replies' | 'expected'>
> {
  isDetached?: boolean
}

/** Datasets of the caller's tenant. Throws `not_found` for those of another tenant, as for unknown ones. */
export interface Datasets {
  create(caller: Principal, dataset: NewDataset): Promise<ListedDataset>
  list(caller: Principal, page: Page): Promise<ListedDataset[]>
  find(caller: Principal, id: string): Promise<ListedDataset>
  change(caller: Principal, id: string, changes: DatasetChanges): Promise<ListedDataset>
  remove(caller: Principal, id: string): Promise<void>
  examples(caller: Principal, id: string, page: Omit<ExamplesPage, 'after'>): Promise<ListedExample[]>
  example(caller: Principal, id: string, example: string): Promise<StoredExample>
  /** Adds an example that is written by hand. */
  add(caller: Principal, id: string, draft: ExampleDraft): Promise<StoredExample>
  /** Adds an ended run that the caller may read. Throws `run_not_ended`, and `gone` for a removed run. */
  addRun(caller: Principal, id: string, run: RunExample): Promise<StoredExample>
  changeExample(caller: Principal, id: string, example: string, patch: ExamplePatch): Promise<StoredExample>
  removeExample(caller: Principal, id: string, example: string): Promise<void>
}

export interface DatasetsDependencies {
  store: DatasetStore
  findRun: FindRunKey
  schemas: ScorerScope['schemas']
  /** Undefined for a run that goes on. */
  readRun(key: RunKey): Promise<RecordedRun | undefined>
  media: MediaPorts
  config(): AgentConfig['evals']
  now(): number
  newId(): string
}

export function createDatasets(dependencies: DatasetsDependencies): Datasets {
  const { store } = dependencies

  async function find({ tenant }: Principal, id: string): Promise<ListedDataset> {
    const dataset = await store.find(tenant, id)
    if (!dataset) throw noDataset(id)
    return dataset
  }

  return { find, ...changesOf(dependencies, find), ...examplesOf(dependencies, find) }
}

function changesOf(
  { store, schemas, config, now, newId }: DatasetsDependencies,
  find: Datasets['find'],
): Pick<Datasets, 'create' | 'list' | 'change' | 'remove'> {
  const check = (caller: Principal, scorers: readonly Scorer[] = []) => checkScorers(scorers, { schemas, caller, at: ['body', 'scorers'] })

  return {
    async create(caller, settings) {
      await check(caller, settings.scorers)
      const at = now()
      const { tenant } = caller
      const dataset: Dataset = { ...settings, tenant, id: newId(), revision: 0, createdAt: at, updatedAt: at }
      const max = config().max_datasets
      const added = await store.insert(dataset, max)
      if (added === 'name') throw nameTaken(settings.name)
      if (added === 'tenant')
        throw new ServiceError('dataset_limit', `The tenant has ${max} datasets, which are the most (evals.max_datasets).`)
      return { ...dataset, examples: 0 }
    },

    list: ({ tenant }, page) => store.list(tenant, page),

    async change(caller, id, changes) {
      const { id: known } = await find(caller, id)
      await check(caller, changes.scorers)
      const changed = await store.change(caller.tenant, known, changes, now())
      if (changed === 'name') throw nameTaken(changes.name ?? '')
      return find(caller, known)
    },

    async remove(caller, id) {
      const { id: known } = await find(caller, id)
      await store.remove(caller.tenant, known, caller)
    },
  }
}

function examplesOf(
  { store, findRun, readRun, media: mediaPorts, config, now, newId }: DatasetsDependencies,
  find: Datasets['find'],
): Pick<Datasets, 'examples' | 'example' | 'add' | 'addRun' | 'changeExample' | 'removeExample'> {
  async function keep(
    { tenant }: Principal,
    dataset: string,
    example: Example,
    { session, source, media = [] }: Partial<Pick<NewExample, 'session' | 'source' | 'media'>> = {},
  ): Promise<StoredExample> {
    const { id, name, tags, source: _source, ...content } = example
    refuseLarge(example)
    const max = config().max_examples
    const stored = { id, name, tags, source, session, content: content as unknown as JsonObject, createdAt: now(), media }
    const added = await store.addExample(tenant, dataset, stored, max)
    if (added === 'full')
      throw new ServiceError('dataset_limit', `The dataset has ${max} examples, which are the most (evals.max_examples).`)
    if (added === 'gone') throw runGone({ tenant, owner: source?.owner ?? '', requestId: source?.requestId ?? '' })
    if (!added) throw noDataset(dataset)
    return added
  }

  return {
    async examples(caller, id, { limit, ...page }) {
      const { id: dataset } = await find(caller, id)
      const listed: ListedExample[] = []
      for (let { before } = page; ; before = listed.at(-1)!.id) {
        const count = Math.min(readAtOnce, limit - listed.length)
        const rows = await store.examples(caller.tenant, dataset, { ...page, before, limit: count })
        listed.push(...rows.map(toListed))
        if (rows.length < count || listed.length === limit) return listed
      }
    },

    async example(caller, id, exampleId) {
      const { id: dataset } = await find(caller, id)
      const example = await store.example(caller.tenant, dataset, exampleId)
      if (!example) throw noExample(exampleId)
      return example
    },

    async add(caller, id, draft) {
      const { id: dataset } = await find(caller, id)
      return keep(caller, dataset, toExample(draft, { id: newId(), time: now() }))
    },

    async addRun(caller, id, { name, tags, expected, ...named }) {
      const { id: dataset } = await find(caller, id)
      const key = await findRun(caller, named)
      const recorded = await readRun(key)
      if (!recorded) throw new ServiceError('run_not_ended', `The run ${named.requestId} has not ended.`)
      const { run } = recorded
      const { configVersion = '' } = run
      const made = exampleFromRun(recorded, { id: newId(), name: name ?? nameOf(run.log?.input ?? ''), configVersion, tags: tags ?? [] })
      const source = { requestId: key.requestId, owner: key.owner, configVersion }
      const { example, media } = await withMedia(made, recorded, mediaPorts)
      return keep(caller, dataset, { ...example, ...(expected && { expected }) }, { session: run.session, source, media })
    },

    async changeExample(caller, id, exampleId, patch) {
      const { id: dataset } = await find(caller, id)
      const change = (example: StoredExample) => toChanges(example, patch)
      const changed = await store.changeExample(caller.tenant, dataset, exampleId, change, now(), caller)
      if (!changed) throw noExample(exampleId)
      return changed
    },

    async removeExample(caller, id, exampleId) {
      const { id: dataset } = await find(caller, id)
      if (!(await store.removeExample(caller.tenant, dataset, exampleId, now()))) throw noExample(exampleId)
    },
  }
}

/** A field of the content that a person changes has the form of one that is written by hand: the bytes of the run's events no longer fit. */
function toChanges({ id, content }: StoredExample, { isDetached, name, tags, ...fields }: ExamplePatch): ExampleChanges {
  const changes = {
    ...(name !== undefined && { name }),
    ...(tags && { tags }),
    ...(isDetached && { source: undefined }),
  }
  if (Object.keys(fields).length === 0) return changes
  const { expected, ...recorded } = fields
  const isRewritten = Object.keys(recorded).length > 0
  const { original, ...kept } = content as unknown as Omit<Example, 'id' | 'name' | 'tags' | 'source'>
  const draft = toExample({ name: '', ...kept, ...recorded, input: { ...kept.input, ...recorded.input } }, { id, time: kept.time })
  const { id: _id, name: _name, tags: _tags, source: _source, ...rewritten } = draft
  const next = { ...kept, ...(isRewritten ? rewritten : { original }), ...(expected && { expected }) }
  refuseLarge({ ...next, id, name: name ?? '', tags: [], source: null })
  return { ...changes, content: next as unknown as JsonObject }
}

function toListed({ content, ...example }: StoredExample): ListedExample {
  const { input, recording, reduced = false } = content as unknown as Example
  const question = (input.messages.at(-1)?.content ?? '').slice(0, maxQuestion).toWellFormed()
  const writes = recording.filter(({ effect }) => effect === 'write').length
  return { ...example, question, calls: recording.length, writes, isReduced: reduced }
}

function refuseLarge(example: Example): void {
  const bytes = bytesOf(example)
  if (bytes > maxExampleBytes) throw new ServiceError('input_too_large', `The example has ${bytes} bytes; ${maxExampleBytes} are the most.`)
}

const maxName = 100
/** Characters of the question in a list. */
const maxQuestion = 200
/** Examples of a list that are read at once: an example has up to 4 MiB. */
const readAtOnce = 8

/** The beginning of the question. */
function nameOf(input: string): string {
  const line = input.trim().split('\n', 1)[0]!
  return (line.length > maxName ? `${line.slice(0, maxName - 1).toWellFormed()}…` : line) || 'Untitled'
}

function noDataset(id: string): ServiceError {
  return new ServiceError('not_found', `There is no dataset ${id}.`)
}

function noExample(id: string): ServiceError {
  return new ServiceError('not_found', `The dataset has no example ${id}.`)
}

function nameTaken(name: string): ServiceError {
  return new ServiceError('dataset_exists', `The tenant has a dataset ${name} already.`)
}
