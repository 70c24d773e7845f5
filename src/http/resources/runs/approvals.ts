import { replies, route, Id, pageLimit, maybe, optionalText, named, namedObject, object, pageFields } from '../../schemas/shared.ts'
import { Type } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import type { JsonObject, JsonValue } from '../../../agent/messages.ts'
import { invalid } from '../../../errors.ts'
import type { Approvals } from '../../../runs/approvals/approvals.ts'
import { maxReasonCharacters, type RequestedDecision } from '../../../runs/approvals/decisions.ts'
import { toSharedView } from '../../../runs/run-view.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'
import { contentBytes } from '../../server/read-bodies.ts'
import { runParams } from '../../named-runs.ts'
import { Run, readRunView, type ViewServices } from './runs.ts'

interface ApprovalServices extends ViewServices {
  approvals: Approvals
}

export const Decision = named(
  'ApprovalDecision',
  Type.Object(
    {
      tool_call_id: Id,
      decision: Type.Enum(['approve', 'reject', 'output', 'error'], {
        description: '`approve` or `reject` a call that waits for approval; send the `output` or the `error` of a call of a client tool.',
      }),
      tool_input: maybe(
        object(
          'Input to approve instead of the input of the model, by the schema of the tool; the answer to a question, by its `answer_schema`.',
          {},
        ),
      ),
      reason: maybe(Type.String({ maxLength: maxReasonCharacters, description: 'The reason of a rejection, which the model receives.' })),
      output: Type.Optional(Type.Unknown({ description: 'The output of the client tool, any JSON; long output is cut for the model.' })),
      error: maybe(Type.String({ minLength: 1, maxLength: 20_000, description: 'Why the client tool failed, for the model.' })),
    },
    { additionalProperties: false },
  ),
)

const Query = Type.Object({
  limit: pageLimit,
  before: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 8192,
      pattern: '^[\\x21-\\x7e]+$',
      description: 'The `offset` of the page before, or the `tool_call_id` of its last call: this page begins after that call.',
    }),
  ),
})

export const WaitingCall = namedObject('WaitingCall', {
  request_id: Type.String(),
  session_id: Type.String(),
  tool_call_id: Type.String(),
  tool: Type.String(),
  tool_input: Type.Unknown({ description: 'The input that the model has chosen.' }),
  by: Type.Enum(['caller', 'role'], {
    description: 'Who may decide: the caller of the run, or another caller with the permission runs.approve.',
  }),
  requested_by: Type.String({ description: 'The `sub` of the caller of the run.' }),
  issuer: Type.String({ description: 'The issuer of the caller of the run.' }),
  sub: Type.String({ description: 'The caller of the run, as `requested_by`.' }),
  requested_at: Type.String({ format: 'date-time' }),
  expires_at: Type.String({ format: 'date-time', description: 'An undecided run is cancelled at this time.' }),
  may_decide: Type.Boolean({
    description: 'Whether this key may decide the call. `question` and `messages` are present only if true.',
  }),
  question: optionalText('The question of the run, at most 2,000 characters.'),
  messages: Type.Optional(
    Type.Array(Type.Object({ role: Type.Enum(['human', 'ai']), content: Type.String() }), {
      description: 'The last 6 messages of the session, oldest first, each at most 2,000 characters.',
    }),
  ),
})

export const List = namedObject('ApprovalList', {
  approvals: Type.Array(WaitingCall),
  count: Type.Integer({ description: 'Number of calls in the list.' }),
  ...pageFields,
})

