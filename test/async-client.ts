import { setTimeout as sleep } from 'node:timers/promises'
import type { ModelAnswer, ModelServerRequest } from './model-server.ts'
import type { Client } from './service-client.ts'

/** An envelope around a chat. */
export function event(id: string, data: object) {
  return { specversion: '1.0', type: 'ai.service.agent.chain', source: 'urn:test', id, time: '2026-01-02T03:04:05Z', data }
}

export function sendEvent(client: Client, body: object, headers?: Record<string, string>) {
  return client.request('POST', '/core/v1/chain_async', { body, ...(headers ? { headers } : {}) })
}

/** Looks until it is so; fails when it takes far too long. */
export async function until<T>(look: () => Promise<T>, isSo: (value: T) => boolean, limitMs = 60_000): Promise<T> {
  for (const start = Date.now(); ;) {
    const value = await look()
    if (isSo(value)) return value
    if (Date.now() - start > limitMs) throw new Error(`It is not so after ${limitMs} ms: ${JSON.stringify(value)}`)
    await sleep(10)
  }
}

/** A model that lets everybody wait until it is opened. */
export function gate(answer: (request: ModelServerRequest) => ModelAnswer) {
  const opened = Promise.withResolvers<void>()
  const entered = Promise.withResolvers<void>()
  const script = (request: ModelServerRequest): ModelAnswer => {
    entered.resolve()
    return { ...answer(request), begins: opened.promise }
  }
  return { script, open: opened.resolve, entered: entered.promise }
}
