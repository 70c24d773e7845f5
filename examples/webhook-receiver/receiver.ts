import { createServer, type IncomingMessage } from 'node:http'
import { AgentCoreError, verifyCallback, type CallbackEvent } from 'agent-core/client'

const secret = process.env.CALLBACK_SECRET
if (!secret) throw new Error('Set CALLBACK_SECRET to the output of `agent-core keys callback-secret`.')
const port = Number(process.env.PORT ?? 9000)
const maxBytes = 4 * 1024 * 1024

/** Callbacks that were handled. A delivery is repeated until it is answered with 2xx, so keep these ids in your database. */
const handled = new Set<string>()

/** The work of your product. */
function handle(event: CallbackEvent): void {
  const { event_id } = event.data
  if (event.type === 'ai.service.agent.chain.completed') console.log(`${event_id}: ${event.data.body.output}`)
  if (event.type === 'ai.service.agent.chain.failed') console.log(`${event_id} failed: ${event.data.error.body}`)
}

/** The signature covers the bytes of the body, so they are kept as they arrive. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > maxBytes) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** Returns the status of the reply: 2xx ends the deliveries of a callback, anything else asks for another attempt. */
async function receive(request: IncomingMessage): Promise<number> {
  if (request.method !== 'POST') return 405
  const body = await readBody(request)
  if (!body) return 413
  try {
    const { webhookId, event } = await verifyCallback({ secret: secret!, headers: request.headers, body })
    if (!handled.has(webhookId)) handle(event)
    handled.add(webhookId)
    return 204
  } catch (error) {
    const isForged = error instanceof AgentCoreError && error.errorType === 'InvalidSignature'
    console.error(isForged ? `refused: ${error.message}` : error)
    return isForged ? 401 : 500
  }
}

const server = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    // The sender has gone.
    () => response.destroy(),
  )
})
server.listen(port, '127.0.0.1', () => console.log(`Waiting for callbacks at http://127.0.0.1:${port}`))
