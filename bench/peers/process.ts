import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '../load.ts'
import { pins, processTree, residentMb, start, treeCpuMs, type Part } from '../processes.ts'
import { freePort } from '../service.ts'
import { tokenText } from '../wire.ts'
import type { Access, Kind, Product } from './products.ts'

/** Running process of a product. */
export interface Running {
  part: Part
  access: Access
  /** From the start of the process to the end of its first correct answer, and the processor time in that period. */
  startMs: number
  startCpuMs: number
}

/** Texts of correct answers. */
export const texts: Record<Kind, string> = { json: tokenText.repeat(8), stream: tokenText.repeat(100) }

const pollMs = 5
const startTimeoutMs = 60_000

/** Starts a product, pinned to the measured core, and waits for its first correct answer to a chat. */
export async function startProduct(product: Product, folder: string, modelPort: number, sessionId: string): Promise<Running> {
  const access = { port: await freePort(), modelPort, folder }
  const { args, env } = await product.start(access)
  const startedAt = performance.now()
  const part = await start(product.name, args, { core: pins?.measured, env, cwd: folder, logFile: path.join(folder, 'log') })
  for (;;) {
    const answer = await ask(product, 'json', sessionId, access).catch((error: Error) => error)
    if (typeof answer === 'string') break
    if (performance.now() - startedAt > startTimeoutMs) {
      await part.stop()
      throw new Error(`no correct answer within ${startTimeoutMs / 1000} s: ${answer.message.slice(0, 200)}`)
    }
    await sleep(pollMs)
  }
  return { part, access, startMs: performance.now() - startedAt, startCpuMs: treeCpuMs(part.pid) }
}

/** Sends a chat on a new connection. Returns the whole answer. Rejects unless the text is the model's text. */
export async function ask(product: Product, kind: Kind, sessionId: string, access: Access): Promise<string> {
  const request = await product.request(kind, sessionId, access)
  const client = new Client(access.port, '')
  try {
    const { text } = await Promise.race([client.send(request, { keepText: true }), timeout()])
    if (product.textOf(kind, text) !== texts[kind]) throw new Error(`the text of the answer is wrong: ${text}`)
    return text
  } finally {
    client.close()
  }
}

async function timeout(): Promise<never> {
  await sleep(startTimeoutMs, undefined, { ref: false })
  throw new Error('no answer')
}

/** Resident memory of a process with its child processes, in MB. */
export function treeMb(pid: number): number {
  return processTree(pid).reduce((sum, id) => sum + (residentMb(id) ?? 0), 0)
}

/** Ends a process and its child processes at once, as a crash does, and waits for the exit. */
export async function kill({ part }: Running): Promise<void> {
  for (const pid of processTree(part.pid).toReversed()) process.kill(pid, 'SIGKILL')
  await part.stop()
}
