import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../test/fixtures/model-server.ts'

/** Stand-ins for the external services (model, ledger, receiver of callbacks), which record all requests. */
export interface Outside {
  modelUrl: string
  /** URL of an OpenAPI service with the operations `record` (write) and `look` (read). */
  ledgerUrl: string
  callbackUrl: string
  /** `host:port` of the callback receiver. */
  callbackHost: string
  /** Number of writes by request id and idempotency key. */
  writes: ReadonlyMap<string, Map<string, number>>
  /** Callbacks by request id: received `webhook-id`s, and number of accepted deliveries. */
  callbacks: ReadonlyMap<string, { ids: Set<string>; deliveries: number }>
  /** Invalid requests, as texts. */
  violations: string[]
  /** Sets how the model answers until the next call. */
  setModel(mode: 'well' | 'fails' | 'hangs' | 'breaks'): void
  close(): Promise<void>
}

export const callbackSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

export async function startOutside(random: () => number): Promise<Outside> {
  const violations: string[] = []
  let mode: Parameters<Outside['setModel']>[0] = 'well'
  const model = await startModelServer((request) => answer(request, mode, random))
  const ledger = await startLedger(random)
  const receiver = await startReceiver(random, violations)
  return {
    modelUrl: model.url,
    ledgerUrl: ledger.url,
    callbackUrl: `${receiver.url}/hook`,
    callbackHost: new URL(receiver.url).host,
    writes: ledger.writes,
    callbacks: receiver.callbacks,
    violations,
    setModel: (next) => void (mode = next),
    async close() {
      await model.close()
      ledger.close()
      receiver.close()
    },
  }
}

/** Tool calls wanted by a chat. The text of a chat is `<request id> <kind>`. */
export type ChatKind = 'talk' | 'read' | 'write' | 'both'

function answer({ body }: ModelServerRequest, mode: string, random: () => number): ModelAnswer {
  if (mode === 'fails') return { status: 503, body: { error: { message: 'overloaded' } } }
  if (mode === 'hangs') return { silentAfter: 1 }
  const last = body.messages.at(-1)
  const breakOptions = mode === 'breaks' || random() < 0.03 ? { breakAfter: 2 + Math.floor(random() * 4) } : {}
  if (last.role !== 'tool') {
    const [, requestId = '', kind = 'talk'] = /(\S+) (talk|read|write|both)\b/.exec(textOf(last.content)) ?? []
    const calls = callsOf(kind as ChatKind, requestId)
    if (calls.length > 0) return { text: ['I ', 'look ', 'at ', 'it.'], calls, delayMs: random() * 40, ...breakOptions }
  }
  const pieces = ['It ', 'is ', 'done', ', ', 'as ', 'far ', 'as ', 'I ', 'can ', 'tell', '.']
  return { text: pieces, delayMs: random() * 40, pauseMs: 5 + random() * 60, usage: { input: 100, output: 11 }, ...breakOptions }
}

function textOf(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content)
}

function callsOf(kind: ChatKind, requestId: string) {
  const call = (name: string) => ({ name: `ledger__${name}`, arguments: JSON.stringify({ what: requestId }) })
  if (kind === 'read') return [call('look'), call('look')]
  if (kind === 'write') return [call('record')]
  return kind === 'both' ? [call('look'), call('record')] : []
}

/** OpenAPI document of the ledger. */
export function ledgerDocument(url: string) {
  const operation = (operationId: string) => ({
    operationId,
    parameters: [{ name: 'what', in: 'query', required: true, schema: { type: 'string' } }],
    responses: { 200: { description: 'Done.' } },
  })
  return {
    openapi: '3.1.0',
    info: { title: 'Ledger', version: '1' },
    servers: [{ url }],
    paths: { '/entries': { post: operation('record'), get: operation('look') } },
  }
}

async function startLedger(random: () => number) {
  const writes = new Map<string, Map<string, number>>()
  const { url, close } = await listen(async (request, response) => {
    const requestId = new URL(request.url ?? '', 'http://ledger').searchParams.get('what') ?? ''
    request.resume()
    if (request.method === 'POST') {
      const key = String(request.headers['idempotency-key'])
      const requestWrites = writes.get(requestId) ?? new Map<string, number>()
      writes.set(requestId, requestWrites.set(key, (requestWrites.get(key) ?? 0) + 1))
    }
    await sleep(random() < 0.2 ? random() * 1000 : random() * 30)
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ what: requestId }))
  })
  return { url, close, writes }
}

async function startReceiver(random: () => number, violations: string[]) {
  const callbacks = new Map<string, { ids: Set<string>; deliveries: number }>()
  const webhook = new Webhook(callbackSecret)
  const { url, close } = await listen(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    try {
      webhook.verify(text, request.headers as Record<string, string>)
    } catch {
      violations.push('A callback has an invalid signature.')
    }
    const { data } = JSON.parse(text) as { data: { request_id: string } }
    const callback = callbacks.get(data.request_id) ?? { ids: new Set(), deliveries: 0 }
    callbacks.set(data.request_id, callback)
    callback.ids.add(String(request.headers['webhook-id']))
    const isAccepted = random() > 0.2
    if (isAccepted) callback.deliveries++
    response.writeHead(isAccepted ? 204 : 500).end()
  })
  return { url, close, callbacks }
}

async function listen(serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>) {
  const server = http.createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 4096, resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
