import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, type Reply } from '../../../test/fixtures/service-client.ts'
import type { Answer } from '../history/history.ts'
import type { ChatKind, ChatMode, Kind, OperationOf, SeenEvent } from '../history/operations.ts'
import { readEvents, send, toAnswer, waitOf, type Load } from './service.ts'

export interface NewChat {
  client: string
  requestId: string
  session: string
  position: number
  mode: ChatMode
  kind: ChatKind
  /** Further fields of the request. */
  fields?: object
}

/** Result of a chat for the client. `waits`: the id of a call without approval yet. */
export interface Result {
  outcome: 'ended' | 'accepted' | 'waits' | 'refused'
  waits?: string
}

/** Time for all attempts of a chat. The checker reports an acknowledged chat without an end. */
const patienceMs = 120_000
const timeoutMs = 60_000

/** Sends a chat until the service answers. */
export async function sendChat(chat: NewChat, load: Load): Promise<Result> {
  for (const until = Date.now() + patienceMs; Date.now() < until;) {
    const result = await attempts[chat.mode](chat, load)
    if (result) return result
    await sleep(100 + load.random() * 300)
  }
  return { outcome: 'refused' }
}

/** Each function makes one attempt; the result is undefined where another attempt is due. */
const attempts: Record<ChatMode, (chat: NewChat, load: Load) => Promise<Result | undefined>> = {
  json: async (chat, load) => toResult(await sendJson(chat, load)),
  async: async (chat, load) => toResult(await sendAsync(chat, load)),
  stream: sendStream,
}

function toResult({ status, result, error, reply }: OperationOf<'chat'>): Result | undefined {
  if (reply?.waits !== undefined) return { outcome: 'waits', waits: reply.waits }
  if (reply?.finish === 'cancelled') return { outcome: 'ended' }
  if (error === 'BudgetExceeded') return { outcome: 'refused' }
  if (result === 'ok') return { outcome: status === 200 && !reply?.finish ? 'accepted' : 'ended' }
  return result === 'unknown' || isRetryable(status, error) ? undefined : { outcome: 'refused' }
}

/** True if a refused request may succeed later. */
function isRetryable(status: number | undefined, error: string | undefined): boolean {
  return (status === 429 && error !== 'RateLimited' && error !== 'BudgetExceeded') || (status === 409 && error === 'SessionBusy')
}

export function recorded({ client, requestId, session, position, mode, kind }: NewChat, { caller }: Load) {
  return [client, 'chat', { requestId, session, mode, kind, position, caller: caller.name }] as const
}

export function requestOf({ requestId, session, kind, fields }: NewChat) {
  const headers = { 'request-id': requestId, 'session-id': session }
  return { headers, body: { messages: [{ role: 'user', content: `${requestId} ${kind}` }], ...fields } }
}

function sendJson(chat: NewChat, load: Load): Promise<OperationOf<'chat'>> {
  const { url, key, history } = load.caller
  const { headers, body } = requestOf(chat)
  return history.record(...recorded(chat, load), async () => {
    return toJsonAnswer(await createClient(url, key).chat(body, headers, AbortSignal.timeout(timeoutMs)))
  })
}

export function toJsonAnswer(reply: Reply): Answer<'chat'> {
  const answer = toAnswer<'chat'>(reply)
  if (reply.status === 200) return { ...answer, reply: { output: reply.body.body.output, finish: 'stop' } }
  const waits = waitOf(reply.body ?? {})
  if (reply.status === 202) return { ...answer, reply: { finish: 'approval_required', waits } }
  // An accepted chat was cancelled.
  return answer.error === 'Cancelled' ? { ...answer, result: 'unknown', reply: { finish: 'cancelled' } } : withDoubt(answer)
}

/**
 * A run that a budget has refused in the middle, before the first text, is stored; a run that was refused at the begin is not. A repeat
 * with a refusal in the middle removes the events of the attempt before.
 */
function withDoubt<K extends Kind>(answer: Answer<K>): Answer<K> {
  return answer.error === 'BudgetExceeded' ? { ...answer, result: 'unknown' } : answer
}

