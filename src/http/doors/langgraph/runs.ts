import type { FastifyReply, FastifyRequest } from 'fastify'
import { randomUUIDv7 } from 'node:crypto'
import { Type } from 'typebox'
import { accessTo, type Principal } from '../../../access/permissions.ts'
import { invalid, ServiceError } from '../../../errors.ts'
import type { Approvals } from '../../../runs/approvals/approvals.ts'
import { errorOf } from '../../../runs/log/outcome.ts'
import { answerCalls, lastReceived } from '../../../runs/parts.ts'
import type { StoredRun } from '../../../runs/run-store.ts'
import type { LastEvent } from '../../../runs/run.ts'
import { followRun, type Exchange, type OpenChat, outcomeOf } from '../../reader.ts'
import { findReadable, noRun, ownRunKey } from '../../named-runs.ts'
import { lastEventNumber, sendRun, toStream } from '../../send-run.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'
import { setSessionId } from '../../server/request-headers.ts'
import { openChat, toNewChat, whenBusy, type ChatServices, type ChatSource } from '../core/open-chat.ts'
import { langGraphErrors, notOffered, prefix } from './errors.ts'
import { checkRun, isResume, modesOf, RunBody, runParams, threadParams, toSource } from './input.ts'
import { toDecisions, toInterrupts } from './interrupts.ts'
import { type LangChainMessage, toHuman, toLangChainMessages } from './messages.ts'
import { frameEvent, LangGraphProjection } from './projection.ts'
import { RunMessages } from './run-messages.ts'
import { contentOf, findThread, type ThreadServices, toErrorData, toRun } from './state.ts'
import { unlisted } from './threads.ts'

interface Services extends ThreadServices, ChatServices {
  approvals: Pick<Approvals, 'decide'>
}

const starting = { access: accessTo.chat, errorShape: langGraphErrors, startsRun: true as const, maxBodyBytes: Infinity }
const reading = { access: accessTo.readRun, errorShape: langGraphErrors }

/** Runs: chats in a thread, or in a session of their own. */
export const threadRunRoutes = [streamRoutes, waitRoutes, createRoute, listRoutes, joinRoutes, cancelRoute] as const

/** A run that a client reads. */
interface ThreadRun {
  chat: Promise<OpenChat>
  threadId: string
  requestId: string
  /** Number of the last event that the client has. */
  after: number
}

function streamRoutes(app: App, services: Services): void {
  const streamed = (exchange: Exchange, body: RunBody, threadId: string | undefined) => {
    const modes = modesOf(body.stream_mode, ['body', 'stream_mode'])
    return openThreadRun(services, exchange, body, threadId).then((run) => sendThreadRun(services, exchange.reply, run, modes))
  }
  app.post(
    `${prefix}/threads/:thread_id/runs/stream`,
    { config: starting, schema: { ...unlisted, params: threadParams, body: RunBody } },
    (request, reply) => streamed({ request, reply }, request.body, request.params.thread_id),
  )
  app.post(`${prefix}/runs/stream`, { config: starting, schema: { ...unlisted, body: RunBody } }, (request, reply) =>
    streamed({ request, reply }, request.body, undefined),
  )
}

function waitRoutes(app: App, services: Services): void {
  const waited = (exchange: Exchange, body: RunBody, threadId: string | undefined) =>
    openThreadRun(services, exchange, body, threadId).then((run) => valuesOf(services, run, principalOf(exchange.request)))
  app.post(
    `${prefix}/threads/:thread_id/runs/wait`,
    { config: starting, schema: { ...unlisted, params: threadParams, body: RunBody } },
    (request, reply) => waited({ request, reply }, request.body, request.params.thread_id),
  )
  app.post(`${prefix}/runs/wait`, { config: starting, schema: { ...unlisted, body: RunBody } }, (request, reply) =>
    waited({ request, reply }, request.body, undefined),
  )
}

/** Starts the run of a request, or decides the calls of the run that waits in its thread. Without a thread, the run has a session of its own. */
async function openThreadRun(services: Services, exchange: Exchange, body: RunBody, pathThread: string | undefined): Promise<ThreadRun> {
  const { request, reply } = exchange
  checkRun(body)
  if (pathThread === undefined && isResume(body)) throw invalid(['body', 'command'], 'needs a thread')
  const threadId = pathThread ?? randomUUIDv7()
  nameSession(exchange, threadId)
  if (isResume(body)) return resume(services, exchange, body, threadId)
  const source = await sourceOf(services, exchange, body, pathThread === undefined ? undefined : threadId)
  await whenBusy(services, request, { body: source.body, at: source.at })
  const unstored = pathThread === undefined && body.on_completion !== 'keep' ? ({ unstored: 'session' } as const) : {}
  const { chat } = openChat(services, { ...exchange, operation: 'chain_streaming', source: { ...source, ...unstored } })
  return { chat, threadId, requestId: nameRun(reply, threadId, request.id), after: 0 }
}

