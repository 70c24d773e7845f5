import { replies, route, Id, maybe, orNull, namedObject, object } from '../schemas/shared.ts'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import type { Memories } from '../../memory/memories.ts'
import { principalOf } from '../server/authenticate.ts'
import { runParams, whereId } from '../named-runs.ts'

const Query = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }),
  before: Type.Optional(Type.Intersect([Id, Type.String({ description: 'A memory id: the page begins after this memory.' })])),
})

export const Memory = namedObject('Memory', {
  id: Type.String(),
  content: Type.String(),
  kind: Type.Enum(['fact', 'preference', 'lesson']),
  origin: Type.Enum(['user', 'tool'], { description: "`tool`: learned from the output of a tool, not from the caller's own words." }),
  trust: Type.Enum(['trusted', 'untrusted'], {
    description: '`untrusted`: learned from text of strangers. `containment` holds calls of chats that recall it.',
  }),
  source: object('The message that confirmed the memory last.', { session_id: Type.String(), message_index: Type.Integer() }),
  created_at: Type.String(),
})

export const List = namedObject('MemoryList', { memories: Type.Array(Memory), count: Type.Integer() })

const FeedbackBody = namedObject('FeedbackRequest', {
  score: Type.Number({ minimum: -1, maximum: 1, description: 'From -1 (bad) to 1 (good).' }),
  comment: maybe(Type.String({ maxLength: 4000 })),
})

export const Feedback = namedObject('Feedback', {
  request_id: Type.String(),
  score: Type.Number(),
  comment: orNull(Type.String()),
  created_at: Type.String(),
})

/** Routes of memories, and of feedback on runs. */
export const memoryRoutes = [listRoute, deleteRoute, feedbackRoute] as const

function listRoute(app: App, { memories }: { memories: Memories }): void {
  app.get(
    '/core/v1/memories',
    route('memories.read', 'Memories', {
      summary: 'List the memories about the caller, newest first',
      text: 'What the agent has retained about the caller: facts, preferences and lessons, each with the message that confirmed it last. A chat with `auto_memory_retain: true` is learned from after its answer, and feedback with a comment. Try it: `{"messages": [{"role": "user", "content": "My name is Ada."}], "auto_memory_retain": true}`.',
      querystring: Query,
      response: replies({ 200: List }, 422),
    }),
    async (request) => {
      const { limit, before } = request.query
      return memories.list(principalOf(request), { limit, before })
    },
  )
}

function deleteRoute(app: App, { memories }: { memories: Memories }): void {
  app.delete(
    '/core/v1/memories/:id',
    route('memories.write', 'Memories', {
      summary: 'Delete a memory',
      text: 'Deletes a memory; later chats do not recall it. Take an `id` from `GET /core/v1/memories`. A memory of another caller is 404.',
      params: Type.Object({ id: Id }),
      response: replies({ 200: Type.Object({ id: Type.String(), status: Type.Enum(['deleted']) }) }, 404, 422),
    }),
    async (request) => {
      const { id } = request.params
      await memories.delete(principalOf(request), id)
      return { id, status: 'deleted' }
    },
  )
}

function feedbackRoute(app: App, { memories }: { memories: Memories }): void {
  app.post(
    '/core/v1/runs/:request_id/feedback',
    route('runs.write', 'Runs', {
      summary: 'Rate an answer; the agent keeps lessons from the feedback as memories',
      text: `Stores a score for the answer of a run. A comment is read by the \`small\` model, which keeps lessons from it as memories of the caller. A second rating of the same run replaces the first.

${whereId} A run that has not ended is 409 \`RunNotEnded\`.`,
      examples: {
        feedback: {
          summary: 'A good answer, with a comment',
          value: { score: 1, comment: 'A short answer with its source, as it should be.' },
        },
      },
      params: runParams,
      body: FeedbackBody,
      response: replies({ 200: Feedback }, 404, 409, 410, 422),
    }),
    async (request) => {
      const { request_id: requestId } = request.params
      const { score, comment } = request.body
      const text = comment?.trim() || undefined
      return memories.rate(principalOf(request), { requestId, score, comment: text })
    },
  )
}
