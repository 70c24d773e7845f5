import { amounts, budgetDetails, replies, route, orNull, optionalText, maybe, namedObject, object } from '../../schemas/shared.ts'
import { Type, type TSchema } from 'typebox'
import type { App } from '../../server/app.ts'
import { accessTo } from '../../../access/permissions.ts'
import type { RunTraces } from '../../../runs/trace/run-traces.ts'
import { keyOfShownRun, type NamedRunServices, OwnerQuery, runParams, whereId, whose } from '../../named-runs.ts'

const Query = Type.Object({
  ...OwnerQuery.properties,
  span: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 512,
      description: 'The id of a span: the answer has this span alone, uncut. A model call also has `messages`.',
    }),
  ),
})

const nullable = <T extends TSchema>(schema: T, description: string) => Type.Optional(Type.Union([schema, Type.Null()], { description }))

const Attempt = object('An attempt at a model. A failed attempt is followed by another one, at the same model or at a fallback.', {
  model: Type.String(),
  status: Type.Enum(['running', 'success', 'error', 'cancelled']),
  started_at: Type.String({ format: 'date-time' }),
  ended_at: orNull(Type.String({ format: 'date-time' })),
  error_type: Type.Optional(Type.Enum(['rate_limited', 'unavailable', 'refused', 'unauthorized'])),
  error: Type.Optional(Type.String()),
  held: Type.Optional(
    object('Of an agent with budgets: the most that the attempt could cost, which the budgets that count it have held.', amounts),
  ),
  settled: Type.Optional(orNull(Type.Object(amounts), 'What the attempt did cost; null while it runs, and where its process died.')),
})

const SpanMessage = Type.Object({
  role: Type.Enum(['user', 'assistant', 'tool']),
  content: Type.String(),
  tool_calls: Type.Optional(
    Type.Array(Type.Object({ tool_call_id: Type.String(), tool: Type.String(), arguments: Type.String({ description: 'JSON text.' }) })),
  ),
  tool_call_id: optionalText('The call that a message with role `tool` answers.'),
})

const Timing = object(
  'Of a run that has ended or is interrupted: the seconds that it has spent in each phase. Waits for approvals, client tools and readers are in none.',
  {
    queue: Type.Number({ description: 'Waiting for the turn in the session, for admission or for a worker.' }),
    store: Type.Number({ description: 'Waiting for the database, without the commit of the end.' }),
    model: Type.Number({ description: "Model calls of the run's own agent." }),
    tools: Type.Number({ description: 'Tool calls, with everything inside of them; overlapping calls count once.' }),
    own: Type.Number({ description: 'The rest of the processing.' }),
  },
)

const Attributes = object('Attributes by the kind of the span. Further attributes may be added.', {
  truncated: Type.Optional(Type.Boolean({ description: 'Present if a value was cut; `?span=<id>` returns it whole.' })),
  error: Type.Optional(Type.String()),
  message: optionalText('The text of a person, of a message to the run.'),
  error_type: optionalText('Of a run: as in `details.error_type` of an error.'),
  session_id: Type.Optional(Type.String()),
  finish_reason: optionalText('Of a run or a model call.'),
  model_calls: Type.Optional(Type.Integer({ description: 'Of a run: the number of its model calls so far.' })),
  timing: Type.Optional(Timing),
  model: optionalText('The model that answered, or was asked last.'),
  fallback: Type.Optional(Type.Boolean({ description: 'Whether that model stood in for the first one.' })),
  attempts: Type.Optional(Type.Array(Attempt)),
  input_tokens: nullable(Type.Integer(), 'Of a model call, or summed over a run.'),
  output_tokens: nullable(Type.Integer(), 'Of a model call, or summed over a run.'),
  cached_input_tokens: nullable(Type.Integer(), 'Part of `input_tokens`: read from the prompt cache of the provider.'),
  cache_write_tokens: Type.Optional(
    Type.Integer({ description: 'Part of `input_tokens`: written to the prompt cache, where the provider has a price for it.' }),
  ),
  reasoning_tokens: nullable(Type.Integer(), 'Part of `output_tokens`.'),
  cost: nullable(Type.Number(), 'USD; null without configured prices.'),
  time_to_first_token: nullable(
    Type.Number(),
    'Seconds from the start of the model call to the first text of its successful attempt; null without text.',
  ),
  reasoning: optionalText('The thoughts of the model.'),
  tool: Type.Optional(Type.String()),
  tool_input: Type.Optional(Type.Unknown()),
  output: Type.Optional(Type.Unknown({ description: 'The output of a tool, or the text of a model. Texts of sub-agents are not kept.' })),
  effect: maybe(Type.Enum(['read', 'write'])),
  trust: Type.Optional(Type.Enum(['trusted', 'untrusted'], { description: 'Of a tool call, where `containment` is configured.' })),
  private: Type.Optional(Type.Boolean({ description: "Whether the output is the tenant's data." })),
  outbound: Type.Optional(Type.Boolean({ description: 'Whether the call carries text of the model outside.' })),
  tainted_by: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'On a call that changes something or carries text outside: the ids of the calls whose text of strangers the model was shown before.',
    }),
  ),
  containment: Type.Optional(Type.Enum(['approve', 'refuse'], { description: 'What `containment` did with the call.' })),
  log: Type.Optional(Type.String()),
  sub_agent: optionalText('The sub-agent that took the step.'),
  artifacts: Type.Optional(Type.Array(Type.Object({ artifact_id: Type.String(), file_name: Type.String() }))),
  tool_call_id: optionalText('Of an approval: the call, which is a span of its own once it has started.'),
  by: Type.Optional(Type.Enum(['caller', 'role', 'budget'])),
  decision: maybe(Type.Enum(['approve', 'reject', 'extend', 'lapsed']), 'Null while the call waits.'),
  decided_by: maybe(Type.Object({ issuer: Type.String(), sub: Type.String() })),
  reason: Type.Optional(Type.String()),
  new_input: Type.Optional(
    Type.Unknown({
      description: 'The input that the approver set in place of `tool_input`; of a budget, by how much its limit was raised.',
    }),
  ),
  expires_at: Type.Optional(Type.String({ format: 'date-time' })),
  for: Type.Optional(Type.Enum(['queue', 'approval', 'budget', 'client_tool', 'reader'], { description: 'What a run waited for.' })),
  from: maybe(Type.String(), 'The process before; null if it is not known.'),
  to: optionalText('The process that went on with the run.'),
  needed: Type.Optional(object('Of a budget: the least that the model call would have cost.', amounts)),
  ...budgetDetails,
  cause: Type.Optional(Type.Enum(['lost', 'handed_over', 'approval', 'repeat'])),
})

