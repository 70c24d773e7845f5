import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { outcomeUnknown } from '../../agent/history.ts'
import { fieldsOf, parseJson } from '../../json/shape.ts'

/** A shop with a count of its refunds, and a script in place of a language model. Both share a port of loopback. */
export interface Shop {
  url: string
  /** The orders of all paid refunds. */
  readonly paid: readonly number[]
  /** Keeps the answer of the next refund back until the connection breaks. Resolves when the refund is paid. */
  holdNext(): Promise<void>
  /** What a provider would bill: the calls of the model, also those without an answer, and their tokens. */
  readonly bill: Readonly<{ calls: number; input: number; output: number }>
  /** Keeps the replies of the next `count` model calls back until their connections break. Resolves at the last of these calls. */
  holdReplies(count: number): Promise<void>
  close(): void
}

/** The price of each order, in euros. */
const price = 189

/** The tokens of each reply of the script. */
export const replyTokens = 10
/** Bytes of a request that the script counts as a token. */
const bytesPerToken = 6

/** The sentence of the instructions with which the script refunds twice. */
export const twice = 'To be sure that the money arrives, refund twice.'

export async function openShop(): Promise<Shop> {
  const paid: number[] = []
  let onPaid: (() => void) | undefined
  const bill = { calls: 0, input: 0, output: 0 }
  let holding = { last: 0, onLast() {} }
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readText(request)
    const body = fieldsOf(parseJson(text))
    if (request.url === '/v1/chat/completions') {
      const input = Math.ceil(text.length / bytesPerToken)
      bill.calls++
      bill.input += input
      bill.output += replyTokens
      if (bill.calls > holding.last) return streamReply(response, thinkOf(body['messages']), input)
      return bill.calls === holding.last ? holding.onLast() : undefined
    }
    const order = Number(request.method === 'POST' ? body['order'] : request.url?.split('/').at(-1))
    if (request.method === 'POST') paid.push(order)
    const refunds = paid.filter((other) => other === order).length
    const notify = request.method === 'POST' ? onPaid : undefined
    if (notify) {
      onPaid = undefined
      return notify()
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ order, refunds, euros: price * refunds }))
  }
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paid,
    holdNext: () => new Promise((resolve) => (onPaid = resolve)),
    bill,
    holdReplies: (count) => new Promise((onLast) => (holding = { last: bill.calls + count, onLast })),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const maxBytes = 4_000_000

async function readText(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > maxBytes) throw new Error(`The request has more than ${maxBytes} bytes.`)
    pieces.push(piece)
  }
  return size === 0 ? '{}' : Buffer.concat(pieces).toString()
}

type Reply = { call: 'refund_order' | 'order_status'; order: number } | { text: string }

/** The script: refunds the order of the question, looks the order up if the outcome is unknown, then answers with what the tools said. */
function thinkOf(value: unknown): Reply {
  const messages = (Array.isArray(value) ? value : []).map(fieldsOf)
  const textOf = (message: Record<string, unknown> | undefined) => JSON.stringify(message?.['content'] ?? '')
  const question = messages.findLastIndex(({ role }) => role === 'user')
  const order = Number(/\d+/.exec(textOf(messages[question]))?.[0])
  if (Number.isNaN(order)) return { text: 'Which order?' }
  const results = messages.slice(question).filter(({ role }) => role === 'tool')
  const isTwice = messages.some((message) => message['role'] === 'system' && textOf(message).includes(twice))
  if (results.length < (isTwice ? 2 : 1)) return { call: 'refund_order', order }
  const last = textOf(results.at(-1))
  if (last.includes(outcomeUnknown)) return { call: 'order_status', order }
  const [refunds, euros] = [/refunds\W+(\d+)/, /euros\W+(\d+)/].map((value) => value.exec(last)?.[1])
  return { text: `Order ${order} was refunded ${refunds === '1' ? 'once' : `${refunds} times`}: ${euros} EUR.` }
}

/** Streams a reply as chat completions do. */
function streamReply(response: ServerResponse, reply: Reply, input: number): void {
  const call = 'call' in reply && {
    index: 0,
    id: `call-${Math.random()}`,
    type: 'function',
    function: { name: `shop__${reply.call}`, arguments: JSON.stringify({ order: reply.order }) },
  }
  const delta = call ? { tool_calls: [call] } : { content: 'text' in reply ? reply.text : '' }
  const chunk = { id: 'reply', object: 'chat.completion.chunk', created: 0, model: 'script' }
  const choices = [{ index: 0, delta, finish_reason: call ? 'tool_calls' : 'stop' }]
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const part of [{ choices }, { choices: [], usage: { prompt_tokens: input, completion_tokens: replyTokens } }])
    response.write(`data: ${JSON.stringify({ ...chunk, ...part })}\n\n`)
  response.end('data: [DONE]\n\n')
}

const json = (schema: object) => ({ content: { 'application/json': { schema } } })
const responses = { 200: { description: 'Done', ...json({ type: 'object' }) } }
const order = { type: 'integer' }

/** The API of the shop: a refund writes, a status reads. */
export const shopApi = {
  openapi: '3.1.0',
  info: { title: 'Shop', version: '1' },
  paths: {
    '/refunds': {
      post: {
        operationId: 'refund_order',
        requestBody: { required: true, ...json({ type: 'object', properties: { order }, required: ['order'] }) },
        responses,
      },
    },
    '/orders/{order}': {
      get: { operationId: 'order_status', parameters: [{ name: 'order', in: 'path', required: true, schema: order }], responses },
    },
  },
}
