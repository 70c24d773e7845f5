import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type TimedAnswer } from '../load.ts'
import { treeCpuMs } from '../processes.ts'
import { tokenText } from '../wire.ts'
import { bodyOf } from './answers.ts'
import { ask, texts, treeMb, type Running } from './process.ts'
import type { Kind, Product } from './products.ts'

/** Creates session ids that differ in their last digits only, so that a prepared request can be changed in place. */
export interface SessionIds {
  next(): string
}

/** Request and the position of its session id, which is replaced before each sending. The position is -1 without a session. */
interface PreparedRequest {
  bytes: Buffer
  idAt: number
}

export interface Load {
  perSecond: number
  /** Processor time per answer of the product, in microseconds. */
  cpuUs: number
  /** Highest memory, in MB. */
  mb: number
}

const sampleMs = 100

export interface LoadOptions {
  clients: number
  /** The load ends after this time, and after this number of answers. */
  seconds: number
  answers: number
}

/** Sends chats in a closed loop, each in a session of its own. Rejects at the first wrong answer. */
export async function loadProduct(product: Product, kind: Kind, running: Running, ids: SessionIds, options: LoadOptions): Promise<Load> {
  const isRight = await createCheck(product, kind, running, ids)
  const clients = await Promise.all(Array.from({ length: options.clients }, () => connect(product, kind, running, ids)))
  let mb = 0
  const sampler = setInterval(() => (mb = Math.max(mb, treeMb(running.part.pid))), sampleMs)
  const cpuBefore = treeCpuMs(running.part.pid)
  const startedAt = performance.now()
  let answered = 0
  const isOver = () => performance.now() >= startedAt + options.seconds * 1000 && answered >= options.answers
  const sendAll = async ({ client, request }: (typeof clients)[number]) => {
    for (; !isOver(); answered++) {
      const { text } = await client.send(withNextId(request, ids), { keepText: true })
      if (!isRight(text)) throw new Error(`an answer under load is wrong: ${text.slice(0, 300)}`)
    }
  }
  await Promise.all(clients.map(sendAll)).finally(() => clearInterval(sampler))
  const tookMs = performance.now() - startedAt
  const cpuUs = ((treeCpuMs(running.part.pid) - cpuBefore) * 1000) / answered
  for (const { client } of clients) client.close()
  return { perSecond: (answered * 1000) / tookMs, cpuUs, mb }
}

/** Sends `count` chats in turn. Returns the times of the chats. */
export async function sampleProduct(
  product: Product,
  kind: Kind,
  running: Running,
  ids: SessionIds,
  count: number,
): Promise<TimedAnswer[]> {
  const isRight = await createCheck(product, kind, running, ids)
  const { client, request } = await connect(product, kind, running, ids)
  const answers: TimedAnswer[] = []
  for (let sample = 0; sample < count; sample++) {
    const answer = await client.send(withNextId(request, ids), { keepText: true, token: tokenText })
    if (!isRight(answer.text)) throw new Error(`an answer is wrong: ${answer.text.slice(0, 300)}`)
    answers.push({ ...answer, text: '' })
    // Work after an answer must not delay the next one.
    await sleep(1)
  }
  client.close()
  return answers
}

/**
 * Returns a cheap check for the answers of a load: a JSON answer contains the whole text, and a stream as many tokens as one whose text
 * was read event by event. Some streams repeat the text at their end.
 */
async function createCheck(product: Product, kind: Kind, { access }: Running, ids: SessionIds): Promise<(answer: string) => boolean> {
  const countTokens = (answer: string) => bodyOf(answer).split(tokenText).length
  const expected = countTokens(await ask(product, kind, ids.next(), access))
  return (answer) => (kind === 'json' ? answer.includes(texts.json) : countTokens(answer) === expected)
}

async function connect(product: Product, kind: Kind, { access }: Running, ids: SessionIds) {
  const id = ids.next()
  const bytes = await product.request(kind, id, access)
  return { client: new Client(access.port, ''), request: { bytes, idAt: bytes.indexOf(id) } }
}

/** The bytes may be changed, because the request before has been answered. */
function withNextId({ bytes, idAt }: PreparedRequest, ids: SessionIds): Buffer {
  if (idAt >= 0) bytes.write(ids.next(), idAt, 'latin1')
  return bytes
}
