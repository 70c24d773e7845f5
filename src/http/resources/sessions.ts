import { closed, maybe, replies, route, Id, IdHeaders, optionalText, namedObject, pageLimit } from '../schemas/shared.ts'
import { Type, type Static } from 'typebox'
import { accessTo } from '../../access/permissions.ts'
import { invalid } from '../../errors.ts'
import type { BroughtMessage, Conversations } from '../../sessions/conversations.ts'
import { contentBytes } from '../server/read-bodies.ts'
import type { App } from '../server/app.ts'
import type { SessionChanges } from '../../sessions/session-changes.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { principalOf } from '../server/authenticate.ts'
import { Usage, Step, GeneratedArtifact, AdditionalContext } from '../schemas/chat.ts'

const whereId = 'Take a `session_id` from `GET /core/v1/sessions`, or from the header `session-id` of a chat.'

const Query = Type.Object({
  limit: pageLimit,
  before: Type.Optional(Type.Intersect([Id, Type.String({ description: 'A session id: the page begins after this session.' })])),
  q: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Only sessions whose short name, or one of whose messages, contains all of these words (at most 10), in any case.',
    }),
  ),
})

const Attached = Type.Object({ name: Type.String(), kind: Type.String({ description: 'MIME type.' }) })

export const Message = namedObject('SessionMessage', {
  message_index: Type.Optional(
    Type.Integer({ description: 'The place of the message in the session, behind a deleted message. Absent: the place in this list.' }),
  ),
  role: Type.Enum(['human', 'ai']),
  content: Type.String(),
  timestamp: Type.Integer({ description: 'Epoch seconds.' }),
  message_id: optionalText('The id of a message that was sent to a run while it worked; absent for others.'),
  images: Type.Optional(Type.Array(Attached)),
  context_files: Type.Optional(Type.Array(Attached)),
  additional_context: Type.Optional(Type.Array(AdditionalContext)),
  response_metadata: Type.Optional(
    Type.Object({
      request_id: Type.Optional(Type.String()),
      model: Type.Optional(Type.String()),
      finish_reason: Type.Optional(Type.String()),
      usage: Type.Array(Usage),
      intermediate_steps: Type.Array(Step),
      generated_artifacts: Type.Array(GeneratedArtifact),
    }),
  ),
})

export const Session = namedObject('Session', {
  session_id: Type.String(),
  short_name: Type.String(),
  created_at: Type.String(),
  updated_at: Type.String(),
  messages: Type.Array(Message),
})

export const Summary = namedObject('SessionSummary', {
  session_id: Type.String(),
  checkpoint_id: Type.String(),
  short_name: Type.String(),
  created_at: Type.String(),
})

/** Postgres stores no NUL. */
const noNul = '^[^\\u0000]*$'

const params = Type.Object({ session_id: Id })

const Fork = Type.Object({ message_index: Type.Integer({ minimum: 0, description: 'The messages before this index are copied.' }) })

const maxBrought = 1000

const Brought = closed({
  session_id: maybe(Id, 'Default: the `request-id`.'),
  short_name: maybe(Type.String({ minLength: 1, maxLength: 200, pattern: noNul }), 'Default: the beginning of the first question.'),
  messages: Type.Array(
    closed({
      role: Type.Enum(['human', 'ai']),
      content: Type.String({ pattern: noNul }),
      timestamp: maybe(Type.Integer({ minimum: 0 }), 'Epoch seconds, not in the future and not before the message before. Default: now.'),
    }),
    { minItems: 1, maxItems: maxBrought, description: 'In order, as `GET /core/v1/sessions/{session_id}` shows them.' },
  ),
})

export const List = namedObject('SessionList', {
  sessions: Type.Array(Summary),
  offset: Type.String(),
  count: Type.Integer(),
  next: optionalText('Only with `q`: the value of `before` for the next page. Absent when no session is left.'),
})

/** Routes of sessions, which are conversations with their messages. */
export const sessionRoutes = [listRoute, bringRoute, readRoute, deleteRoute, forkRoute] as const

function listRoute(app: App, { sessions }: { sessions: Sessions }): void {
  app.get(
    '/core/v1/sessions',
    route('sessions.read', 'Sessions', {
      summary: 'List or search sessions, most recent activity first',
      description:
        'Lists the sessions of the caller; an administrator sees the sessions of the tenant. ' +
        'A search reads the sessions in the same order and stops when the page is full or 300,000 messages are read, ' +
        'so a page may hold fewer sessions than `limit`. While `next` is present, the search goes on with `before`.',
      text: 'Use it for the list of conversations beside a chat. An unknown session id in `before` is 422.',
      parameters: { q: 'sales region' },
      querystring: Query,
      response: replies({ 200: List }, 422),
    }),
    async (request) => {
      const { limit, before, q } = request.query
      return sessions.list(principalOf(request), { limit, before, q })
    },
  )
}

