import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, outputOf, type Client, type OpenStream, type StreamEvent } from '../test/fixtures/service-client.ts'
import type { ChatKind } from './outside.ts'

export type ChatMode = 'json' | 'stream' | 'async'

/** Chat with the result seen by its client. */
export interface Chat {
  requestId: string
  session: string
  /** Number of the client, and position among the chats of the client in the session. A client sends its chats sequentially. */
  sender: number
  position: number
  kind: ChatKind
  mode: ChatMode
  text: string
  /** True once the service has accepted or answered the chat. */
  isAcknowledged: boolean
  /** True once the service has confirmed the cancellation of the chat by its client. */
  isCancelled: boolean
  /** Final output received by the client. */
  output: string | undefined
  /** Number of requests sent for the chat. */
  tries: number
}

export interface Load {
  url: string
  key: string
  callbackUrl: string
  random(): number
  /** True if failed requests are retried. Without retries, every failure is a violation. */
  retries: boolean
  /** Violated guarantees, as texts. */
  violations: string[]
  /** Returns false when clients must stop sending. */
  isActive(): boolean
}

const kinds: readonly ChatKind[] = ['talk', 'talk', 'read', 'write', 'write', 'both']
const modes: readonly ChatMode[] = ['json', 'stream', 'async']
/** Time until an unanswered chat counts as lost, in milliseconds. */
const patienceMs = 120_000
const timeoutMs = 60_000

/** Runs a client that sends chats sequentially, in a private or shared session. Returns all chats. */
export async function sendChats(sender: number, load: Load): Promise<Chat[]> {
  const client = createClient(load.url, load.key)
  const chats: Chat[] = []
  while (load.isActive()) {
    const chat = newChat(sender, chats, load)
    chats.push(chat)
    try {
      await send[chat.mode](chat, client, load)
    } catch (error) {
      load.violations.push(`${describe(chat)}: ${error instanceof Error ? error.message : String(error)}`)
    }
    await sleep(load.random() * 60)
  }
  return chats
}

export function describe({ requestId, mode, kind, session }: Chat): string {
  return `${requestId} (${mode}, ${kind}, session ${session})`
}

function newChat(sender: number, earlier: readonly Chat[], { random }: Load): Chat {
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  const session = random() < 0.25 ? `shared-${Math.floor(random() * 2)}` : `own-${sender}`
  const requestId = `r-${sender}-${earlier.length}-${randomUUID().slice(0, 6)}`
  const kind = pick(kinds)
  const position = earlier.filter((earlierChat) => earlierChat.session === session).length
  const initialState = { isAcknowledged: false, isCancelled: false, output: undefined, tries: 0 }
  return { requestId, session, sender, position, kind, mode: pick(modes), text: `${requestId} ${kind}`, ...initialState }
}

const send: Record<ChatMode, (chat: Chat, client: Client, load: Load) => Promise<void>> = { json, stream, async }

function bodyOf(chat: Chat, { random }: Load): object {
  const disconnectFields = random() < 0.5 ? { on_disconnect: 'continue' } : {}
  return { messages: [{ role: 'user', content: chat.text }], ...disconnectFields }
}

function headersOf({ requestId, session }: Chat): Record<string, string> {
  return { 'request-id': requestId, 'session-id': session }
}

/** Calls `attempt` until the result is not undefined; only once without `load.retries`. */
async function retryUntilAnswered<T>(chat: Chat, load: Load, attempt: () => Promise<T | undefined>): Promise<T | undefined> {
  for (const until = Date.now() + patienceMs; ;) {
    chat.tries++
    const answer = await attempt()
    if (answer !== undefined) return answer
    if (!load.retries) throw new Error('the request failed, and retries are off')
    if (Date.now() > until) throw new Error(`no answer within ${patienceMs / 1000} s`)
    await sleep(100 + load.random() * 300)
  }
}

/** Returns true if a refused request may succeed later. */
function isRetryable(status: number, type: string | undefined): boolean {
  return status >= 500 || status === 429 || (status === 409 && type === 'SessionBusy')
}

async function json(chat: Chat, client: Client, load: Load): Promise<void> {
  const body = bodyOf(chat, load)
  await retryUntilAnswered(chat, load, async () => {
    const reply = await client.chat(body, headersOf(chat), AbortSignal.timeout(timeoutMs)).catch(() => undefined)
    if (reply?.status === 200) {
      chat.isAcknowledged = true
      chat.output = reply.body.body.output
      return true
    }
    if (reply && !isRetryable(reply.status, reply.body?.details?.error_type))
      throw new Error(`answered with status ${reply.status}: ${reply.text}`)
    if (reply && !load.retries) throw new Error(`answered with status ${reply.status}: ${reply.text}`)
    return undefined
  })
}

