import { Type } from 'typebox'
import { ChatBody } from './chat.ts'
import { Scorers } from './scorers.ts'
import { closed, Id, maybe, namedObject, object, orNull, pageFields } from './shared.ts'

/** Schemas of datasets. */

const dateTime = (description: string) => Type.String({ format: 'date-time', description })

const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000]*$' })

const DatasetName = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$', description: 'Unique in the tenant.' })

const tags = Type.Array(Type.String({ minLength: 1, maxLength: 64, pattern: '^[^\\u0000]*$' }), { maxItems: 20 })

const settings = {
  description: maybe(Type.String({ maxLength: 2000, pattern: '^[^\\u0000]*$' })),
  scorers: Type.Optional(Scorers),
}

export const DatasetBody = closed({ name: DatasetName, ...settings })

export const DatasetPatch = closed({ name: Type.Optional(DatasetName), ...settings })

export const Dataset = namedObject('Dataset', 'Examples of what the agent is asked, kept by the tenant.', {
  id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  revision: Type.Integer({ description: 'Grows with each change of the examples. An experiment names the revision that was replayed.' }),
  examples: Type.Integer({ description: 'The number of examples.' }),
  scorers: Scorers,
  created_at: dateTime('When the dataset was made.'),
  updated_at: dateTime('When the dataset, or an example, was changed last.'),
})

export const DatasetPage = namedObject('DatasetPage', { datasets: Type.Array(Dataset), ...pageFields })

const { messages, data_filter_hints, response_schema } = ChatBody.properties

const input = { messages, data_filter_hints, response_schema, instructions: maybe(Type.String({ maxLength: 200_000 })) }

const Decided = closed({
  by: Type.Enum(['caller', 'role', 'client']),
  decision: Type.Enum(['approve', 'reject', 'output', 'error']),
  input: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'The arguments that a person set.' })),
  reason: Type.Optional(Type.String()),
})

const RecordedCall = closed({
  parent: Type.Optional(orNull(Type.Integer({ minimum: 1 }), 'The number of the call in which the agent runs; null for the agent itself.')),
  tool: Type.String({ minLength: 1, maxLength: 256 }),
  tool_input: Type.Unknown(),
  output: Type.Unknown(),
  status: Type.Enum(['success', 'error', 'unknown']),
  effect: Type.Enum(['read', 'write']),
  decision: Type.Optional(Decided),
})

const ModelReply = closed({
  text: Type.String(),
  calls: Type.Optional(Type.Array(closed({ name: Type.String(), arguments: Type.String({ description: 'JSON text.' }) }))),
})

/** What a person writes of an example. */
const written = {
  before: Type.Optional(
    Type.Array(closed({ kind: Type.Enum(['message']), role: Type.Enum(['human', 'ai']), content: Type.String() }), {
      maxItems: 1000,
      description: 'Earlier messages of the conversation, in order.',
    }),
  ),
  recording: Type.Optional(
    Type.Array(RecordedCall, { maxItems: 1000, description: 'The tool calls with their outputs, in order, numbered from 1.' }),
  ),
  model_replies: Type.Optional(Type.Array(ModelReply, { maxItems: 1000, description: 'The replies of the model, in order.' })),
}

const expected = Type.Optional(
  Type.Record(Type.String({ maxLength: 64 }), Type.Unknown(), { description: 'Values for scorers, such as `output`.' }),
)

/** Either `from_run`, or `input` with what follows it. */
export const ExampleBody = closed({
  from_run: Type.Optional(
    closed({
      request_id: Id,
      issuer: maybe(Type.String({ minLength: 1, maxLength: 1024 }), 'The issuer of the owner of the run, for administrators.'),
      sub: maybe(Type.String({ minLength: 1, maxLength: 1024 }), 'The sub of the owner of the run, for administrators.'),
    }),
  ),
  name: Type.Optional(Name),
  tags: Type.Optional(tags),
  input: Type.Optional(closed(input)),
  ...written,
  expected,
})

export const ExamplePatch = closed({
  name: Type.Optional(Name),
  tags: Type.Optional(tags),
  input: Type.Optional(Type.Partial(closed(input), { additionalProperties: false })),
  ...written,
  expected,
  source: Type.Optional(Type.Null({ description: 'Detaches the example: the deletion of the session leaves the example.' })),
})

const exampleFields = {
  id: Type.String(),
  name: Type.String(),
  tags: Type.Array(Type.String()),
  revision: Type.Integer({ description: 'The revision of the dataset that brought the example in this form.' }),
  source: orNull(
    object('The run that the example was made from, with its owner.', {
      request_id: Type.String(),
      issuer: Type.String(),
      sub: Type.String(),
      config_version: orNull(Type.String()),
    }),
    'Null for an example that is written by hand, and for a detached one.',
  ),
  reduced: Type.Boolean({ description: 'True where a part of what the model was shown is not known.' }),
  created_at: dateTime('When the example got this form.'),
}

export const ListedExample = namedObject('ListedExample', 'An example without its recording.', {
  ...exampleFields,
  question: Type.String({ description: 'The beginning of the question.' }),
  calls: Type.Integer({ description: 'The number of recorded tool calls.' }),
  writes: Type.Integer({ description: 'The number of recorded tool calls that write.' }),
})

export const ExamplePage = namedObject('ExamplePage', { examples: Type.Array(ListedExample), ...pageFields })

const json = (description: string) => Type.Unknown({ description })

export const Example = namedObject('Example', 'A question with everything that a replay of its answer needs.', {
  ...exampleFields,
  input: Type.Record(Type.String(), Type.Unknown(), { description: 'The messages, and what else the request had.' }),
  before: Type.Array(json('A message, the summary or the memories that the model was shown before the question.')),
  recording: Type.Array(json('A tool call with its output.')),
  model_replies: Type.Array(json('A reply of the model.')),
  expected: Type.Record(Type.String(), Type.Unknown()),
})
