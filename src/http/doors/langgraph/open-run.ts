import { randomUUIDv7 } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { invalid, ServiceError } from '../../../errors.ts'
import type { Approvals } from '../../../runs/approvals/approvals.ts'
import { answerCalls, storedEvents } from '../../../runs/parts.ts'
import type { StoredRun } from '../../../runs/run-store.ts'
import type { SessionChanges } from '../../../sessions/session-changes.ts'
import { ownRunKey } from '../../named-runs.ts'
import { followRun, type Exchange, type OpenChat } from '../../reader.ts'
import { type LastReceived, nothingReceived, receivedBefore } from '../../send-run.ts'
import { principalOf } from '../../server/authenticate.ts'
import { isId, setSessionId } from '../../server/request-headers.ts'
import { openChat, toNewChat, whenBusy, type ChatServices, type ChatSource } from '../core/open-chat.ts'
import { findState, findThread, fork, isOfThread, lookUpThread, type State, type Thread, type ThreadServices } from './branches.ts'
import { checkpointOf, checkRun, commandOf, type RunBody, toSource } from './input.ts'
import { toDecisions } from './interrupts.ts'

export interface RunServices extends ThreadServices, ChatServices {
  approvals: Pick<Approvals, 'decide'>
  changes: Pick<SessionChanges, 'fork' | 'remove'>
}

/** A run that a client reads. */
export interface ThreadRun {
  chat: Promise<OpenChat>
  threadId: string
  requestId: string
  /** What the client has of the run. */
  received: LastReceived
  /** True for a run that the client has ended: the end is no error. */
  isQuiet?: boolean
}

/** Starts the run of a request, or goes on with the run that waits in its thread. Without a thread, the run has a session of its own. */
export async function openThreadRun(services: RunServices, exchange: Exchange, body: RunBody, pathThread?: string): Promise<ThreadRun> {
  checkRun(body)
  if (pathThread === undefined && commandOf(body)) throw invalid(['body', 'command'], 'needs a thread')
  if (pathThread !== undefined && commandOf(body)) {
    const { run, ...ended } = await command(services, exchange, body, pathThread)
    const chat = followRun(services, exchange, ownRunKey(run, run.requestId))
    return { chat, threadId: pathThread, requestId: nameRun(exchange.reply, pathThread, run.requestId), ...ended }
  }
  const { request } = exchange
  const threadId = pathThread ?? randomUUIDv7()
  const runPlace = pathThread === undefined ? ownPlace(body, threadId) : await placeOf(services, exchange, body, pathThread)
  const unstored = pathThread === undefined && body.on_completion !== 'keep' ? ({ unstored: 'session' } as const) : {}
  const chat = inPlace(services, exchange, runPlace, async (source) => {
    await whenBusy(services, request, { body: source.body, at: source.at })
    return openChat(services, { ...exchange, operation: 'chain_streaming', source: { ...source, ...unstored } }).chat
  })
  return { chat, threadId, requestId: nameRun(exchange.reply, threadId, request.id), received: nothingReceived }
}

/** Accepts the run of a request in the background, or goes on with the run that waits, and returns the request id. */
export async function acceptRun(services: RunServices, exchange: Exchange, body: RunBody, threadId: string): Promise<string> {
  checkRun(body)
  const { request, reply } = exchange
  if (commandOf(body)) return nameRun(reply, threadId, (await command(services, exchange, body, threadId)).run.requestId)
  const runPlace = await placeOf(services, exchange, body, threadId)
  const event = { source: 'langgraph', id: request.id, callbackUrl: undefined }
  const { requestId } = await inPlace(services, exchange, runPlace, async (source) => {
    await whenBusy(services, request, { body: source.body, at: source.at, event })
    return services.runs.accept(principalOf(request), event, () => toNewChat(services.agent, request, 'chain_async', source))
  })
  return nameRun(reply, threadId, requestId)
}

/** The session of a new run, or the state behind which the thread is branched first, and the chat. */
type Place = { source: ChatSource } & (
  | { sessionId: string; fork?: undefined }
  | { fork: { thread: Thread; state: Pick<State, 'session' | 'content' | 'index'> } }
)

function ownPlace(body: RunBody, sessionId: string): Place {
  return { source: toSource(body, false), sessionId }
}

