import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, outputOf, type Client, type OpenStream, type StreamEvent } from '../test/fixtures/service-client.ts'
import type { ChatKind } from './outside.ts'

export type Way = 'json' | 'stream' | 'async'

/** One chat, and what its client was told. */
export interface Chat {
  requestId: string
  session: string
  /** Whose it is, and which of theirs in that session: they are sent one after another. */
  sender: number
  n: number
  kind: ChatKind
  way: Way
  text: string
  /** The service said that it has it, or answered it. */
  isAcknowledged: boolean
  /** Its client asked for its end, and was told that it was done. */
  isCancelled: boolean
  /** What its client saw in the end. */
  output: string | undefined
  /** Requests that it took. */
  tries: number
}

export interface Load {
  url: string
  key: string
  callbackUrl: string
  random(): number
  /** False: what fails is not tried again, and counts. */
  repeats: boolean
  /** What must never be. */
  faults: string[]
  /** False once the load is to end. */
  goesOn(): boolean
}

const kinds: readonly ChatKind[] = ['talk', 'talk', 'read', 'write', 'write', 'both']
const ways: readonly Way[] = ['json', 'stream', 'async']
/** A chat that has no answer by then has none. */
const patienceMs = 120_000
const timeoutMs = 60_000

/** One client: a chat after another, in a session of its own or in one that it shares. */
export async function sendChats(sender: number, load: Load): Promise<Chat[]> {
  const client = createClient(load.url, load.key)
  const chats: Chat[] = []
  while (load.goesOn()) {
    const chat = newChat(sender, chats, load)
    chats.push(chat)
    try {
      await send[chat.way](chat, client, load)
    } catch (error) {
      load.faults.push(`${describe(chat)}: ${error instanceof Error ? error.message : String(error)}`)
    }
    await sleep(load.random() * 60)
  }
  return chats
}

export function describe({ requestId, way, kind, session }: Chat): string {
  return `${requestId} (${way}, ${kind}, session ${session})`
}

function newChat(sender: number, earlier: readonly Chat[], { random }: Load): Chat {
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  const session = random() < 0.25 ? `shared-${Math.floor(random() * 2)}` : `own-${sender}`
  const requestId = `r-${sender}-${earlier.length}-${randomUUID().slice(0, 6)}`
  const kind = pick(kinds)
  const n = earlier.filter((one) => one.session === session).length
  const known = { isAcknowledged: false, isCancelled: false, output: undefined, tries: 0 }
  return { requestId, session, sender, n, kind, way: pick(ways), text: `${requestId} ${kind}`, ...known }
}

const send: Record<Way, (chat: Chat, client: Client, load: Load) => Promise<void>> = { json, stream, async }

function bodyOf(chat: Chat, { random }: Load): object {
  const stays = random() < 0.5 ? { on_disconnect: 'continue' } : {}
  return { messages: [{ role: 'user', content: chat.text }], ...stays }
}

function headersOf({ requestId, session }: Chat): Record<string, string> {
  return { 'request-id': requestId, 'session-id': session }
}

/** Tries until `attempt` answers with something; a load that repeats nothing tries once. */
async function repeat<T>(chat: Chat, load: Load, attempt: () => Promise<T | undefined>): Promise<T | undefined> {
  for (const until = Date.now() + patienceMs; ;) {
    chat.tries++
    const answer = await attempt()
    if (answer !== undefined) return answer
    if (!load.repeats) throw new Error('it failed, and was not tried again')
    if (Date.now() > until) throw new Error(`no answer in ${patienceMs / 1000} s`)
    await sleep(100 + load.random() * 300)
  }
}

/** Refusals that say: later. */
function isLater(status: number, type: string | undefined): boolean {
  return status >= 500 || status === 429 || (status === 409 && type === 'SessionBusy')
}

async function json(chat: Chat, client: Client, load: Load): Promise<void> {
  const body = bodyOf(chat, load)
  await repeat(chat, load, async () => {
    const reply = await client.chat(body, headersOf(chat), AbortSignal.timeout(timeoutMs)).catch(() => undefined)
    if (reply?.status === 200) {
      chat.isAcknowledged = true
      chat.output = reply.body.body.output
      return true
    }
    if (reply && !isLater(reply.status, reply.body?.details?.error_type)) throw new Error(`answered ${reply.status} ${reply.text}`)
    if (reply && !load.repeats) throw new Error(`answered ${reply.status} ${reply.text}`)
    return undefined
  })
}

