import type { FastifyRequest } from 'fastify'
import { randomUUIDv7 } from 'node:crypto'
import { Type } from 'typebox'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import { invalid, ServiceError } from '../../../errors.ts'
import type { SessionChanges } from '../../../sessions/session-changes.ts'
import type { SessionMessage, SessionRecord } from '../../../sessions/session-store.ts'
import { Id, maybe } from '../../schemas/shared.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'
import { contentBytes } from '../../server/read-bodies.ts'
import { checkInputSize } from '../core/open-chat.ts'
import { langGraphErrors, notOffered, prefix } from './errors.ts'
import { Message, threadParams, toPageMessage } from './input.ts'
import { contentOf, findThread, fromMetadata, isAssistant, type ThreadServices, toMetadata, toState, toThread, turnEnds } from './state.ts'

interface Services extends ThreadServices {
  agent: CurrentAgent
  changes: Pick<SessionChanges, 'remove'>
}

const Metadata = maybe(Type.Record(Type.String({ maxLength: 200 }), Type.Unknown()))

const NewThread = Type.Object({
  thread_id: maybe(Id),
  metadata: Metadata,
  if_exists: maybe(Type.Enum(['raise', 'do_nothing'])),
  supersteps: Type.Optional(Type.Unknown()),
  ttl: Type.Optional(Type.Unknown()),
})

const Patch = Type.Object({ metadata: Metadata, ttl: Type.Optional(Type.Unknown()) })

/** Most threads that a search reads, and most messages that it answers. */
const maxSearched = 1000
const maxSearchedMessages = 5000

const Search = Type.Object({
  metadata: Metadata,
  ids: maybe(Type.Array(Id, { maxItems: 100 })),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  offset: Type.Integer({ minimum: 0, maximum: maxSearched - 100, default: 0 }),
  status: maybe(Type.Enum(['idle', 'busy', 'interrupted', 'error'])),
  values: Type.Optional(Type.Unknown()),
})

const NewState = Type.Object({
  values: maybe(Type.Object({ messages: maybe(Type.Array(Message, { maxItems: 1000 })) })),
  checkpoint: Type.Optional(Type.Unknown()),
  checkpoint_id: Type.Optional(Type.Unknown()),
})

const HistoryQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 10 }),
  before: Type.Optional(Type.String({ maxLength: 200 })),
})

const HistoryBody = Type.Object({
  limit: HistoryQuery.properties.limit,
  before: maybe(
    Type.Union([
      Type.String({ maxLength: 200 }),
      Type.Object({ checkpoint_id: maybe(Type.String({ maxLength: 200 })), configurable: Type.Optional(Type.Unknown()) }),
    ]),
  ),
  checkpoint: Type.Optional(Type.Unknown()),
})

/** The routes are in no OpenAPI document: their clients have the SDK. */
export const unlisted = { hide: true }

const reading = { access: ['sessions.read'] as const, errorShape: langGraphErrors }
const writing = { access: ['sessions.write'] as const, errorShape: langGraphErrors, maxBodyBytes: contentBytes }

/** Threads: the caller's sessions. */
export const threadRoutes = [createRoute, searchRoute, readRoute, changeRoute, deleteRoute, stateRoutes, historyRoutes] as const

function createRoute(app: App, services: Services): void {
  app.post(`${prefix}/threads`, { config: writing, schema: { ...unlisted, body: NewThread } }, async (request) => {
    const { thread_id: sent, metadata, if_exists: ifExists, supersteps, ttl } = request.body
    if (supersteps !== undefined && supersteps !== null)
      throw notOffered(['body', 'supersteps'], 'bring messages with POST /threads/{thread_id}/state')
    refuseTtl(ttl)
    const principal = principalOf(request)
    const sessionId = sent ?? randomUUIDv7()
    const existing = sent && ifExists === 'do_nothing' ? await services.sessionStore.find(principal, sent, { anyOwner: false }) : undefined
    const session =
      existing ?? (await services.conversations.create(principal, { sessionId, metadata: toMetadata(metadata), messages: [] }))
    return threadOf(services, session)
  })
}