/** Sends the request for the stream, and continues the stream where the connection breaks. */
async function sendStream(chat: NewChat, load: Load): Promise<Result | undefined> {
  const { headers, body } = requestOf(chat)
  const { url, key, history } = load.caller
  let second: Promise<unknown> | undefined
  const startSecond = () => {
    if (load.random() < 0.3)
      second = follow({ requestId: chat.requestId, reader: `${chat.client} second`, after: 0 }, load, { client: `${chat.client} second` })
  }
  const sent = await history.record(...recorded(chat, load), async () => {
    const stream = await createClient(url, key).stream(body, headers)
    const answer = toAnswer<'chat'>(stream)
    if (stream.status !== 200) return withDoubt(answer)
    return withEnd(answer, await readEvents(stream, { requestId: chat.requestId, after: 0 }, startSecond))
  })
  const events = sent.reply?.events ?? []
  if (events.length === 0) return toResult(sent)
  const result = await continueStream(chat, load, sent)
  await second
  return result
}

async function continueStream(chat: NewChat, load: Load, { reply }: OperationOf<'chat'>): Promise<Result | undefined> {
  const { requestId, client } = chat
  if (reply?.waits !== undefined) return { outcome: 'waits', waits: reply.waits }
  const last = reply!.events!.at(-1)!
  if (last.finish !== undefined) return last.finish === 'error' ? undefined : { outcome: 'ended' }
  const { finish, waits } = await follow({ requestId, reader: client, after: last.number }, load, { client })
  if (waits !== undefined) return { outcome: 'waits', waits }
  return finish === 'error' ? undefined : { outcome: 'ended' }
}

/** A broken stream has an unknown result. */
function withEnd<T extends { events: SeenEvent[] }>(answer: object, reply: T) {
  const isWhole = reply.events.at(-1)?.finish !== undefined
  return { ...answer, reply, ...(isWhole ? {} : { result: 'unknown' as const }) }
}

export interface Position {
  requestId: string
  reader: string
  /** Number of the reader's last event. */
  after: number
}

/** Reads a run's events to the end, or to the next approval, over any number of connections. */
export async function follow(
  { requestId, reader, after }: Position,
  { caller, random }: Load,
  { client, isBeyondPause = false }: { client: string; isBeyondPause?: boolean },
): Promise<{ finish?: string; waits?: string }> {
  const { url, key, history } = caller
  let at = after
  let id = `${requestId}:${at}`
  const keepId = (last: string) => void (id = last)
  for (const until = Date.now() + patienceMs; Date.now() < until; await sleep(50 + random() * 100)) {
    const operation = await history.record(client, 'follow', { requestId, reader, after: at }, async () => {
      const stream = await createClient(url, key).follow(requestId, at === 0 ? undefined : id)
      const answer = withDoubt(toAnswer<'follow'>(stream))
      if (stream.status === 204) return { ...answer, reply: { events: [] } }
      return stream.status === 200 ? withEnd(answer, await readEvents(stream, { requestId, after: at }, undefined, keepId)) : answer
    })
    const { status, error, reply } = operation
    if (status === 204) return { finish: 'stop' }
    if (status === 404 || status === 410) return { finish: 'gone' }
    // The run failed before the first event.
    if (error === 'ProcessLost' || error === 'ModelUnavailable' || error === 'BudgetExceeded') return { finish: 'error' }
    const last = reply?.events.at(-1)
    if (!last) continue
    at = last.number
    if (reply?.waits !== undefined && !isBeyondPause) return { finish: last.finish!, waits: reply.waits }
    if (last.finish !== undefined && last.finish !== 'approval_required') return { finish: last.finish }
  }
  return {}
}

async function sendAsync(chat: NewChat, load: Load): Promise<OperationOf<'chat'>> {
  const { headers, body } = requestOf(chat)
  const envelope = {
    specversion: '1.0',
    type: 'ai.service.agent.chain',
    source: 'urn:chaos',
    id: chat.requestId,
    time: new Date().toISOString(),
  }
  const request = {
    method: 'POST',
    path: '/core/v1/chain_async',
    headers,
    body: { ...envelope, data: { ...body, callback_url: load.callbackUrl } },
  }
  const [client, kind, args] = recorded(chat, load)
  return send(load.caller, [client, kind, args], request, () => ({}))
}
