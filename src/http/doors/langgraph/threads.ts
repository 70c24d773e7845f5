import { randomUUIDv7 } from 'node:crypto'
import { Type } from 'typebox'
import type { Principal } from '../../../access/permissions.ts'
import { ServiceError } from '../../../errors.ts'
import type { Conversations } from '../../../sessions/conversations.ts'
import type { SessionChanges } from '../../../sessions/session-changes.ts'
import type { SessionRecord } from '../../../sessions/session-store.ts'
import { Id, maybe, object } from '../../schemas/shared.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'
import { contentBytes } from '../../server/read-bodies.ts'
import { findThread, threadIdOf, type ThreadServices } from './branches.ts'
import { type Content, contentOf } from './content.ts'
import { doorRoute, isGiven, notOffered, prefix } from './errors.ts'
import { threadParams } from './input.ts'
import { fromMetadata, hasMetadata, statusOf, ThreadReply, toMetadata, toThread } from './state.ts'

interface Services extends ThreadServices {
  conversations: Pick<Conversations, 'create' | 'metadata' | 'setMetadata'>
  changes: Pick<SessionChanges, 'remove' | 'fork'>
}

const Metadata = maybe(Type.Record(Type.String({ maxLength: 200 }), Type.Unknown()))
const ttl = { ttl: Type.Optional(Type.Unknown()) }

const NewThread = object('A thread.', {
  thread_id: maybe(Id),
  metadata: Metadata,
  if_exists: maybe(Type.Enum(['raise', 'do_nothing'])),
  supersteps: Type.Optional(Type.Unknown()),
  ...ttl,
})

const Patch = object('Metadata, which is added to that of the thread.', { metadata: Metadata, ...ttl })

/** Most sessions that a search reads, and most messages that an answer has. */
const maxSearched = 1000
export const maxMessages = 5000

const filters = {
  metadata: Metadata,
  ids: maybe(Type.Array(Id, { maxItems: 100 })),
  status: maybe(Type.Enum(['idle', 'busy', 'interrupted', 'error'])),
  values: Type.Optional(Type.Unknown()),
}

const Filters = object('Which threads are counted.', filters)

const Search = object('Which threads are listed, last changed first.', {
  ...filters,
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  offset: Type.Integer({ minimum: 0, maximum: maxSearched - 100, default: 0 }),
  sort_by: maybe(Type.Enum(['updated_at', 'state_updated_at'])),
  sort_order: maybe(Type.Enum(['desc'])),
  extract: Type.Optional(Type.Unknown()),
})

export const reading = { access: 'sessions.read' } as const
export const writing = { access: 'sessions.write', maxBodyBytes: contentBytes } as const
export const url = `${prefix}/threads/:thread_id`
export const unknown = '404: the caller has no such thread.'

/** Threads: the caller's sessions. */
export const threadRoutes = [createRoute, copyRoute, searchRoutes, readRoute, changeRoute, deleteRoute] as const

function createRoute(app: App, services: Services): void {
  app.post(
    `${prefix}/threads`,
    doorRoute(writing, {
      summary: 'Create a thread',
      text: 'Creates a session of the caller. Metadata may have any JSON. A thread that exists is 409, or with `if_exists` `do_nothing` the answer.',
      examples: { thread: { summary: 'A thread with metadata', value: { metadata: { topic: 'sales' } } } },
      body: NewThread,
      response: { 200: ThreadReply },
    }),
    async (request) => {
      const { thread_id: sent, metadata, if_exists: ifExists, supersteps } = request.body
      if (isGiven(supersteps)) throw notOffered(['body', 'supersteps'], 'bring messages with POST /threads/{thread_id}/state')
      refuseTtl(request.body)
      const principal = principalOf(request)
      try {
        const content = { sessionId: sent ?? randomUUIDv7(), metadata: toMetadata(metadata), messages: [] }
        return await threadOf(services, principal, (await services.conversations.create(principal, content)).sessionId)
      } catch (error) {
        if (!sent || ifExists !== 'do_nothing' || !(error instanceof ServiceError) || error.code !== 'session_exists') throw error
        return threadOf(services, principal, sent)
      }
    },
  )
}

function refuseTtl({ ttl: sent }: { ttl?: unknown }): void {
  if (isGiven(sent)) throw notOffered(['body', 'ttl'], '`retention` in agent.yaml says how long sessions are kept')
}

function copyRoute(app: App, services: Services): void {
  app.post(
    `${url}/copy`,
    doorRoute(writing, {
      summary: 'Copy a thread',
      text: `Makes a thread with the messages and the metadata of the last checkpoint. ${unknown}`,
      params: threadParams,
      response: { 200: ThreadReply },
    }),
    async (request) => {
      const principal = principalOf(request)
      const { head, sessions } = await findThread(services, principal, request.params.thread_id)
      const copyId = await services.changes.fork(principal, head.sessionId, head.messageCount)
      const copy = await findThread(services, principal, copyId)
      await services.conversations.setMetadata(copy.head, await services.conversations.metadata(sessions[0]))
      return threadOf(services, principal, copyId)
    },
  )
}

