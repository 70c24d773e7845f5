import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { accessTo } from '../../access/operations.ts'
import type { JsonObject } from '../../agent/messages.ts'
import { invalid } from '../../errors.ts'
import type { Approvals } from '../../runs/approvals/approvals.ts'
import type { RunStore } from '../../runs/run-store.ts'
import { toSharedView } from '../../runs/run-view.ts'
import type { ApprovalStore } from '../../runs/approvals/approval-store.ts'
import { principalOf } from '../authenticate.ts'
import { ErrorReply, Id, maxListed, refusals, ValidationReply } from '../schemas.ts'
import { Run, type ViewRun } from './runs.ts'

export interface ApprovalServices {
  approvals: Approvals
  openCalls: Pick<ApprovalStore, 'openOf'>
  runStore: Pick<RunStore, 'find'>
  view: ViewRun
}

const Decision = Type.Object(
  {
    tool_call_id: Id,
    decision: Type.Enum(['approve', 'reject']),
    tool_input: Type.Optional(
      Type.Union([Type.Object({}, { description: 'Approved in place of what the model asked for; it must fit the tool.' }), Type.Null()]),
    ),
    reason: Type.Optional(Type.Union([Type.String({ maxLength: 4000, description: 'Of a rejection: the model is told.' }), Type.Null()])),
  },
  { additionalProperties: false },
)

const Query = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: maxListed, default: 45 }),
  before: Type.Optional(Type.Intersect([Id, Type.String({ description: 'A tool_call_id: the page begins behind it.' })])),
})

const List = Type.Object({
  approvals: Type.Array(
    Type.Object({
      request_id: Type.String(),
      session_id: Type.String(),
      tool_call_id: Type.String(),
      tool: Type.String(),
      tool_input: Type.Unknown(),
      by: Type.Enum(['caller', 'role'], { description: 'Who decides: who asked, or somebody else whose key permits runs.approve.' }),
      requested_by: Type.String({ description: 'The `sub` of who asked the agent.' }),
      requested_at: Type.String({ format: 'date-time' }),
      expires_at: Type.String({ format: 'date-time' }),
      may_decide: Type.Boolean({
        description: 'Whether this key permits to decide the call. `question` and `messages` are present only then.',
      }),
      question: Type.Optional(Type.String({ description: 'What the agent was asked; at most 2,000 characters.' })),
      messages: Type.Optional(
        Type.Array(Type.Object({ role: Type.Enum(['human', 'ai']), content: Type.String() }), {
          description: 'The last 6 messages of the session, oldest first, each at most 2,000 characters.',
        }),
      ),
    }),
  ),
  count: Type.Integer({ description: 'Of those in the list.' }),
})

/** Calls that wait for approval. */
export function approvalRoutes(app: FastifyInstance, { approvals, openCalls, runStore, view }: ApprovalServices): void {
  app.get(
    '/core/v1/approvals',
    {
      config: { access: accessTo.listCalls },
      schema: {
        tags: ['Runs'],
        summary: 'Calls that wait for approval: those of own runs, and those of others that the key permits to decide; newest first',
        querystring: Query,
        response: { 200: List, 422: ValidationReply, ...refusals },
      },
    },
    async (request) => {
      const { limit, before } = request.query as Type.Static<typeof Query>
      return approvals.list(principalOf(request), { limit, before })
    },
  )

  app.post(
    '/core/v1/runs/:request_id/approvals',
    {
      config: { access: accessTo.decideCall },
      schema: {
        tags: ['Runs'],
        summary: 'Decide on a call that waits for approval; the run goes on with the last',
        params: Type.Object({ request_id: Id }),
        body: Decision,
        response: { 200: Run, 404: ErrorReply, 409: ErrorReply, 410: ErrorReply, 422: ValidationReply, ...refusals },
      },
    },
    async (request) => {
      const who = principalOf(request)
      const { request_id: requestId } = request.params as { request_id: string }
      const key = await approvals.decide(who, requestId, toGiven(request.body as Type.Static<typeof Decision>))
      if (key.owner === who.owner) return view(who, key)
      const [run, open] = await Promise.all([runStore.find(key), openCalls.openOf(key)])
      return (
        run &&
        toSharedView(
          run,
          open.filter((call) => call.by === 'role'),
        )
      )
    },
  )
}

function toGiven({ tool_call_id: callId, decision, tool_input: input, reason }: Type.Static<typeof Decision>) {
  if (input && decision === 'reject') throw invalid(['body', 'tool_input'], 'stands beside the decision approve alone')
  return { callId, decision, input: input ? (input as JsonObject) : undefined, reason: reason?.trim() || undefined }
}
