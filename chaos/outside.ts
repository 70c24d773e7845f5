import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../test/fixtures/model-server.ts'

/** All that is not the service, and counts what the service does to it. */
export interface Outside {
  modelUrl: string
  /** Of an OpenAPI service with `record`, which writes, and `look`, which reads. */
  ledgerUrl: string
  callbackUrl: string
  /** `host:port` of the receiver of callbacks. */
  callbackHost: string
  /** For each request id: its writes, by idempotency key, each with the times that it came. */
  writes: ReadonlyMap<string, Map<string, number>>
  /** For each request id: the `webhook-id`s that it was told under, and how often a callback was taken. */
  callbacks: ReadonlyMap<string, { ids: Set<string>; taken: number }>
  /** What must never come. */
  faults: string[]
  /** As long as it is set the model answers so. */
  setModel(mode: 'well' | 'fails' | 'hangs' | 'breaks'): void
  close(): Promise<void>
}

export const callbackSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

export async function startOutside(random: () => number): Promise<Outside> {
  const faults: string[] = []
  let mode: Parameters<Outside['setModel']>[0] = 'well'
  const model = await startModelServer((request) => answer(request, mode, random))
  const ledger = await startLedger(random)
  const receiver = await startReceiver(random, faults)
  return {
    modelUrl: model.url,
    ledgerUrl: ledger.url,
    callbackUrl: `${receiver.url}/hook`,
    callbackHost: new URL(receiver.url).host,
    writes: ledger.writes,
    callbacks: receiver.callbacks,
    faults,
    setModel: (next) => void (mode = next),
    async close() {
      await model.close()
      ledger.close()
      receiver.close()
    },
  }
}

/** What a chat asks for is in its text: `<request id> <kind>`. */
export type ChatKind = 'talk' | 'read' | 'write' | 'both'

function answer({ body }: ModelServerRequest, mode: string, random: () => number): ModelAnswer {
  if (mode === 'fails') return { status: 503, body: { error: { message: 'overloaded' } } }
  if (mode === 'hangs') return { silentAfter: 1 }
  const last = body.messages.at(-1)
  const broken = mode === 'breaks' || random() < 0.03 ? { breakAfter: 2 + Math.floor(random() * 4) } : {}
  if (last.role !== 'tool') {
    const [, requestId = '', kind = 'talk'] = /(\S+) (talk|read|write|both)\b/.exec(textOf(last.content)) ?? []
    const calls = callsOf(kind as ChatKind, requestId)
    if (calls.length > 0) return { text: ['I ', 'look ', 'at ', 'it.'], calls, delayMs: random() * 40, ...broken }
  }
  const pieces = ['It ', 'is ', 'done', ', ', 'as ', 'far ', 'as ', 'I ', 'can ', 'tell', '.']
  return { text: pieces, delayMs: random() * 40, pauseMs: 5 + random() * 60, usage: { input: 100, output: 11 }, ...broken }
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

/** As the OpenAPI tool of the agent knows it. */
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
    const what = new URL(request.url ?? '', 'http://ledger').searchParams.get('what') ?? ''
    request.resume()
    if (request.method === 'POST') {
      const key = String(request.headers['idempotency-key'])
      const own = writes.get(what) ?? new Map<string, number>()
      writes.set(what, own.set(key, (own.get(key) ?? 0) + 1))
    }
    await sleep(random() < 0.2 ? random() * 1000 : random() * 30)
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ what }))
  })
  return { url, close, writes }
}

async function startReceiver(random: () => number, faults: string[]) {
  const callbacks = new Map<string, { ids: Set<string>; taken: number }>()
  const webhook = new Webhook(callbackSecret)
  const { url, close } = await listen(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    try {
      webhook.verify(text, request.headers as Record<string, string>)
    } catch {
      faults.push('A callback with a wrong signature came.')
    }
    const { data } = JSON.parse(text) as { data: { request_id: string } }
    const told = callbacks.get(data.request_id) ?? { ids: new Set(), taken: 0 }
    callbacks.set(data.request_id, told)
    told.ids.add(String(request.headers['webhook-id']))
    const isTaken = random() > 0.2
    if (isTaken) told.taken++
    response.writeHead(isTaken ? 204 : 500).end()
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
