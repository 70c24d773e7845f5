import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { findOrder, refund, type Order } from './orders.ts'

// The service of the shop, as you have one. It knows nothing about agents, but it trusts the header `stix-customer` of a caller with its token.
const token = process.env.SHOP_TOKEN
if (!token) throw new Error('Set SHOP_TOKEN to a secret that the shop and the agent share.')
const port = Number(process.env.SHOP_PORT ?? 9100)

interface Reply {
  status: number
  body: object
}

function isTrusted(request: IncomingMessage): boolean {
  const [given, expected] = [Buffer.from(request.headers.authorization ?? ''), Buffer.from(`Bearer ${token}`)]
  return given.length === expected.length && timingSafeEqual(given, expected)
}

async function reply(request: IncomingMessage): Promise<Reply> {
  if (!isTrusted(request)) return { status: 401, body: { error: 'The token is wrong.' } }
  const [, number, action] = /^\/orders\/(\d+)(\/refund)?$/.exec(request.url ?? '') ?? []
  const customer = request.headers['stix-customer']
  const order = findOrder(Number(number), String(customer))
  if (!order) return { status: 404, body: { error: `The customer has no order ${number}.` } }
  if (request.method === 'GET' && !action) return { status: 200, body: order }
  if (request.method === 'POST' && action) return refundOnce(order, request)
  return { status: 405, body: { error: 'The shop does not do this.' } }
}

/** The agent's service sends the same key for each attempt of a call, so that a refund is never paid twice. */
async function refundOnce(order: Order, request: IncomingMessage): Promise<Reply> {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += piece
  const { reason } = JSON.parse(text) as { reason: string }
  const paid = refund(order, reason, String(request.headers['idempotency-key']))
  if (!paid) return { status: 409, body: { error: `Order ${order.number} was refunded before.` } }
  console.log(`refunded order ${order.number}: ${paid.amount} EUR (${reason})`)
  return { status: 200, body: paid }
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status, body } = await reply(request).catch((error: unknown): Reply => {
    console.error(error)
    return { status: 500, body: { error: 'The shop has a fault.' } }
  })
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const server = createServer((request, response) => void answer(request, response))
server.listen(port, '127.0.0.1', () => console.log(`The shop listens at http://127.0.0.1:${port}`))