/** Routes of tool calls that wait for approval. */
export function approvalRoutes(app: App, services: ApprovalServices): void {
  const { approvals, openCalls, runStore } = services
  app.get(
    '/core/v1/approvals',
    route(accessTo.listCalls, 'Runs', {
      summary: 'List tool calls that wait for approval, newest first',
      description:
        'Calls of own runs; with the permission `runs.approve`, also the calls of other runs that such a key decides. `may_decide` says whether this key may.',
      text: 'Use it for an inbox of decisions, then decide with `POST /core/v1/runs/{request_id}/approvals`. Calls wait when their tool has `approval: required`, or when `approvals.effects` names their effect. The list of the sample agent is empty, since its tools ask for no approval.',
      querystring: Query,
      response: replies({ 200: List }, 422),
    }),
    async (request) => {
      const { limit, before } = request.query
      return approvals.list(principalOf(request), { limit, before })
    },
  )

  app.post(
    '/core/v1/runs/:request_id/approvals',
    route({ access: accessTo.decideOrAnswer, maxBodyBytes: contentBytes }, 'Runs', {
      summary: 'Approve or reject a tool call, or send the output of a client tool; the run resumes after the last decision',
      text: `Decides one waiting call, or gives the output of a client tool. After the last decision the run goes on, and its answer arrives where it was asked for: send the chat again with the same \`request-id\`, follow \`GET /core/v1/runs/{request_id}/stream\`, or wait for the callback.

Take \`request_id\` and \`tool_call_id\` from \`GET /core/v1/approvals\`. \`tool_input\` approves with another input; \`reason\` explains a rejection to the model.

A question of an MCP server waits as a call does. Its \`tool_input\` has \`server\`, \`question\`, and \`answer_schema\` or \`url\`. \`approve\` answers it, with the answer as \`tool_input\`, and \`reject\` declines.

A call of a client tool, listed in \`client_tool_calls\` of the answer, takes \`output\` (any JSON) or \`error\` (a text for the model), from the owner of the run alone, with the permission \`chat\`. Output over 20,000 characters is cut for the model.

- 404: there is no such call, or this key may not decide it.
- 409 \`NotInterrupted\`: the run does not wait. \`AlreadyDecided\`: another decision was made before; the same decision again is 200.
- 422: \`tool_input\` does not fit the tool, or the \`answer_schema\` of the question; or the decision is of the other kind.`,
      examples: {
        approve: {
          summary: 'Approve a call',
          value: { tool_call_id: '01a20017-987c-796c-bd1d-309ce67be88f', decision: 'approve' },
        },
        reject: {
          summary: 'Reject a call with a reason',
          value: {
            tool_call_id: '01a20017-987c-796c-bd1d-309ce67be88f',
            decision: 'reject',
            reason: 'Use the shared folder instead.',
          },
        },
        output: {
          summary: 'The output of a client tool',
          value: { tool_call_id: '01a20017-987c-796c-bd1d-309ce67be88f', decision: 'output', output: { city: 'Basel' } },
        },
      },
      params: runParams,
      body: Decision,
      response: replies({ 200: Run }, 404, 409, 410, 422),
    }),
    async (request) => {
      const principal = principalOf(request)
      const { request_id: requestId } = request.params
      const key = await approvals.decide(principal, requestId, toDecision(request.body))
      if (key.owner === principal.owner) return readRunView(services, principal, key)
      const [run, openOfRun] = await Promise.all([runStore.find(key), openCalls.openOf(key)])
      const decidedByRole = openOfRun.filter((call) => call.by === 'role')
      return run && toSharedView(run, decidedByRole)
    },
  )
}

function toDecision({ tool_call_id: callId, decision, ...fields }: Type.Static<typeof Decision>): RequestedDecision {
  const { tool_input: input, reason, output, error } = fields
  refuseUnless(decision === 'approve', 'tool_input', input)
  refuseUnless(decision === 'output', 'output', output)
  refuseUnless(decision === 'error', 'error', error)
  if (decision === 'output') {
    if (output === undefined) throw invalid(['body', 'output'], 'is required', 'missing')
    return { callId, decision, output: output as JsonValue }
  }
  if (decision === 'error') {
    if (!error) throw invalid(['body', 'error'], 'is required', 'missing')
    return { callId, decision, error }
  }
  return { callId, decision, input: input ? (input as JsonObject) : undefined, reason: reason?.trim() || undefined }
}

/** A field belongs to one decision. */
function refuseUnless(isAllowed: boolean, field: 'tool_input' | 'output' | 'error', value: unknown): void {
  if (isAllowed || value === undefined || value === null) return
  const decision = field === 'tool_input' ? 'approve' : field
  throw invalid(['body', field], `is allowed only with the decision ${decision}`)
}
