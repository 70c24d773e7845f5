import { replies, route, Id, pageLimit, maybe, optionalText, named, namedObject, object, pageFields } from '../../schemas/shared.ts'
import { holdFields } from '../../schemas/chat.ts'
import { Type } from 'typebox'
import { accessTo, permits } from '../../../access/permissions.ts'
import type { PendingCall } from '../../../agent/approval.ts'
import type { JsonObject, JsonValue } from '../../../agent/messages.ts'
import { BudgetLimit } from '../../../configuration/budget-schema.ts'
import { invalid } from '../../../errors.ts'
import type { Approvals } from '../../../runs/approvals/approvals.ts'
import { type AnyDecision, maxReasonCharacters } from '../../../runs/approvals/decisions.ts'
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
      tool_call_id: Type.Optional({
        ...Id,
        description: 'The call. Not required for a budget: then the decision is on the budget that the run waits for.',
      }),
      decision: Type.Enum(['approve', 'reject', 'extend', 'output', 'error'], {
        description:
          '`approve` or `reject` a call that waits for approval; `extend` or `reject` a budget that is used up; send the `output` or the `error` of a call of a client tool.',
      }),
      tool_input: maybe(
        object(
          'Input to approve instead of the input of the model, by the schema of the tool; the answer to a question, by its `answer_schema`.',
          {},
        ),
      ),
      reason: maybe(Type.String({ maxLength: maxReasonCharacters, description: 'The reason of a rejection, which the model receives.' })),
      limit: Type.Optional({
        ...BudgetLimit,
        description: 'By how much the limit of the budget is raised. Without it, the run goes on if the budget can pay by now.',
      }),
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
  tool: Type.String({ description: 'The tool, or the budget.' }),
  tool_input: Type.Unknown({ description: 'The input that the model has chosen. Of a budget: `budget`, `needed` and `resets_at`.' }),
  by: Type.Enum(['caller', 'role', 'budget'], {
    description:
      'Who may decide: the caller of the run, or another caller with the permission runs.approve. `budget`: no call, but a budget that is used up, whose limit a caller with the permission budgets.write raises.',
  }),
  ...holdFields,
  requested_by: Type.String({ description: 'The `sub` of the caller of the run.' }),
  issuer: Type.String({ description: 'The issuer of the caller of the run.' }),
  sub: Type.String({ description: 'The caller of the run, as `requested_by`.' }),
  requested_at: Type.String({ format: 'date-time' }),
  expires_at: Type.String({ format: 'date-time', description: 'An undecided run is cancelled at this time.' }),
  may_decide: Type.Boolean({
    description:
      'Whether this key may decide the call. `question` and `messages` are present only if true, and for a budget only to the caller of the run.',
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
        'Calls of own runs; with the permission `runs.approve`, also the calls of other runs that such a key decides, and with `budgets.write` the runs that a budget has paused. `may_decide` says whether this key may.',
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
      summary: 'Approve or reject a tool call, raise a limit, or send the output of a client tool; the run resumes after the last decision',
      text: `Decides one waiting call, or gives the output of a client tool. After the last decision the run goes on, and its answer arrives where it was asked for: send the chat again with the same \`request-id\`, follow \`GET /core/v1/runs/{request_id}/stream\`, or wait for the callback.

Take \`request_id\` and \`tool_call_id\` from \`GET /core/v1/approvals\`. \`tool_input\` approves with another input; \`reason\` explains a rejection to the model.

A question of an MCP server waits as a call does. Its \`tool_input\` has \`server\`, \`question\`, and \`answer_schema\` or \`url\`. \`approve\` answers it, with the answer as \`tool_input\`, and \`reject\` declines.

A call of a client tool, listed in \`client_tool_calls\` of the answer, takes \`output\` (any JSON) or \`error\` (a text for the model), from the owner of the run alone, with the permission \`chat\`. Output over 20,000 characters is cut for the model.

A run that a budget has paused has \`budget_required\`. \`extend\` raises the limit of the window that was used up by \`limit\`, until the window ends, and needs \`budgets.write\`; a limit of a tenant or of the service is raised from the administrators' tenant. \`extend\` without a \`limit\` raises nothing: the run goes on if the budget can pay by now, and otherwise waits again. \`reject\` ends the run with the answer that the rest of the budget pays for. The caller of the run may do both. A \`tool_call_id\` from \`GET /core/v1/approvals\` makes it safe to send the decision twice.

- 403: this key may not raise the limit.
- 404: there is no such call, or this key may not decide it.
- 409 \`NotInterrupted\`: the run does not wait. \`AlreadyDecided\`: another decision was made before; the same decision again is 200. \`AboveTenantBudget\`: a caller may not have more than the tenant.
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
        extend: { summary: 'Raise the limit of a budget', value: { decision: 'extend', limit: { usd: 5 } } },
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
      const isShown = ({ by }: PendingCall) =>
        permits(principal, by === 'role' ? ['runs.approve'] : by === 'budget' ? ['budgets.write'] : [])
      return run && toSharedView(run, openOfRun.filter(isShown))
    },
  )
}

function toDecision({ tool_call_id: callId, decision, ...fields }: Type.Static<typeof Decision>): AnyDecision {
  const { tool_input: input, reason, output, error, limit } = fields
  refuseUnless(decision === 'approve', 'tool_input', input)
  refuseUnless(decision === 'output', 'output', output)
  refuseUnless(decision === 'error', 'error', error)
  refuseUnless(decision === 'extend', 'limit', limit)
  if (decision === 'extend') return { callId, decision, limit }
  if (callId === undefined) {
    if (decision === 'reject') return { callId, decision, input: undefined, reason: reason?.trim() || undefined }
    throw invalid(['body', 'tool_call_id'], 'is required', 'missing')
  }
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
function refuseUnless(isAllowed: boolean, field: 'tool_input' | 'output' | 'error' | 'limit', value: unknown): void {
  if (isAllowed || value === undefined || value === null) return
  const decision = field === 'tool_input' ? 'approve' : field === 'limit' ? 'extend' : field
  throw invalid(['body', field], `is allowed only with the decision ${decision}`)
}
