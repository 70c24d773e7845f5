import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../../test/fixtures/model-server.ts'
import type { History } from './history/history.ts'
import type { ChatKind } from './history/operations.ts'

/** Stand-ins for external services: model, ledger, receiver of callbacks. Their requests are recorded in the history. */
export interface Outside {
  modelUrl: string
  /** URL of an OpenAPI service with the operations `record` and `seal` (write), `look` and `read` (read). */
  ledgerUrl: string
  callbackUrl: string
  /** `host:port` of the callback receiver. */
  callbackHost: string
  /** Invalid requests, as texts. */
  violations: string[]
  /** What the model has counted. */
  costs: Costs
  /** Sets how the model answers until the next call. */
  setModel(mode: 'well' | 'fails' | 'hangs' | 'breaks'): void
  close(): Promise<void>
}

/** 10^-9 USD by `prices`. */
export interface Costs {
  /** Of answers that were delivered as a whole. */
  whole: number
  /** The most that answers may cost that were cut off. */
  cut: number
}

/** USD per million tokens. */
export const prices = { input: 1, output: 3 }
const usage = { input: 100, output: 11 }

export const callbackSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

export async function startOutside(random: () => number, history: History): Promise<Outside> {
  const violations: string[] = []
  let mode: Parameters<Outside['setModel']>[0] = 'well'
  const costs: Costs = { whole: 0, cut: 0 }
  const model = await startModelServer((request, index) => {
    const answered = answer(request, { index, mode, random, history })
    if (answered.status === undefined) count(request, costs)
    return { ...answered, usage }
  })
  const ledger = await startLedger(random, history)
  const receiver = await startReceiver(random, history, violations)
  return {
    modelUrl: model.url,
    ledgerUrl: ledger.url,
    callbackUrl: `${receiver.url}/hook`,
    callbackHost: new URL(receiver.url).host,
    violations,
    costs,
    setModel: (next) => void (mode = next),
    async close() {
      await model.close()
      ledger.close()
      receiver.close()
    },
  }
}

/** A cut answer counts with its input, of at most a token per byte, and the text that arrived. */
function count({ body, closedEarly }: ModelServerRequest, costs: Costs): void {
  const output = usage.output * prices.output
  void closedEarly.then((isCut) => {
    if (isCut) costs.cut += 1000 * (Buffer.byteLength(JSON.stringify(body)) * prices.input + 5 * output)
    else costs.whole += 1000 * (usage.input * prices.input + output)
  })
}

interface Script {
  /** Number of the call, part of every answer: a second execution of a run has another answer. */
  index: number
  mode: string
  random(): number
  history: History
}

function answer(request: ModelServerRequest, { index, mode, random, history }: Script): ModelAnswer {
  const { messages } = request.body
  if (mode === 'fails') return { status: 503, body: { error: { message: 'overloaded' } } }
  if (mode === 'hangs') return { silentAfter: 1 }
  const last = messages.at(-1)
  const text = textOf(last.content)
  if (textOf(messages[0].content).includes('memory of an assistant')) return { text: memoriesOf(text) }
  const breakOptions = mode === 'breaks' || random() < 0.03 ? { breakAfter: 2 + Math.floor(random() * 4) } : {}
  const asked = messages.findLastIndex(({ role }: { role: string }) => role !== 'tool' && role !== 'assistant')
  const [, requestId = '', kind = 'talk'] = chatPattern.exec(textOf(messages[asked].content)) ?? []
  const results = messages.slice(asked).filter(({ role }: { role: string }) => role === 'tool')
  const calls = callsOf(kind as ChatKind, requestId)[results.length] ?? []
  if (calls.length > 0) return { text: ['I ', 'look ', 'at ', 'it.'], calls, delayMs: random() * 40, ...breakOptions }
  const isSlow = kind === 'slow'
  if (isSlow) recordCall(request, requestId, history)
  const pieces = ['Answer ', `${index} `, 'is ', 'done', ', ', 'as ', 'far ', 'as ', 'I ', 'can ', 'tell', '.']
  const pauseMs = isSlow || kind === 'study' ? 150 : kind === 'long' ? longMs / pieces.length : 5 + random() * 40
  return { text: pieces, delayMs: random() * 40, pauseMs, ...(isSlow ? {} : breakOptions) }
}