export const Span = namedObject('Span', 'A part of a run.', {
  id: Type.String({ description: 'Unique within the run. The id of a tool call is the id of its span.' }),
  parent_id: orNull(Type.String(), 'Null for the run itself.'),
  kind: Type.Enum(['run', 'plan', 'turn', 'model', 'tool', 'sub_agent', 'approval', 'budget', 'wait', 'move', 'message'], {
    description:
      'plan: the making of a plan, or one of its steps. turn: a model call and the tool calls that it requested. sub_agent: a call of a sub-agent, which has turns of its own. budget: a model call that a budget could not pay for; it was not made, or waits for a higher limit. wait: time in the session queue, for an approval or a reader. move: another process goes on with the run. message: a message of a person has reached the run.',
  }),
  name: Type.String(),
  status: Type.Enum(['waiting', 'running', 'success', 'error', 'timeout', 'cancelled']),
  started_at: Type.String({ format: 'date-time' }),
  ended_at: orNull(Type.String({ format: 'date-time' }), 'Null while the part lasts.'),
  attributes: Attributes,
  messages: Type.Optional(
    Type.Array(SpanMessage, {
      description: 'What the model was sent, without the system prompt. Only on a model call that `span` names.',
    }),
  ),
})

const RunTrace = namedObject('RunTrace', 'The parts of a run as spans.', {
  request_id: Type.String(),
  status: Type.Enum(['pending', 'running', 'interrupted', 'success', 'error', 'timeout', 'cancelled']),
  spans: Type.Array(Span, { description: 'Ordered by start; the run itself is the first.' }),
})

interface RunTraceServices extends NamedRunServices {
  traces: RunTraces
}

/** The trace of a run: what the run did, when, and why. */
export function runTraceRoutes(app: App, { traces, ...services }: RunTraceServices): void {
  app.get(
    '/core/v1/runs/:request_id/trace',
    route(accessTo.readRun, 'Runs', {
      summary: 'Get the trace of a run',
      description:
        'The parts of a run as spans: turns, model calls with their attempts, tool calls, sub-agents, approvals, waits, and changes of the process. ' +
        'The trace grows while the run lasts, and is kept as long as the run. Long values are cut, and their span has `truncated`; `span` gets a span with whole values.',
      text: `Use it to see why a run took its time, or what a model was asked. ${whereId} ${whose} A span that is not there is 404.`,
      parameters: { span: 'model:1' },
      params: runParams,
      querystring: Query,
      response: replies({ 200: RunTrace }, 404, 409, 410, 422),
    }),
    async (request) => {
      const { span } = request.query
      const key = await keyOfShownRun(services, request)
      return span === undefined ? traces.find(key) : traces.findSpan(key, span)
    },
  )
}
