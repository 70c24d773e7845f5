import { Type } from 'typebox'
import { issuerOf, subOf } from '../../access/owner.ts'
import { accessTo, requireAccess } from '../../access/permissions.ts'
import type { JsonObject } from '../../agent/messages.ts'
import type { ListedDataset, ListedExample, StoredExample } from '../../evals/dataset.ts'
import type { Datasets, ExamplePatch as Patch } from '../../evals/datasets.ts'
import type { Example as FullExample, ExampleDraft, ExampleInput } from '../../evals/example.ts'
import { invalid } from '../../errors.ts'
import { chatRoles, toFilters } from '../schemas/chat.ts'
import { Dataset, DatasetBody, DatasetPage, DatasetPatch, Example, ExampleBody, ExamplePage, ExamplePatch } from '../schemas/datasets.ts'
import { scorerKindsText } from '../schemas/scorers.ts'
import { Id, IdPageQuery, positionOf, replies, route, toIso } from '../schemas/shared.ts'
import type { App } from '../server/app.ts'
import { principalOf } from '../server/authenticate.ts'

interface DatasetServices {
  datasets: Datasets
}

/** Routes of datasets: examples that experiments replay. */
export const datasetRoutes = [listRoute, createRoute, readRoute, changeRoute, removeRoute, ...exampleRoutes()] as const

const path = '/core/v1/datasets'
const tag = 'Datasets'
const params = Type.Object({ id: Id })
const exampleParams = Type.Object({ id: Id, example_id: Id })
const whereId = 'Take an `id` from `GET /core/v1/datasets`, or the name of the dataset. A dataset of another tenant is 404.'

function listRoute(app: App, { datasets }: DatasetServices): void {
  app.get(
    path,
    route('evals.read', tag, {
      summary: 'List datasets, newest first',
      text: 'The datasets of the tenant. A dataset has examples of what the agent is asked, made from runs or written by hand.',
      querystring: IdPageQuery,
      response: replies({ 200: DatasetPage }, 422),
    }),
    async (request) => {
      const { limit, before } = request.query
      const rows = await datasets.list(principalOf(request), { limit: limit + 1, before })
      return { datasets: rows.slice(0, limit).map(toView), ...positionOf(rows, limit) }
    },
  )
}

function createRoute(app: App, { datasets }: DatasetServices): void {
  app.post(
    path,
    route('evals.write', tag, {
      summary: 'Create a dataset',
      text: `\`scorers\` are what experiments on the dataset measure, unless an experiment has its own. Kinds:

${scorerKindsText}

- 409 \`DatasetExists\`: the tenant has a dataset of this name. \`DatasetLimit\`: the tenant has \`evals.max_datasets\` (100) of them.`,
      examples: {
        core: {
          summary: 'A dataset for what must not break',
          value: {
            name: 'core',
            description: 'What must not break',
            scorers: [
              { name: 'writes', kind: 'effects' },
              { name: 'currency', kind: 'regex', pattern: 'EUR|USD', required: false },
            ],
          },
        },
      },
      body: DatasetBody,
      response: replies({ 201: Dataset }, 409, 422),
    }),
    async (request, reply) => {
      const { name, description, scorers = [] } = request.body
      void reply.code(201)
      return toView(await datasets.create(principalOf(request), { name, description: description ?? '', scorers, share: 'none' }))
    },
  )
}

function readRoute(app: App, { datasets }: DatasetServices): void {
  app.get(
    `${path}/:id`,
    route('evals.read', tag, { summary: 'Get a dataset', text: whereId, params, response: replies({ 200: Dataset }, 404, 422) }),
    async (request) => toView(await datasets.find(principalOf(request), request.params.id)),
  )
}