async function placeOf(services: RunServices, { request }: Exchange, body: RunBody, threadId: string): Promise<Place> {
  const principal = principalOf(request)
  const thread = await lookUpThread(services, principal, threadId)
  if (!thread) {
    if (body.if_not_exists !== 'create') await findThread(services, principal, threadId)
    return ownPlace(body, threadId)
  }
  // A repeated request stays in the session of the first request.
  const earlier = isId(request.headers['request-id']) ? await services.runStore.find(ownRunKey(principal, request.id)) : undefined
  if (earlier && isOfThread(earlier.sessionId, threadId))
    return { source: toSource(body, (earlier.messageIndex ?? 0) > 0), sessionId: earlier.sessionId }
  const checkpoint = checkpointOf(body)
  const { sessionId, messageCount } = thread.head
  if (checkpoint === undefined) return { source: toSource(body, messageCount > 0), sessionId }
  return placeAt(body, thread, await findState(services, thread, checkpoint, ['body', 'checkpoint']))
}

/** A run from a checkpoint. Without a message, the question of the checkpoint is asked again. */
function placeAt(body: RunBody, thread: Thread, state: State): Place {
  const { session, content, index } = state
  const last = index > content.stored.length ? undefined : content.stored[index - 1]
  const isAsked = [body.input?.messages ?? []].flat().length > 0
  const repeated = isAsked || last?.role !== 'human' ? undefined : last
  if (repeated?.data?.images ?? repeated?.data?.files ?? repeated?.data?.contextFiles)
    throw invalid(['body', 'input', 'messages'], 'must have the question, because it has images or files: they are not sent again')
  const source = toSource(body, repeated ? index > 1 : index > 0, repeated?.content)
  const isLast = index === content.ends.length - 1
  if (isLast && !repeated) return { source, sessionId: session.sessionId }
  return {
    source,
    fork: { thread, state: { session, content, index: repeated ? index - 1 : Math.min(index, content.stored.length) } },
  }
}

/** Makes the branch of a place, and starts the run there. A branch whose run cannot start is removed. */
async function inPlace<T>(
  services: RunServices,
  exchange: Exchange,
  runPlace: Place,
  start: (source: ChatSource) => Promise<T>,
): Promise<T> {
  const { source } = runPlace
  const principal = principalOf(exchange.request)
  if (!runPlace.fork) {
    nameSession(exchange, runPlace.sessionId)
    return start(source)
  }
  const { thread, state } = runPlace.fork
  await leave(services, thread)
  const sessionId = await fork(services, principal, thread, state)
  nameSession(exchange, sessionId)
  return start(source).catch(async (error: unknown) => {
    // The refusal of the run matters more than a branch that stays.
    await services.changes.remove(principal, sessionId).catch(() => undefined)
    throw error
  })
}

/** The run of the head ends before a branch becomes the head: a run that waits is cancelled, and a run that goes on is not left behind. */
async function leave({ sessionRuns, runs }: RunServices, { threadId, head }: Thread): Promise<void> {
  const waiting = await sessionRuns.newest(head, head.sessionId, 'interrupted')
  const run = waiting ?? (await sessionRuns.newest(head, head.sessionId))
  if (run?.status === 'pending' || run?.status === 'running')
    throw new ServiceError(
      'session_busy',
      `A run of the thread ${threadId} goes on: wait for its end, or cancel the run, and start from the checkpoint then.`,
    )
  if (waiting) await runs.cancel(waiting)
}

/** The path names the session, whatever the headers say. */
function nameSession({ request, reply }: Exchange, sessionId: string): void {
  request.headers['session-id'] = sessionId
  setSessionId(request, reply, sessionId)
}

/** Names the run for the client, by paths below its `apiUrl`. */
export function nameRun(reply: FastifyReply, threadId: string, requestId: string): string {
  const path = `/threads/${threadId}/runs/${requestId}`
  void reply.headers({ 'content-location': path, location: `${path}/stream` })
  return requestId
}

/** Decides the calls of the run that waits, which goes on under its own id, or cancels the run. */
async function command(
  services: RunServices,
  exchange: Exchange,
  body: RunBody,
  threadId: string,
): Promise<Pick<ThreadRun, 'received' | 'isQuiet'> & { run: StoredRun }> {
  const principal = principalOf(exchange.request)
  const { head } = await findThread(services, principal, threadId)
  nameSession(exchange, head.sessionId)
  const listed = await services.sessionRuns.newest(principal, head.sessionId, 'interrupted')
  const run = listed && (await services.runStore.find(listed))
  if (!run) throw new ServiceError('not_interrupted', `No run of the thread ${threadId} waits.`)
  if (commandOf(body) === 'end') {
    await services.runs.cancel(run)
    return { run, received: { after: storedEvents(run).length, mark: 'own' }, isQuiet: true }
  }
  const part = await answerCalls(services, { principal, run, toDecisions: (calls) => toDecisions(body.command?.resume, calls) })
  return { run, received: receivedBefore({ ...part, open: part.open.filter(({ by }) => by !== 'role') }) }
}