/** The path names the session, whatever the headers say. */
function nameSession({ request, reply }: Exchange, threadId: string): void {
  request.headers['session-id'] = threadId
  setSessionId(request, reply, threadId)
}

/** Names the run for the client, by paths below its `apiUrl`. */
function nameRun(reply: FastifyReply, threadId: string, requestId: string): string {
  const path = `/threads/${threadId}/runs/${requestId}`
  void reply.headers({ 'content-location': path, location: `${path}/stream` })
  return requestId
}

/** The chat of a request. `threadId` undefined: of a session that does not exist yet. */
async function sourceOf(services: Services, { request }: Exchange, body: RunBody, threadId: string | undefined): Promise<ChatSource> {
  const principal = principalOf(request)
  const session = threadId === undefined ? undefined : await services.sessionStore.find(principal, threadId, { anyOwner: false })
  if (threadId !== undefined && !session && body.if_not_exists !== 'create') await findThread(services, principal, threadId)
  const at = body.checkpoint?.checkpoint_id ?? body.checkpoint_id
  if (session && typeof at === 'string') {
    const { messages, run } = await contentOf(services, session)
    const isBusy = run?.status === 'pending' || run?.status === 'running'
    if (!isBusy && Number(at) !== messages.length)
      throw notOffered(
        ['body', 'checkpoint'],
        'a thread goes on from its end. Fork the session with POST /core/v1/sessions/{session_id}/fork',
      )
  }
  return toSource(body, threadId ?? request.sessionId, session !== undefined && session.messageCount > 0)
}

/** Decides the calls of the run that waits, which goes on under its own id. */
async function resume(services: Services, exchange: Exchange, body: RunBody, threadId: string): Promise<ThreadRun> {
  const { run, after } = await decide(services, exchange, body, threadId)
  const chat = followRun(services, exchange, ownRunKey(run, run.requestId))
  return { chat, threadId, requestId: nameRun(exchange.reply, threadId, run.requestId), after }
}

async function decide(
  services: Services,
  { request }: Exchange,
  { command }: RunBody,
  threadId: string,
): Promise<{ run: StoredRun; after: number }> {
  const principal = principalOf(request)
  await findThread(services, principal, threadId)
  const listed = await services.sessionRuns.newest(principal, threadId, 'interrupted')
  const run = listed && (await services.runStore.find(listed))
  if (!run) throw new ServiceError('not_interrupted', `No run of the thread ${threadId} waits.`)
  const part = await answerCalls(services, { principal, run, toDecisions: (calls) => toDecisions(command?.resume, calls) })
  return { run, after: lastReceived({ ...part, open: part.open.filter(({ by }) => by !== 'role') }) }
}

/** The messages of the session before the answers of the run. A run that has ended has its answer in the session. */
async function baseOf(services: Services, { run }: OpenChat, principal: Principal): Promise<LangChainMessage[]> {
  const session = await services.sessionStore.find(principal, run.sessionId, { anyOwner: false })
  const messages = session ? await services.sessionStore.messages(session.tenant, session.key) : []
  const answer = messages.findIndex(({ role, data }) => role === 'ai' && data?.requestId === run.requestId)
  const before = answer < 0 ? messages : messages.slice(0, answer)
  const base = toLangChainMessages(before)
  return before.some(({ role, content }) => role === 'human' && content === run.input)
    ? base
    : [...base, toHuman(`human:${before.length}`, run.input)]
}

async function sendThreadRun(
  services: Services,
  reply: FastifyReply,
  run: ThreadRun,
  modes: ReturnType<typeof modesOf>,
): Promise<FastifyReply> {
  const { threadId, requestId, after } = run
  const principal = principalOf(reply.request)
  const options = { threadId, requestId, modes }
  let projection = new LangGraphProjection({ ...options, base: [] })
  const prepare = async (): Promise<OpenChat> => {
    const chat = await run.chat
    projection = new LangGraphProjection({ ...options, base: await baseOf(services, chat, principal) })
    for (const [index, event] of chat.run.log.events.slice(0, after).entries()) projection.take(event, index + 1)
    return chat
  }
  return sendRun(reply, { chat: prepare() }, { after, render: () => toStream(projection, frameEvent), failsInStream: true })
}

/** The state of a thread when the run has ended, or waits. */
async function valuesOf(services: Services, { chat: opening }: ThreadRun, principal: Principal): Promise<object> {
  const chat = await opening
  const base = await baseOf(services, chat, principal)
  const { end, body } = await outcomeOf(chat)
  return toOutcome(chat, base, end, body.generated_artifacts)
}

function toOutcome({ run }: OpenChat, base: readonly LangChainMessage[], end: LastEvent, files: readonly object[]): object {
  const messages = new RunMessages(run.requestId, new Set(base.map(({ id }) => id)))
  for (const event of run.log.events.slice(0, run.log.events.length - 1)) messages.take(event)
  messages.last(end, files)
  const error = errorOf(end)
  return {
    messages: [...base, ...messages.messages],
    ...(end.type === 'interrupt' && { __interrupt__: toInterrupts(end.calls) }),
    ...(error && { __error__: toErrorData(error) }),
  }
}