function changeRoute(app: App, { datasets }: DatasetServices): void {
  app.patch(
    `${path}/:id`,
    route('evals.write', tag, {
      summary: 'Change a dataset',
      text: `Absent fields stay. Changed \`scorers\` make a new revision. ${whereId}`,
      examples: { name: { summary: 'Another description', value: { description: 'Refunds, from real runs' } } },
      params,
      body: DatasetPatch,
      response: replies({ 200: Dataset }, 404, 409, 422),
    }),
    async (request) => {
      const { description, ...fields } = request.body
      const changes = { ...fields, ...(description != null && { description }) }
      return toView(await datasets.change(principalOf(request), request.params.id, changes))
    },
  )
}

function removeRoute(app: App, { datasets }: DatasetServices): void {
  app.delete(
    `${path}/:id`,
    route('evals.write', tag, {
      summary: 'Delete a dataset, with its examples and experiments',
      text: whereId,
      params,
      response: replies({ 204: Type.Null() }, 404, 422),
    }),
    async (request, reply) => {
      await datasets.remove(principalOf(request), request.params.id)
      return reply.code(204).send(null)
    },
  )
}

function exampleRoutes() {
  return [listExamples, addExample, readExample, changeExample, removeExample] as const
}

function listExamples(app: App, { datasets }: DatasetServices): void {
  app.get(
    `${path}/:id/examples`,
    route('evals.read', tag, {
      summary: 'List the examples of a dataset, newest first',
      text: `Without their recordings. \`revision\` shows the dataset as it was then. ${whereId}`,
      params,
      querystring: Type.Object({ ...IdPageQuery.properties, revision: Type.Optional(Type.Integer({ minimum: 0 })) }),
      response: replies({ 200: ExamplePage }, 404, 422),
    }),
    async (request) => {
      const { limit, before, revision } = request.query
      const page = { limit: limit + 1, before, ...(revision !== undefined && { revision }) }
      const rows = await datasets.examples(principalOf(request), request.params.id, page)
      return { examples: rows.slice(0, limit).map(toListed), ...positionOf(rows, limit) }
    },
  )
}

function addExample(app: App, { datasets }: DatasetServices): void {
  app.post(
    `${path}/:id/examples`,
    route('evals.write', tag, {
      summary: 'Add an example, from a run or by hand',
      text: `\`from_run\` copies an ended run whole: the question, what the model was shown, its replies, and the calls with their outputs. The example stays when the run is removed by age, and goes with its session when that is deleted. Otherwise send \`input\`, with \`recording\` for the calls that a replay may answer. ${whereId}

- 409 \`RunNotEnded\`: the run goes on. \`DatasetLimit\`: the dataset has \`evals.max_examples\` (1000) examples.
- 410: the run was removed. 413: the example has more than 4 MiB without images and files.`,
      examples: {
        hand: {
          summary: 'By hand',
          value: { name: 'Sales', input: { messages: [{ role: 'user', content: 'What were the total sales by region?' }] } },
        },
      },
      params,
      body: ExampleBody,
      response: replies({ 201: Example }, 404, 409, 410, 413, 422),
    }),
    async (request, reply) => {
      const { from_run: run, name, tags, expected, ...draft } = request.body
      const caller = principalOf(request)
      void reply.code(201)
      const { id } = request.params
      if (!run) return toFull(await datasets.add(caller, id, toDraft(request.body)))
      const [written] = Object.keys(draft)
      if (written !== undefined) throw invalid(['body', written], 'belongs to an example without `from_run`')
      requireAccess(caller, accessTo.readRun)
      const { request_id: requestId, issuer, sub } = run
      const named = { requestId, issuer: issuer ?? undefined, sub: sub ?? undefined }
      return toFull(await datasets.addRun(caller, id, { ...named, name, tags, expected: expected as JsonObject | undefined }))
    },
  )
}

function readExample(app: App, { datasets }: DatasetServices): void {
  app.get(
    `${path}/:id/examples/:example_id`,
    route('evals.read', tag, {
      summary: 'Get an example with its recording',
      text: whereId,
      params: exampleParams,
      response: replies({ 200: Example }, 404, 422),
    }),
    async (request) => toFull(await datasets.example(principalOf(request), request.params.id, request.params.example_id)),
  )
}

