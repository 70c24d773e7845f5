import { Type } from 'typebox'
import { Scorers, scorerKinds } from './scorers.ts'
import { closed, Id, maybe, namedObject, orNull, pageFields } from './shared.ts'

/** Schemas of experiments. */

const statuses = ['pending', 'running', 'completed', 'cancelled', 'failed'] as const
export const outcomes = ['passed', 'failed', 'diverged', 'error'] as const

const dateTime = (description: string) => Type.String({ format: 'date-time', description })
const count = (description?: string) => Type.Integer(description === undefined ? {} : { description })
const Version = Type.String({ minLength: 1, maxLength: 128 })

/** A variant has exactly one of `version`, `patch`, `text` and `recorded`. */
const VariantBody = closed({
  version: maybe(Version, 'A version of the history of the configuration.'),
  patch: maybe(
    Type.Record(Type.String(), Type.Unknown()),
    'A change as in `PUT /core/v1/agent/config`: objects merge, null removes, lists replace. The key needs `config.write` too.',
  ),
  base: maybe(Version, 'The version that `patch` changes. Default: the one in use.'),
  text: maybe(Type.String({ minLength: 1 }), 'A whole agent.yaml. The key needs `config.write` too.'),
  recorded: maybe(Type.Literal(true), 'The answers of the model come from the recording too: proves that the replay is exact.'),
})

export type VariantBody = Type.Static<typeof VariantBody>

const ToolName = Type.String({ minLength: 1, maxLength: 256 })

const OnMiss = Type.Enum(['fail', 'error', 'live'], {
  description:
    'What happens at a call of a tool that reads, where the recording has no answer: the example ends as `diverged` (`fail`), the model is told (`error`), or the tools in `live` are called. Default: `fail`. A call that writes is never executed.',
})

export const ExperimentBody = closed({
  dataset_id: maybe(Id, 'The id or the name of a dataset.'),
  dataset_ids: maybe(
    Type.Array(Id, { minItems: 1, maxItems: 20 }),
    'Instead of `dataset_id`: several datasets. A gate looks at the first.',
  ),
  baseline: maybe(VariantBody, 'What the candidate is compared with. Default: the version in use.'),
  candidate: maybe(VariantBody, 'The agent to try. Default: none, the baseline alone is replayed.'),
  scorers: maybe(Scorers, 'Default: those of the first dataset. Without any, the writes must be those of the recording.'),
  repetitions: maybe(Type.Integer({ minimum: 1, maximum: 10 }), 'Replays of each example. Default: 1.'),
  tools: maybe(
    closed({
      on_miss: maybe(OnMiss),
      live: maybe(Type.Array(ToolName, { maxItems: 100 }), 'Tools that read and may be called, with `on_miss: live`.'),
    }),
  ),
})

export type ExperimentBody = Type.Static<typeof ExperimentBody>

const EffectCounts = Type.Object({
  same: count('Writes as in the recording.'),
  added: count('Writes that the recording does not have.'),
  removed: count('Writes of the recording that were not made.'),
  changed: count('Writes of the same tool with other arguments.'),
})

const Usd = (description: string) => orNull(Type.Number(), description)

const ExperimentVariant = namedObject(
  'ExperimentVariant',
  'Figures of the results so far. Cost, tokens, times and means leave out diverged examples.',
  {
    name: Type.Enum(['baseline', 'candidate']),
    kind: Type.Enum(['version', 'patch', 'text', 'recorded']),
    version: orNull(Type.String(), 'The recorded version of the configuration; null for other kinds.'),
    config_hash: orNull(Type.String(), 'The hash of the configuration, as gates ask for it; null for `recorded`.'),
    done: count('Results so far.'),
    passed: count(),
    failed: count('A required score is below its threshold.'),
    diverged: count('The recording could not answer a call.'),
    errors: count('The replay could not run, or ended with an error.'),
    flaky: count('Examples whose repetitions have other outcomes.'),
    pass_rate: orNull(Type.Number(), 'From 0 to 1; null before the first result.'),
    cost: Usd('USD; null where a model has no price.'),
    judge_cost: Usd('USD of the scorers of kind `judge`.'),
    tokens: count(),
    p50: orNull(Type.Number(), 'The median of the durations, in milliseconds.'),
    scores: Type.Array(
      Type.Object({ name: Type.String(), kind: Type.Enum([...scorerKinds]), mean: Type.Number(), passed: count(), failed: count() }),
    ),
    effects: EffectCounts,
  },
)

