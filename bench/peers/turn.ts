import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFolder } from '../service.ts'
import { quantile } from '../sides.ts'
import { tokenText } from '../wire.ts'
import type { Figures } from './figures.ts'
import { loadProduct, sampleProduct, type SessionIds } from './load.ts'
import { ask, kill, startProduct, texts, treeMb, type Running } from './process.ts'
import type { Kind, Product } from './products.ts'

export interface TurnOptions {
  modelPort: number
  /** Length of a load, in seconds. */
  seconds: number
}

const clients = 64
/** The number keeps slow products from being measured before their code has been compiled. */
const warmUp = { clients, seconds: 2, answers: 200 }
const samples = 100
const idleMs = 3000

/**
 * Measures a product in a new folder: start, idle memory, chats and streams under load, latency, and what a kill leaves. The first start,
 * which creates the database, is not measured.
 */
export async function measureTurn(product: Product, { modelPort, seconds }: TurnOptions): Promise<Figures> {
  const { folder, remove } = await makeFolder()
  const ids = createSessionIds()
  const start = () => startProduct(product, folder, modelPort, ids.next())
  try {
    await (await start()).part.stop()
    const running = await start()
    const { startMs, startCpuMs, part } = running
    const figures = await withCleanUp(measureRunning(product, running, ids, seconds), () => part.stop())
    const stored = product.messages && {
      storedJson: await isStored(product, 'json', ids, start),
      storedStream: await isStored(product, 'stream', ids, start),
    }
    return { startMs, startCpuMs, ...figures, ...stored }
  } finally {
    await remove()
  }
}

async function measureRunning(product: Product, running: Running, ids: SessionIds, seconds: number): Promise<Figures> {
  await sleep(idleMs)
  const idleMb = treeMb(running.part.pid)
  const load = async (kind: Kind) => {
    await loadProduct(product, kind, running, ids, warmUp)
    return loadProduct(product, kind, running, ids, { clients, seconds, answers: 1 })
  }
  const chats = await load('json')
  const streams = await load('stream')
  const chatMs = (await sampleProduct(product, 'json', running, ids, samples)).map(({ sentAt, endedAt }) => endedAt - sentAt)
  const tokenMs = (await sampleProduct(product, 'stream', running, ids, samples)).map(({ sentAt, tokenAt = NaN }) => tokenAt - sentAt)
  return {
    chatCpuUs: chats.cpuUs,
    chatsPerSecond: chats.perSecond,
    streamCpuUs: streams.cpuUs,
    tokensPerSecond: streams.perSecond * (texts.stream.length / tokenText.length),
    chatP50Ms: quantile(chatMs, 0.5),
    chatP95Ms: quantile(chatMs, 0.95),
    firstTokenP50Ms: quantile(tokenMs, 0.5),
    firstTokenP95Ms: quantile(tokenMs, 0.95),
    idleMb,
    loadMb: Math.max(chats.mb, streams.mb),
  }
}

/** Kills the product as soon as a chat has been answered, and returns 1 if the answer is in its session after a restart. */
async function isStored(product: Product, kind: Kind, ids: SessionIds, start: () => Promise<Running>): Promise<number> {
  const id = ids.next()
  const first = await start()
  await withCleanUp(ask(product, kind, id, first.access), () => kill(first))
  const second = await start()
  const messages = await withCleanUp(readMessages(product, id, second), () => second.part.stop())
  return messages.includes(texts[kind]) ? 1 : 0
}

async function readMessages(product: Product, id: string, { access }: Running): Promise<string> {
  const { path, headers = {} } = await product.messages!(id, access)
  const answer = await fetch(`http://127.0.0.1:${access.port}${path}`, { headers })
  return answer.text()
}

async function withCleanUp<Value>(work: Promise<Value>, cleanUp: () => Promise<void>): Promise<Value> {
  try {
    return await work
  } finally {
    await cleanUp()
  }
}

function createSessionIds(): SessionIds {
  const prefix = randomUUID().slice(0, -12)
  let count = 0
  return { next: () => `${prefix}${String(++count).padStart(12, '0')}` }
}