const chatPattern = /(\S+) (talk|read|write|both|seal|doubt|slow|study|long)\b/

/** Duration of a long answer: longer than a stopping process waits for its runs. */
export const longMs = 40_000

/** Records the duration of a model call: a period of certain execution of the run. */
function recordCall({ closedEarly }: ModelServerRequest, requestId: string, history: History): void {
  const invokedAt = performance.now()
  void closedEarly.then((isCut) => history.add('model', 'model call', { requestId }, { invokedAt, result: isCut ? 'unknown' : 'ok' }))
}

/** Statements of the caller for the memory, different in each chat, without contradictions. */
function memoriesOf(text: string): string {
  const [, requestId] = /(\S+) talk\b/.exec(text) ?? []
  return requestId ? JSON.stringify([{ kind: 'fact', content: `The user has number ${requestId.replaceAll('-', '')}.` }]) : '[]'
}

function textOf(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content)
}

/** The calls of each kind of chat, by the number of calls that the model has results of. */
function callsOf(kind: ChatKind, requestId: string): Record<number, { name: string; arguments: string }[]> {
  const call = (name: string) => ({ name, arguments: JSON.stringify({ what: requestId }) })
  const [look, record, seal, read] = [call('ledger__look'), call('ledger__record'), call('vault__seal'), call('page__read')]
  switch (kind) {
    case 'read':
      return { 0: [look, look] }
    case 'study':
      return { 0: [look] }
    case 'write':
      return { 0: [record] }
    case 'both':
      return { 0: [look, record] }
    case 'seal':
      return { 0: [look, seal] }
    case 'doubt':
      return { 0: [read], 1: [record] }
    case 'talk':
    case 'slow':
    case 'long':
      return {}
  }
}

/**
 * OpenAPI documents of the ledger, of the vault, whose calls wait for an approval, and of pages that strangers write, after which calls of the
 * ledger wait too.
 */
export function documentOf(name: 'ledger' | 'vault' | 'page', url: string) {
  const operation = (operationId: string) => ({
    operationId,
    parameters: [{ name: 'what', in: 'query', required: true, schema: { type: 'string' } }],
    responses: { 200: { description: 'Done.' } },
  })
  const paths = {
    ledger: { '/entries': { post: operation('record'), get: operation('look') } },
    vault: { '/seals': { post: operation('seal') } },
    page: { '/pages': { get: operation('read') } },
  }
  return { openapi: '3.1.0', info: { title: name, version: '1' }, servers: [{ url }], paths: paths[name] }
}

async function startLedger(random: () => number, history: History) {
  return listen(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://ledger')
    const requestId = searchParams.get('what') ?? ''
    request.resume()
    const operation = pathname === '/seals' ? 'seal' : 'record'
    if (request.method === 'POST')
      history.add('ledger', 'effect', { requestId, operation, key: String(request.headers['idempotency-key']) })
    await sleep(random() < 0.3 ? random() * 1500 : random() * 30)
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ what: requestId }))
  })
}

async function startReceiver(random: () => number, history: History, violations: string[]) {
  const webhook = new Webhook(callbackSecret)
  return listen(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    try {
      webhook.verify(text, request.headers as Record<string, string>)
    } catch {
      violations.push('A callback has an invalid signature.')
    }
    const { data } = JSON.parse(text) as { data: { request_id: string } }
    const isAccepted = random() > 0.2
    const args = { requestId: data.request_id, id: String(request.headers['webhook-id']) }
    history.add('receiver', 'callback', args, { result: isAccepted ? 'ok' : 'fail' })
    response.writeHead(isAccepted ? 204 : 500).end()
  })
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