function bringRoute(app: App, { conversations, sessions }: { conversations: Conversations; sessions: Sessions }): void {
  app.post(
    '/core/v1/sessions',
    route({ access: accessTo.chat, maxBodyBytes: contentBytes }, 'Sessions', {
      summary: 'Bring a conversation from elsewhere: a new session with its messages',
      text: `The session goes on with the next chat that names it. Answers that a client brings count as text of strangers where containment is on. A repeat with the same \`request-id\` returns the session; an application that moves a conversation gives its own id as \`request-id\`.

- 409 \`SessionExists\`: the caller has a session of this id, with other messages or from another request.
- 413: the body has more than 4 MiB.`,
      examples: {
        two: {
          summary: 'A question with its answer',
          value: {
            session_id: 'moved-1',
            messages: [
              { role: 'human', content: 'Call me Ada.', timestamp: 1790000000 },
              { role: 'ai', content: 'Hello Ada.', timestamp: 1790000002 },
            ],
          },
        },
      },
      body: Brought,
      response: replies({ 201: Session }, 409, 413, 422),
    }),
    async (request, reply) => {
      const { session_id: sessionId, short_name: shortName, messages } = request.body
      const caller = principalOf(request)
      const brought = { requestId: request.id, sessionId: sessionId ?? undefined, shortName: shortName ?? undefined }
      const session = await conversations.bring(caller, { ...brought, messages: toBrought(messages) })
      void reply.code(201)
      return sessions.read(caller, session.sessionId)
    },
  )
}

function toBrought(messages: Static<typeof Brought>['messages']): BroughtMessage[] {
  const now = Date.now()
  let before = 0
  return messages.map(({ role, content, timestamp }, index) => {
    const createdAt = timestamp == null ? undefined : timestamp * 1000
    const at = ['body', 'messages', index, 'timestamp']
    if ((createdAt ?? now) > now) throw invalid(at, 'is in the future')
    if ((createdAt ?? now) < before) throw invalid(at, 'is before the message before')
    before = createdAt ?? now
    return { role, content, createdAt }
  })
}

function readRoute(app: App, { sessions }: { sessions: Sessions }): void {
  app.get(
    '/core/v1/sessions/:session_id',
    route('sessions.read', 'Sessions', {
      summary: 'Get a session with its messages',
      text: `The whole conversation: human and ai messages in order, each answer with its steps, usage and files in \`response_metadata\`. The place of a message in \`messages\` is its \`message_index\` everywhere, and never changes.

${whereId} A session of another caller is 404, except for administrators of the tenant.`,
      headers: IdHeaders,
      params,
      response: replies({ 200: Session }, 404, 422),
    }),
    async (request, reply) => {
      const { session_id: sessionId } = request.params
      // A `session-id` header of the request is echoed already, even if it names another session.
      if (request.headers['session-id'] === undefined) void reply.header('session-id', sessionId)
      return sessions.read(principalOf(request), sessionId)
    },
  )
}

function deleteRoute(app: App, { changes }: { changes: SessionChanges }): void {
  app.delete(
    '/core/v1/sessions/:session_id',
    route('sessions.write', 'Sessions', {
      summary: 'Cancel the runs of a session and delete all of its data',
      text: `Cancels the runs of the session, then deletes its messages, runs and files, and the memories that came from it alone. This cannot be undone. Later requests for the session or its runs are 410 for \`retention.deleted_sessions\` days.

${whereId}`,
      params,
      response: replies({ 200: Type.Object({ session_id: Type.String(), status: Type.Literal('deleted') }) }, 404, 422),
    }),
    async (request) => {
      const { session_id: sessionId } = request.params
      await changes.remove(principalOf(request), sessionId)
      return { session_id: sessionId, status: 'deleted' }
    },
  )
}

function forkRoute(app: App, { changes }: { changes: SessionChanges }): void {
  app.post(
    '/core/v1/sessions/:session_id/fork',
    route('sessions.write', 'Sessions', {
      summary: 'Fork a session: a new session gets the messages before an index',
      text: `Copies the messages before \`message_index\` into a new session of the caller. Use it to try another question at some point of a conversation; 2 is after the first answer.

${whereId} An index beyond the messages is 422.`,
      examples: { fork: { summary: 'Everything up to the first answer', value: { message_index: 2 } } },
      params,
      body: Fork,
      response: replies({ 200: Type.Object({ session_id: Type.String() }) }, 404, 422),
    }),
    async (request) => {
      const { session_id: sessionId } = request.params
      const { message_index: messageIndex } = request.body
      return { session_id: await changes.fork(principalOf(request), sessionId, messageIndex) }
    },
  )
}
