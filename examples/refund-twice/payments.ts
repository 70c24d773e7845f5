import { createServer, type IncomingMessage } from 'node:http'

// The payment service. It pays each refund that it is asked for, and counts.
let refunds = 0

async function read(request: IncomingMessage): Promise<{ order: number }> {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += piece
  return JSON.parse(text)
}

async function answer(request: IncomingMessage): Promise<object> {
  if (request.method === 'GET') return { refunds }
  const { order } = await read(request)
  return { order, refund: `R-${++refunds}` }
}

const server = createServer((request, response) => {
  answer(request).then(
    (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`),
    () => response.writeHead(400).end(),
  )
})
server.listen(Number(process.env.PAYMENTS_PORT ?? 9200), '127.0.0.1')
