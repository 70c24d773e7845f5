import { createServer, type IncomingMessage } from 'node:http'
import { verifyCallback, type CallbackEvent } from 'agent-core/client'

const secret = process.env.CALLBACK_SECRET
if (!secret) throw new Error('Set CALLBACK_SECRET to the output of `agent-core keys callback-secret`.')
const port = Number(process.env.PORT ?? 9000)
const maxBytes = 4 * 1024 * 1024

/** Reports that were handled. A delivery is repeated until it is answered with 2xx, so keep these ids in your database. */
const handled = new Set<string>()

/** The work of your product: send the report to people. */
function handle(event: CallbackEvent): void {
  if (event.type === 'ai.service.agent.chain.completed') console.log(event.data.body.output)
  if (event.type === 'ai.service.agent.chain.failed') console.log(`No report today: ${event.data.error.body}`)
}

async function receive(request: IncomingMessage): Promise<void> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > maxBytes) throw new Error('The body is too large.')
    pieces.push(piece)
  }
  const { webhookId, event } = await verifyCallback({ secret: secret!, headers: request.headers, body: Buffer.concat(pieces) })
  if (!handled.has(webhookId)) handle(event)
  handled.add(webhookId)
}

const server = createServer((request, response) => {
  receive(request).then(
    () => response.writeHead(204).end(),
    () => response.writeHead(400).end(),
  )
})
server.listen(port, '127.0.0.1', () => console.log(`Waiting for reports at http://127.0.0.1:${port}`))