function changeExample(app: App, { datasets }: DatasetServices): void {
  app.patch(
    `${path}/:id/examples/:example_id`,
    route('evals.write', tag, {
      summary: 'Change an example',
      description: 'Makes a new revision of the dataset; earlier revisions keep the example as it was.',
      text: `Absent fields stay. \`source: null\` detaches the example from its run. ${whereId}`,
      examples: { tags: { summary: 'Tags', value: { tags: ['refunds'] } } },
      params: exampleParams,
      body: ExamplePatch,
      response: replies({ 200: Example }, 404, 413, 422),
    }),
    async (request) => {
      const { source, input, ...fields } = request.body
      const patch = { ...fields, ...(input && { input: toInput(input) }), ...(source === null && { isDetached: true }) } as Patch
      return toFull(await datasets.changeExample(principalOf(request), request.params.id, request.params.example_id, patch))
    },
  )
}

function removeExample(app: App, { datasets }: DatasetServices): void {
  app.delete(
    `${path}/:id/examples/:example_id`,
    route('evals.write', tag, {
      summary: 'Remove an example from a dataset',
      text: `Makes a new revision of the dataset; earlier revisions keep the example. ${whereId}`,
      params: exampleParams,
      response: replies({ 204: Type.Null() }, 404, 422),
    }),
    async (request, reply) => {
      await datasets.removeExample(principalOf(request), request.params.id, request.params.example_id)
      return reply.code(204).send(null)
    },
  )
}

function toDraft({ name, input, tags, ...rest }: Type.Static<typeof ExampleBody>): ExampleDraft {
  if (!input) throw invalid(['body', 'input'], 'is required without `from_run`', 'required')
  const { messages = [] } = toInput(input)
  const named = name ?? (messages.at(-1)?.content.slice(0, 100).toWellFormed() || 'Untitled')
  const { from_run: _run, ...written } = rest
  return { ...written, name: named, input: toInput(input), tags: tags ?? [] } as unknown as ExampleDraft
}

type InputBody = NonNullable<Type.Static<typeof ExamplePatch>['input']>

/** The fields of a chat as a run keeps them. `null` counts as absent. */
function toInput({ messages, data_filter_hints: hints, response_schema: schema, instructions }: InputBody): Partial<ExampleInput> {
  const last = (messages?.length ?? 0) - 1
  if (messages && chatRoles[messages[last]!.role] !== 'user')
    throw invalid(['body', 'input', 'messages', last, 'role'], 'the last message must be of role user')
  return {
    ...(messages && { messages: messages.map(({ role, content }) => ({ role: chatRoles[role], content })) }),
    ...(hints && { data_filter_hints: toFilters(hints) }),
    ...(schema && { response_schema: schema }),
    ...(instructions != null && { instructions }),
  }
}

function toView({ id, name, description, revision, examples, scorers, createdAt, updatedAt }: ListedDataset): Type.Static<typeof Dataset> {
  return { id, name, description, revision, examples, scorers: [...scorers], created_at: toIso(createdAt), updated_at: toIso(updatedAt) }
}

type Content = Omit<FullExample, 'id' | 'name' | 'tags' | 'source'>

function toFields({ id, name, tags, revision, source, createdAt }: Omit<StoredExample, 'content'>, reduced: boolean) {
  const run = source && {
    request_id: source.requestId,
    issuer: issuerOf(source),
    sub: subOf(source),
    config_version: source.configVersion ?? null,
  }
  return { id, name, tags: [...tags], revision, source: run ?? null, reduced, created_at: toIso(createdAt) }
}

function toListed({ question, calls, writes, isReduced, ...example }: ListedExample) {
  return { ...toFields(example, isReduced), question, calls, writes }
}

function toFull(example: StoredExample): Type.Static<typeof Example> {
  const { input, before, recording, model_replies, expected = {}, reduced = false } = example.content as unknown as Content
  return { ...toFields(example, reduced), input: { ...input }, before, recording, model_replies, expected }
}
