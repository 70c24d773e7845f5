import type { Client, Reply } from '../../test/fixtures/service-client.ts'

/** Data that the service has acknowledged and must have, and data that the service may have stored. */
export interface Ledger {
  chats: Chat[]
  uploads: { id: string; text: string }[]
  /** Descriptions of the agent in the order of the changes. */
  descriptions: { text: string; isAcknowledged: boolean }[]
  /** Answers that are no clear error. */
  unclear: string[]
  /** Clear errors. */
  refusals: number
}

export interface Chat {
  requestId: string
  sessionId: string
  mode: Mode
  question: string
  /** A part of the right answer. */
  answer: string
  isAcknowledged: boolean
  /** Text of the file that the chat writes. */
  file?: string
}

const modes = ['json', 'stream', 'async', 'file'] as const
type Mode = (typeof modes)[number]

export function createLedger(): Ledger {
  return { chats: [], uploads: [], descriptions: [], unclear: [], refusals: 0 }
}

/**
 * Twenty-five chats of four kinds, an upload and a change of the configuration: always the same calls. `name` makes the ids. What
 * is refused is sent once more with the same request id, as a client does.
 */
export async function runScript(client: Client, name: string, ledger: Ledger): Promise<void> {
  await runChats(client, name, ledger)
  const description = { text: `Answers questions (${name}).`, isAcknowledged: false }
  ledger.descriptions.push(description)
  await twice(ledger, async () => {
    const reply = await client.request('PUT', '/core/v1/agent/config', { body: { configuration: { description: description.text } } })
    description.isAcknowledged ||= reply.status < 300
    return reply
  })
}

/** The chats and the upload of the script, which may run beside those of other names. */
export async function runChats(client: Client, name: string, ledger: Ledger): Promise<void> {
  for (let index = 0; index < 20; index++) {
    for (const chat of newChats(name, index)) {
      ledger.chats.push(chat)
      await twice(ledger, async () => {
        const reply = await send(client, chat)
        chat.isAcknowledged ||= reply.status < 300
        return reply
      })
      // Without its order, a yes is about nothing.
      if (!chat.isAcknowledged) break
    }
  }
  await twice(ledger, () => upload(client, name, ledger))
}

/** A new session with one chat, or for a file with the order and the yes that the embedded model asks for. */
function newChats(name: string, index: number): Chat[] {
  const mode = modes[index % modes.length]!
  const ids = { requestId: `${name}-${index}`, sessionId: `${name}-s${index % 3}`, mode, isAcknowledged: false }
  if (mode === 'file') {
    const [file, answer] = [`Note ${name} ${index}`, `note-${index}.txt`]
    const order = { ...ids, sessionId: `${name}-f${index}`, question: `Write "${file}" to a file ${answer}`, answer }
    return [order, { ...order, requestId: `${order.requestId}-yes`, question: 'Yes', file }]
  }
  const number = 1000 + index
  return [{ ...ids, question: `What is ${number} + ${number}?`, answer: String(2 * number) }]
}

async function send(client: Client, { mode, question, requestId, sessionId }: Chat): Promise<Answer> {
  const headers = { 'request-id': requestId, 'session-id': sessionId }
  const body = { messages: [{ role: 'user', content: question }] }
  if (mode === 'async') return client.request('POST', '/core/v1/chain_async', { body: event(requestId, body), headers })
  if (mode !== 'stream') return client.chat(body, headers)
  const stream = await client.stream(body, headers)
  if (stream.status >= 300) return { status: stream.status, headers: stream.headers, text: JSON.stringify(stream.body) }
  const last = (await stream.rest()).at(-1)?.chunk
  if (last?.finish_reason === 'stop') return { status: 200, headers: stream.headers, text: '' }
  // An error inside of a stream says the status that a reply would have had.
  return {
    status: last?.error?.status_code ?? 0,
    headers: new Headers({ 'retry-after': '1' }),
    text: JSON.stringify(last?.error ?? last ?? ''),
  }
}

type Answer = Pick<Reply, 'status' | 'headers' | 'text'>

function event(id: string, data: object): object {
  return { specversion: '1.0', type: 'ai.service.agent.chain', source: 'urn:agent-core:disk', id, data }
}

async function upload(client: Client, name: string, ledger: Ledger): Promise<Reply> {
  const text = `Upload ${name}`
  const part = (head: string, value: string) => `--part\r\ncontent-disposition: form-data; ${head}\r\n\r\n${value}\r\n`
  const body = `${part('name="purpose"', 'user_data')}${part('name="file"; filename="a.txt"', text)}--part--\r\n`
  const reply = await client.request('POST', '/v1/files', { body, headers: { 'content-type': 'multipart/form-data; boundary=part' } })
  if (reply.status < 300) ledger.uploads.push({ id: reply.body.id, text })
  return reply
}

/** Sends, and once more where the first try was refused. */
async function twice(ledger: Ledger, attempt: () => Promise<Answer>): Promise<void> {
  for (let tries = 0; tries < 2; tries++) {
    const reply = await attempt().catch((error: unknown) => ({ status: 0, headers: new Headers(), text: String(error) }))
    if (reply.status > 0 && reply.status < 300) return
    ledger.refusals++
    const isClear = reply.status === 503 && (reply.headers.has('retry-after') || reply.text.includes('ConfigurationNotStored'))
    if (!isClear) ledger.unclear.push(`${reply.status} ${reply.text.slice(0, 300)}`)
  }
}