async function stream(chat: Chat, client: Client, load: Load): Promise<void> {
  const body = bodyOf(chat, load)
  const seen: StreamEvent[] = []
  const tellFault = (error: Error) => void load.faults.push(`${describe(chat)}: ${error.message}`)
  const second = load.random() < 0.3 ? readBeside(chat, client, load).catch(tellFault) : undefined
  await repeat(chat, load, async () => {
    const last = seen.at(-1)?.id
    const opened = await (last === undefined ? client.stream(body, headersOf(chat)) : client.follow(chat.requestId, last)).catch(
      () => undefined,
    )
    if (!opened) return undefined
    if (opened.status !== 200) {
      if (!isLater(opened.status, opened.body?.details?.error_type))
        throw new Error(`answered ${opened.status} ${JSON.stringify(opened.body)}`)
      return undefined
    }
    const how = await readOn(opened, seen, chat, load)
    // It is sent again: its run goes on from its checkpoint, and is told from its first number.
    if (how === 'failed') seen.length = 0
    return how === 'ended' ? true : undefined
  })
  chat.output = outputOf(seen)
  await second
}

/** Reads as far as it goes: to the last chunk, to that of a run that failed by what may be better next time, or until it breaks off. */
async function readOn(opened: OpenStream, seen: StreamEvent[], chat: Chat, load: Load): Promise<'ended' | 'failed' | 'broken'> {
  try {
    for (let event = await opened.next(); event; event = await opened.next()) {
      take(event, seen, chat)
      chat.isAcknowledged = true
      const { finish_reason: reason, error } = event.chunk
      if (reason === 'null') continue
      if (reason !== 'error' || !isLater(error?.status_code ?? 0, error?.details?.['error_type'])) return 'ended'
      if (!load.repeats) throw new Error(`ended with ${JSON.stringify(error)}`)
      return 'failed'
    }
  } catch (error) {
    if (error instanceof Gap) throw error
    if (!load.repeats) throw error
  }
  return 'broken'
}

class Gap extends Error {}

/** Numbers have no gap; a run that went on from a checkpoint may go back to it, with a chunk that says so. */
function take(event: StreamEvent, seen: StreamEvent[], chat: Chat): void {
  const number = numberOf(event)
  const before = seen.length === 0 ? 0 : numberOf(seen.at(-1)!)
  if (event.chunk.agent_step === 'retrying' && number <= before) {
    while (seen.length > 0 && numberOf(seen.at(-1)!) >= number) seen.pop()
  } else if (number !== before + 1) throw new Gap(`event ${event.id} came behind number ${before}`)
  if (!event.id.startsWith(`${chat.requestId}:`)) throw new Gap(`event ${event.id} is of another run`)
  seen.push(event)
}

function numberOf({ id }: StreamEvent): number {
  return Number(id.slice(id.lastIndexOf(':') + 1))
}

/** A second reader, which most likely meets another replica. */
async function readBeside(chat: Chat, client: Client, load: Load): Promise<void> {
  const seen: StreamEvent[] = []
  for (const until = Date.now() + patienceMs; Date.now() < until;) {
    await sleep(50)
    const opened = await client.follow(chat.requestId, seen.at(-1)?.id).catch(() => undefined)
    if (opened?.status !== 200) continue
    if ((await readOn(opened, seen, { ...chat }, { ...load, repeats: true })) !== 'broken') return
  }
  throw new Error('a second reader never saw its end')
}

async function async(chat: Chat, client: Client, load: Load): Promise<void> {
  const data = { messages: [{ role: 'user', content: chat.text }], callback_url: load.callbackUrl }
  const envelope = { specversion: '1.0', type: 'ai.service.agent.chain', source: 'urn:chaos', id: chat.requestId, data }
  const time = new Date().toISOString()
  await repeat(chat, load, async () => {
    const reply = await client
      .request('POST', '/core/v1/chain_async', { body: { ...envelope, time }, headers: headersOf(chat) })
      .catch(() => undefined)
    if (reply?.status === 200) return (chat.isAcknowledged = true)
    if (reply && !isLater(reply.status, reply.body?.details?.error_type)) throw new Error(`answered ${reply.status} ${reply.text}`)
    return undefined
  })
  if (load.repeats && load.random() < 0.1) await cancel(chat, client, load)
}

async function cancel(chat: Chat, client: Client, load: Load): Promise<void> {
  await sleep(load.random() * 500)
  await repeat(chat, load, async () => {
    const reply = await client.request('DELETE', `/core/v1/runs/${chat.requestId}`).catch(() => undefined)
    if (reply?.status === 409) return true
    if (reply?.status === 200) return (chat.isCancelled = true)
    if (reply && !isLater(reply.status, undefined)) throw new Error(`its cancellation was answered ${reply.status} ${reply.text}`)
    return undefined
  })
}