async function stream(chat: Chat, client: Client, load: Load): Promise<void> {
  const body = bodyOf(chat, load)
  const events: StreamEvent[] = []
  const recordViolation = (error: Error) => void load.violations.push(`${describe(chat)}: ${error.message}`)
  const second = load.random() < 0.3 ? readAsSecondClient(chat, client, load).catch(recordViolation) : undefined
  await retryUntilAnswered(chat, load, async () => {
    const last = events.at(-1)?.id
    const opened = await (last === undefined ? client.stream(body, headersOf(chat)) : client.follow(chat.requestId, last)).catch(
      () => undefined,
    )
    if (!opened) return undefined
    if (opened.status !== 200) {
      if (!isRetryable(opened.status, opened.body?.details?.error_type))
        throw new Error(`answered with status ${opened.status}: ${JSON.stringify(opened.body)}`)
      return undefined
    }
    const result = await readEvents(opened, events, chat, load)
    // The next attempt sends the chat again: the run resumes from its checkpoint, and its events start at number 1.
    if (result === 'failed') events.length = 0
    return result === 'ended' ? true : undefined
  })
  chat.output = outputOf(events)
  await second
}

/** Reads a stream until the last chunk (`ended`), a retryable error (`failed`), or a lost connection (`broken`). */
async function readEvents(opened: OpenStream, events: StreamEvent[], chat: Chat, load: Load): Promise<'ended' | 'failed' | 'broken'> {
  try {
    for (let event = await opened.next(); event; event = await opened.next()) {
      appendEvent(event, events, chat)
      chat.isAcknowledged = true
      const { finish_reason: reason, error } = event.chunk
      if (reason === 'null') continue
      if (reason !== 'error' || !isRetryable(error?.status_code ?? 0, error?.details?.['error_type'])) return 'ended'
      if (!load.retries) throw new Error(`ended with ${JSON.stringify(error)}`)
      return 'failed'
    }
  } catch (error) {
    if (error instanceof EventGapError) throw error
    if (!load.retries) throw error
  }
  return 'broken'
}

/** Events with missing or wrong numbers. Never retried. */
class EventGapError extends Error {}

/** Appends an event, checking that numbers have no gap. A run resumed from a checkpoint may go back in numbers with a `retrying` chunk. */
function appendEvent(event: StreamEvent, events: StreamEvent[], chat: Chat): void {
  const number = numberOf(event)
  const before = events.length === 0 ? 0 : numberOf(events.at(-1)!)
  if (event.chunk.agent_step === 'retrying' && number <= before) {
    while (events.length > 0 && numberOf(events.at(-1)!) >= number) events.pop()
  } else if (number !== before + 1) throw new EventGapError(`event ${event.id} follows number ${before}`)
  if (!event.id.startsWith(`${chat.requestId}:`)) throw new EventGapError(`event ${event.id} belongs to another run`)
  events.push(event)
}

function numberOf({ id }: StreamEvent): number {
  return Number(id.slice(id.lastIndexOf(':') + 1))
}

/** Follows the run as a second reader, usually through another replica. */
async function readAsSecondClient(chat: Chat, client: Client, load: Load): Promise<void> {
  const events: StreamEvent[] = []
  for (const until = Date.now() + patienceMs; Date.now() < until;) {
    await sleep(50)
    const opened = await client.follow(chat.requestId, events.at(-1)?.id).catch(() => undefined)
    if (opened?.status !== 200) continue
    if ((await readEvents(opened, events, { ...chat }, { ...load, retries: true })) !== 'broken') return
  }
  throw new Error('a second reader never received the last event')
}

async function async(chat: Chat, client: Client, load: Load): Promise<void> {
  const data = { messages: [{ role: 'user', content: chat.text }], callback_url: load.callbackUrl }
  const envelope = { specversion: '1.0', type: 'ai.service.agent.chain', source: 'urn:chaos', id: chat.requestId, data }
  const time = new Date().toISOString()
  await retryUntilAnswered(chat, load, async () => {
    const reply = await client
      .request('POST', '/core/v1/chain_async', { body: { ...envelope, time }, headers: headersOf(chat) })
      .catch(() => undefined)
    if (reply?.status === 200) return (chat.isAcknowledged = true)
    if (reply && !isRetryable(reply.status, reply.body?.details?.error_type))
      throw new Error(`answered with status ${reply.status}: ${reply.text}`)
    return undefined
  })
  if (load.retries && load.random() < 0.1) await cancel(chat, client, load)
}

async function cancel(chat: Chat, client: Client, load: Load): Promise<void> {
  await sleep(load.random() * 500)
  await retryUntilAnswered(chat, load, async () => {
    const reply = await client.request('DELETE', `/core/v1/runs/${chat.requestId}`).catch(() => undefined)
    if (reply?.status === 409) return true
    if (reply?.status === 200) return (chat.isCancelled = true)
    if (reply && !isRetryable(reply.status, undefined))
      throw new Error(`the cancellation was answered with status ${reply.status}: ${reply.text}`)
    return undefined
  })
}