function refuseTtl(ttl: unknown): void {
  if (ttl !== undefined && ttl !== null) throw notOffered(['body', 'ttl'], '`retention` in agent.yaml says how long sessions are kept')
}

async function threadOf(services: Services, session: SessionRecord): Promise<object> {
  const [metadata, content] = await Promise.all([services.conversations.metadata(session), contentOf(services, session)])
  return toThread(session, fromMetadata(metadata), content)
}

function searchRoute(app: App, services: Services): void {
  app.post(`${prefix}/threads/search`, { config: reading, schema: { ...unlisted, body: Search } }, async (request) => {
    const { ids, limit, offset, status, metadata: filter, values } = request.body
    if (values !== undefined && values !== null) throw notOffered(['body', 'values'], 'search the messages with GET /core/v1/sessions?q=')
    const principal = principalOf(request)
    const isFiltered = Boolean(ids) || Boolean(status) || Object.keys(filter ?? {}).length > 0
    const sessions = await services.sessionStore.list(principal, {
      limit: isFiltered ? maxSearched : offset + limit,
      anyOwner: false,
      before: undefined,
    })
    const threads: object[] = []
    let [skipped, messages] = [0, 0]
    for (const session of sessions) {
      if (threads.length === limit) break
      if (ids && !ids.includes(session.sessionId)) continue
      const metadata = fromMetadata(await services.conversations.metadata(session))
      if (!hasMetadata(metadata, filter ?? {})) continue
      if (!status && skipped < offset) {
        skipped++
        continue
      }
      const content = messages < maxSearchedMessages || status ? await contentOf(services, session) : undefined
      const thread = toThread(session, metadata, content) as { status: string }
      if (status && thread.status !== status) continue
      if (status && skipped++ < offset) continue
      messages += content?.messages.length ?? 0
      threads.push(messages > maxSearchedMessages && threads.length > 0 ? { ...thread, values: null } : thread)
    }
    return threads
  })
}

/** Every thread is of the one assistant. */
function hasMetadata(metadata: Record<string, unknown>, filter: Record<string, unknown>): boolean {
  return Object.entries(filter).every(([name, value]) =>
    name === 'graph_id' || name === 'assistant_id' ? isAssistant(value) : JSON.stringify(metadata[name]) === JSON.stringify(value),
  )
}

function readRoute(app: App, services: Services): void {
  app.get(`${prefix}/threads/:thread_id`, { config: reading, schema: { ...unlisted, params: threadParams } }, async (request) =>
    threadOf(services, await findThread(services, principalOf(request), request.params.thread_id)),
  )
}

function changeRoute(app: App, services: Services): void {
  app.patch(
    `${prefix}/threads/:thread_id`,
    { config: writing, schema: { ...unlisted, params: threadParams, body: Patch } },
    async (request) => {
      refuseTtl(request.body.ttl)
      const session = await findThread(services, principalOf(request), request.params.thread_id)
      const metadata = { ...fromMetadata(await services.conversations.metadata(session)), ...request.body.metadata }
      await services.conversations.setMetadata(session, toMetadata(metadata))
      return threadOf(services, session)
    },
  )
}

function deleteRoute(app: App, services: Services): void {
  app.delete(`${prefix}/threads/:thread_id`, { config: writing, schema: { ...unlisted, params: threadParams } }, async (request, reply) => {
    await findThread(services, principalOf(request), request.params.thread_id)
    await services.changes.remove(principalOf(request), request.params.thread_id)
    return reply.code(204).send()
  })
}