export const Experiment = namedObject('Experiment', 'Datasets, replayed with one or two variants of the agent.', {
  id: Type.String(),
  status: Type.Enum([...statuses]),
  verdict: Type.Enum(['passed', 'failed', 'none'], {
    description: '`passed`: every result of the last variant has passed. `none`: the experiment has not completed.',
  }),
  error: orNull(Type.String(), 'Why the experiment has failed.'),
  created_at: dateTime('When the experiment was made.'),
  started_at: orNull(dateTime('When the first replay began.')),
  ended_at: orNull(dateTime('When the experiment has ended.')),
  created_by: Type.Object({ issuer: Type.String(), sub: Type.String() }),
  datasets: Type.Array(
    Type.Object({ id: Type.String(), name: Type.String(), revision: count('The revision that is replayed.'), examples: count() }),
  ),
  revision: count('The revision of the first dataset.'),
  repetitions: count(),
  scorers: Scorers,
  tools: Type.Object({ on_miss: OnMiss, live: Type.Array(Type.String()) }),
  total: count('The number of results that are due.'),
  done: count('The number of results so far.'),
  variants: Type.Array(ExperimentVariant, { description: 'The baseline first.' }),
  effects: { ...EffectCounts, description: 'The writes of the last variant.' },
})

export const ExperimentPage = namedObject('ExperimentPage', { experiments: Type.Array(Experiment), ...pageFields })

const json = (description: string) => Type.Unknown({ description })

const ProposedWrite = Type.Object({
  tool: Type.String(),
  tool_input: json('The arguments.'),
  recorded: Type.Literal(false),
})

const WrittenCall = Type.Object({ tool: Type.String(), tool_input: json('The arguments.') })

const TraceEntry = Type.Object(
  {
    n: count('From 1.'),
    kind: Type.Enum(['reply', 'call']),
    parent: orNull(Type.Integer(), 'The number of the call in which the agent runs; null for the agent itself.'),
    text: Type.Optional(Type.String()),
    tool: Type.Optional(Type.String()),
    tool_input: Type.Optional(json('The arguments.')),
    output: Type.Optional(json('The result.')),
    status: Type.Optional(Type.Enum(['success', 'error', 'unknown'])),
    effect: Type.Optional(Type.Enum(['read', 'write'])),
    recorded: Type.Optional(Type.Boolean({ description: 'True: the recording has answered the call.' })),
  },
  { description: 'A reply of the model, or a call. Values are cut at 4,000 characters.' },
)

const trace = Type.Optional(Type.Array(TraceEntry, { description: 'At most 500 entries. Present where a single result is read.' }))

const ExperimentVariantResult = namedObject('ExperimentVariantResult', 'What a variant of the agent has done with an example.', {
  outcome: Type.Enum([...outcomes]),
  output: Type.String(),
  divergence: orNull(
    Type.Object({
      reason: Type.Enum(['no_recording', 'used_up', 'tool_missing', 'refused', 'reply_missing', 'events_differ']),
      call: Type.Optional(Type.Object({ tool: Type.String(), tool_input: json('The arguments.'), parent: orNull(Type.Integer()) })),
      event: Type.Optional(count('The number of the event that differs, from 1.')),
    }),
    'The first call, reply or event that the recording does not have.',
  ),
  proposed_writes: Type.Array(ProposedWrite, { description: 'Writes that the recording does not have. None was executed.' }),
  effects: Type.Object({
    same: count('Writes as in the recording.'),
    added: Type.Array(WrittenCall),
    removed: Type.Array(WrittenCall),
    changed: Type.Array(Type.Object({ tool: Type.String(), before: json('The recorded arguments.'), after: json('The new ones.') })),
  }),
  scores: Type.Array(
    Type.Object({
      name: Type.String(),
      kind: Type.Enum([...scorerKinds]),
      score: Type.Number({ description: 'From 0 to 1.' }),
      passed: Type.Boolean(),
      required: Type.Boolean(),
      reason: Type.Optional(Type.String({ description: 'Why the score is not 1.' })),
      cost: Type.Optional(Type.Number({ description: 'USD of a judge.' })),
    }),
  ),
  cost: Usd('USD; null where a model has no price.'),
  tokens: count(),
  duration_ms: Type.Number(),
  request_id: Type.String({ description: 'The id of the replay in traces and logs.' }),
  error: orNull(Type.String(), 'Why the replay has ended with an error.'),
  is_equal: Type.Optional(Type.Boolean({ description: 'Of `recorded`: the events are those of the run, byte by byte.' })),
  trace,
})

const variantText = 'Null where there is no such variant, or no result yet.'

export const ExperimentResult = namedObject('ExperimentResult', 'An example with the results of both variants.', {
  example_id: Type.String(),
  example_name: Type.String(),
  dataset_id: Type.String(),
  repetition: count('From 1.'),
  question: Type.String(),
  recorded: Type.Object({
    output: Type.String(),
    request_id: orNull(Type.String(), 'The recorded run; null for an example that is written by hand.'),
    trace,
  }),
  baseline: orNull(ExperimentVariantResult, variantText),
  candidate: orNull(ExperimentVariantResult, variantText),
  proposed_writes: Type.Array(ProposedWrite, { description: 'Those of the last variant.' }),
})

export const ExperimentResultPage = namedObject('ExperimentResultPage', {
  results: Type.Array(ExperimentResult),
  offset: Type.Integer({ description: '`offset` of the next page.' }),
  has_more: Type.Boolean(),
})