/** Background runs: accepted as asynchronous chats. */
function createRoute(app: App, services: Services): void {
  app.post(
    `${prefix}/threads/:thread_id/runs`,
    { config: starting, schema: { ...unlisted, params: threadParams, body: RunBody } },
    async (request, reply) => {
      const exchange = { request, reply }
      const { body, params } = request
      const threadId = params.thread_id
      checkRun(body)
      nameSession(exchange, threadId)
      const requestId = isResume(body)
        ? (await decide(services, exchange, body, threadId)).run.requestId
        : await accept(services, exchange, body, threadId)
      return toRun(await findReadable(services.runStore, ownRunKey(principalOf(request), nameRun(reply, threadId, requestId))))
    },
  )
}

async function accept(services: Services, exchange: Exchange, body: RunBody, threadId: string): Promise<string> {
  const { request } = exchange
  const source = await sourceOf(services, exchange, body, threadId)
  const event = { source: 'langgraph', id: request.id, callbackUrl: undefined }
  await whenBusy(services, request, { body: source.body, at: source.at, event })
  const accepted = await services.runs.accept(principalOf(request), event, () => toNewChat(services.agent, request, 'chain_async', source))
  return accepted.requestId
}

const RunsQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  offset: Type.Integer({ minimum: 0, maximum: 900, default: 0 }),
  status: Type.Optional(Type.Enum(['pending', 'running', 'interrupted', 'success', 'error', 'timeout'])),
})

function listRoutes(app: App, services: Services): void {
  const url = `${prefix}/threads/:thread_id/runs`
  app.get(url, { config: reading, schema: { ...unlisted, params: threadParams, querystring: RunsQuery } }, async (request) => {
    const { limit, offset, status } = request.query
    const principal = principalOf(request)
    const { sessionId } = await findThread(services, principal, request.params.thread_id)
    const runs = await services.sessionRuns.list(principal, sessionId, { limit: offset + limit, status })
    return runs.slice(offset).map(toRun)
  })

  app.get(`${url}/:run_id`, { config: reading, schema: { ...unlisted, params: runParams } }, async (request) =>
    toRun(await findRun(services, request)),
  )
}

type RunRequest = FastifyRequest<{ Params: Type.Static<typeof runParams> }>

/** The caller's own run in the thread. Throws `not_found` also for a run of another thread. */
async function findRun({ runStore }: Pick<Services, 'runStore'>, request: RunRequest): Promise<StoredRun> {
  const { thread_id: threadId, run_id: runId } = request.params
  const key = ownRunKey(principalOf(request), runId)
  const run = await findReadable(runStore, key)
  if (run.sessionId !== threadId) throw noRun(key)
  return run
}

/** The modes of a client that joins a run without naming modes: what `useStream` reads. */
const joinModes = ['values', 'messages-tuple']

const JoinQuery = Type.Object({ stream_mode: Type.Optional(Type.Unknown()) })

function joinRoutes(app: App, services: Services): void {
  const url = `${prefix}/threads/:thread_id/runs/:run_id`
  const follow = async (exchange: Exchange, request: RunRequest, after: number): Promise<ThreadRun> => {
    const { requestId, sessionId, tenant, owner } = await findRun(services, request)
    nameRun(exchange.reply, sessionId, requestId)
    return { chat: followRun(services, exchange, { tenant, owner, requestId }), threadId: sessionId, requestId, after }
  }
  const schema = { ...unlisted, params: runParams }
  app.get(`${url}/join`, { config: reading, schema, exposeHeadRoute: false }, async (request, reply) =>
    valuesOf(services, await follow({ request, reply }, request, 0), principalOf(request)),
  )
  const streamed = { config: reading, schema: { ...schema, querystring: JoinQuery }, exposeHeadRoute: false }
  app.get(`${url}/stream`, streamed, async (request, reply) => {
    const modes = modesOf(request.query.stream_mode ?? joinModes, ['query', 'stream_mode'])
    // `-1` is the word of clients for the start.
    const isWhole = request.headers['last-event-id'] === '-1'
    const after = isWhole ? 0 : lastEventNumber(request, request.params.run_id)
    return sendThreadRun(services, reply, await follow({ request, reply }, request, after), modes)
  })
}

const CancelQuery = Type.Object({
  wait: Type.Optional(Type.Unknown()),
  action: Type.Optional(Type.Enum(['interrupt', 'rollback'])),
})

function cancelRoute(app: App, services: Services): void {
  const config = { access: accessTo.cancelRun, errorShape: langGraphErrors }
  const schema = { ...unlisted, params: runParams, querystring: CancelQuery }
  app.post(`${prefix}/threads/:thread_id/runs/:run_id/cancel`, { config, schema }, async (request, reply) => {
    if (request.query.action === 'rollback') throw notOffered(['query', 'action'], '`interrupt` ends the run and keeps its question')
    await services.runs.cancel(await findRun(services, request))
    return reply.code(204).send()
  })
}