function stateRoutes(app: App, services: Services): void {
  const url = `${prefix}/threads/:thread_id/state`
  app.get(url, { config: reading, schema: { ...unlisted, params: threadParams } }, async (request) => {
    const session = await findThread(services, principalOf(request), request.params.thread_id)
    return headOf(services, session)
  })

  app.post(url, { config: writing, schema: { ...unlisted, params: threadParams, body: NewState } }, async (request) => {
    const { values, checkpoint, checkpoint_id: checkpointId } = request.body
    const isAtCheckpoint = [checkpoint, checkpointId].some((field) => field !== undefined && field !== null)
    if (isAtCheckpoint) throw notOffered(['body', 'checkpoint'], 'fork the session with POST /core/v1/sessions/{session_id}/fork')
    const session = await findThread(services, principalOf(request), request.params.thread_id)
    const messages = toBrought(values?.messages ?? [], request.id)
    if (messages.length === 0) throw invalid(['body', 'values', 'messages'], 'must have a message: a thread has no other state', 'missing')
    checkInputSize(
      services.agent,
      messages.map(({ content }) => ({ role: 'user', content })),
    )
    if (session.messageCount > 0)
      throw new ServiceError(
        'session_exists',
        'The thread has messages, which cannot be changed: bring the messages to a new thread, or fork the session.',
      )
    if ((await services.conversations.append(session, messages)) === undefined)
      throw new ServiceError('not_found', 'The thread was deleted.')
    return headOf(services, await findThread(services, principalOf(request), session.sessionId))
  })
}

async function headOf(services: Services, session: SessionRecord): Promise<object> {
  const content = await contentOf(services, session)
  const [head = 0, before] = turnEnds(content)
  return toState(session, content, head, before)
}

/** Questions and answers. Calls and their results stay behind, as do messages without text. */
function toBrought(sent: readonly Message[], requestId: string): SessionMessage[] {
  const at = ['body', 'values', 'messages']
  const pages = sent.flatMap((message, index) => {
    const page = toPageMessage(message, [...at, index])
    if (page && page.images.length + page.files.length > 0) throw notOffered([...at, index, 'content'], 'send images and files with a run')
    if (page?.role === 'system') throw notOffered([...at, index], '`system_prompt` in agent.yaml has the instructions')
    if (page?.content.includes('\u0000')) throw invalid([...at, index, 'content'], 'must not have NUL')
    return page && page.content !== '' ? [page] : []
  })
  return pages.map(({ role, content }, index) => ({
    role: role === 'user' ? 'human' : 'ai',
    content: content.toWellFormed(),
    createdAt: Date.now(),
    data: index === 0 ? { requestId } : undefined,
  }))
}

function historyRoutes(app: App, services: Services): void {
  const url = `${prefix}/threads/:thread_id/history`
  app.get(url, { config: reading, schema: { ...unlisted, params: threadParams, querystring: HistoryQuery } }, async (request) =>
    historyOf(services, request, request.query),
  )
  app.post(url, { config: reading, schema: { ...unlisted, params: threadParams, body: HistoryBody } }, async (request) => {
    const { limit, before } = request.body
    const sent = typeof before === 'string' ? before : (before?.checkpoint_id ?? undefined)
    return historyOf(services, request, { limit, before: sent })
  })
}

/** A state for each turn, newest first. Older states are left out where the answer would have too many messages. */
async function historyOf(
  services: Services,
  request: FastifyRequest<{ Params: { thread_id: string } }>,
  { limit, before }: { limit: number; before?: string | undefined },
): Promise<object[]> {
  const session = await findThread(services, principalOf(request), request.params.thread_id)
  const content = await contentOf(services, session)
  const ends = turnEnds(content)
  const states: object[] = []
  let messages = 0
  for (const [index, end] of ends.entries()) {
    if (before !== undefined && end >= Number(before)) continue
    messages += end
    if (states.length === limit || (states.length > 0 && messages > maxSearchedMessages)) break
    states.push(toState(session, content, end, ends[index + 1]))
  }
  return states
}