async function threadOf(services: Services, principal: Principal, threadId: string) {
  const { sessions, head } = await findThread(services, principal, threadId)
  const [metadata, content] = await Promise.all([services.conversations.metadata(sessions[0]), contentOf(services, head)])
  return toThread(sessions[0], head, fromMetadata(metadata), content)
}

function searchRoutes(app: App, services: Services): void {
  app.post(
    `${prefix}/threads/search`,
    doorRoute(reading, {
      summary: 'Search threads',
      text: 'The threads of the caller that have messages, last changed first, of the newest 1,000 sessions. `values` is null where the answer would have more than 5,000 messages.',
      examples: { assistant: { summary: 'Threads of the assistant', value: { metadata: { graph_id: 'agent' }, limit: 2 } } },
      body: Search,
      response: { 200: Type.Array(ThreadReply) },
    }),
    async (request) => {
      const { limit: pageSize, offset, extract } = request.body
      if (isGiven(extract)) throw notOffered(['body', 'extract'], 'read the values of the threads')
      const threads: Type.Static<typeof ThreadReply>[] = []
      let [skipped, messages] = [0, 0]
      for await (const { root, head, metadata, readContent } of matching(services, principalOf(request), request.body)) {
        if (skipped++ < offset) continue
        const content = await readContent()
        messages += content.messages.length
        const thread = toThread(root, head, metadata, content)
        threads.push(messages > maxMessages && threads.length > 0 ? { ...thread, values: null } : thread)
        if (threads.length === pageSize) break
      }
      return threads
    },
  )

  app.post(
    `${prefix}/threads/count`,
    doorRoute(reading, {
      summary: 'Count threads',
      text: 'The number of threads that a search without `limit` would list: 1,000 at most.',
      examples: { assistant: { summary: 'Threads of the assistant', value: { metadata: { graph_id: 'agent' } } } },
      body: Filters,
      response: { 200: Type.Integer() },
    }),
    async (request) => {
      let count = 0
      for await (const _ of matching(services, principalOf(request), request.body)) count++
      return count
    },
  )
}

interface Match {
  root: SessionRecord
  head: SessionRecord
  metadata: Record<string, unknown>
  readContent(): Promise<Content>
}

/** Sessions are listed last changed first, so the first session of a thread is its head. */
async function* matching(services: Services, principal: Principal, filter: Type.Static<typeof Filters>): AsyncGenerator<Match> {
  const { sessionStore, conversations } = services
  const { ids, status, metadata: wantedMetadata, values } = filter
  if (isGiven(values)) throw notOffered(['body', 'values'], 'search the messages with GET /core/v1/sessions?q=')
  const listedIds = new Set<string>()
  for (const head of await sessionStore.list(principal, { limit: maxSearched, anyOwner: false, before: undefined })) {
    const threadId = threadIdOf(head.sessionId)
    if (listedIds.has(threadId)) continue
    const root = threadId === head.sessionId ? head : ((await sessionStore.find(principal, threadId, { anyOwner: false })) ?? head)
    listedIds.add(root.sessionId)
    if (ids && !ids.includes(root.sessionId)) continue
    const metadata = fromMetadata(await conversations.metadata(root))
    if (!hasMetadata(metadata, wantedMetadata ?? {})) continue
    const content = status ? await contentOf(services, head) : undefined
    if (content && statusOf(content) !== status) continue
    yield { root, head, metadata, readContent: async () => content ?? contentOf(services, head) }
  }
}

function readRoute(app: App, services: Services): void {
  app.get(
    url,
    doorRoute(reading, { summary: 'Get a thread', text: unknown, params: threadParams, response: { 200: ThreadReply } }),
    async (request) => threadOf(services, principalOf(request), request.params.thread_id),
  )
}

function changeRoute(app: App, services: Services): void {
  app.patch(
    url,
    doorRoute(writing, {
      summary: 'Change the metadata of a thread',
      text: unknown,
      examples: { metadata: { summary: 'More metadata', value: { metadata: { topic: 'units' } } } },
      params: threadParams,
      body: Patch,
      response: { 200: ThreadReply },
    }),
    async (request) => {
      refuseTtl(request.body)
      const principal = principalOf(request)
      const [root] = (await findThread(services, principal, request.params.thread_id)).sessions
      const metadata = { ...fromMetadata(await services.conversations.metadata(root)), ...request.body.metadata }
      await services.conversations.setMetadata(root, toMetadata(metadata))
      return threadOf(services, principal, root.sessionId)
    },
  )
}

function deleteRoute(app: App, services: Services): void {
  app.delete(
    url,
    doorRoute(writing, {
      summary: 'Delete a thread',
      text: `Cancels the runs of the session, and deletes all of its data and its branches. ${unknown}`,
      params: threadParams,
      response: { 204: Type.Null({ description: 'Deleted.' }) },
    }),
    async (request, reply) => {
      const principal = principalOf(request)
      const { sessions } = await findThread(services, principal, request.params.thread_id)
      // The first session is last, so that a deletion that was cut off can be repeated.
      for (const { sessionId } of sessions.toReversed()) await services.changes.remove(principal, sessionId)
      return reply.code(204).send()
    },
  )
}
