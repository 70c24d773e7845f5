import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createServer as createVite } from 'vite'
import { POST } from './chat.ts'

// Serves the page with Vite, and the route of the chat beside it. In a framework such as Next.js, chat.ts is the file of the route.
const port = Number(process.env.PORT ?? 3000)
const server = createServer()
const vite = await createVite({
  root: import.meta.dirname,
  server: { middlewareMode: { server }, hmr: { server } },
  appType: 'spa',
  logLevel: 'warn',
})

async function chat(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const closed = new AbortController()
  response.once('close', () => closed.abort())
  const reply = await POST(new Request('http://page/api/chat', { method: 'POST', body: await text(request), signal: closed.signal }))
  response.writeHead(reply.status, Object.fromEntries(reply.headers))
  await pipeline(Readable.fromWeb(reply.body as never), response)
}

server.on('request', (request, response) => {
  if (request.method !== 'POST' || request.url !== '/api/chat') return vite.middlewares(request, response)
  chat(request, response).catch((error: unknown) => {
    if (!response.destroyed) console.error(error)
    response.destroy()
  })
})
server.listen(port, '127.0.0.1', () => console.log(`The page is at http://127.0.0.1:${port}`))
