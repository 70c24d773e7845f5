import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

// A stand-in for a language model, so that the example needs no key. It does what its instructions say.

interface Message {
  role: string
  content: unknown
}

async function read(request: IncomingMessage): Promise<{ messages: Message[] }> {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += piece
  return JSON.parse(text)
}

/** The next reply: calls of the tool, as many as the instructions want, and then a sentence. */
function think(messages: Message[]) {
  const question = messages.findLastIndex(({ role }) => role === 'user')
  const order = Number(/\d+/.exec(JSON.stringify(messages[question]?.content))?.[0] ?? 0)
  const refunds = messages.slice(question).filter(({ role }) => role === 'tool').length
  const wanted = messages.some(({ role, content }) => role === 'system' && /call the tool twice/.test(JSON.stringify(content))) ? 2 : 1
  if (refunds >= wanted) return { delta: { content: `Order ${order} is refunded.` }, finish_reason: 'stop' }
  const call = {
    index: 0,
    id: `call-${order}-${refunds}`,
    type: 'function',
    function: { name: 'refund', arguments: JSON.stringify({ order }) },
  }
  return { delta: { tool_calls: [call] }, finish_reason: 'tool_calls' }
}

async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { messages } = await read(request)
  const usage = { prompt_tokens: Math.ceil(JSON.stringify(messages).length / 4), completion_tokens: 12 }
  const chunk = { id: 'reply', object: 'chat.completion.chunk', created: 0, model: 'stand-in' }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const part of [{ choices: [{ index: 0, ...think(messages) }] }, { choices: [], usage }])
    response.write(`data: ${JSON.stringify({ ...chunk, ...part })}\n\n`)
  response.end('data: [DONE]\n\n')
}

const server = createServer((request, response) => void reply(request, response))
server.listen(Number(process.env.MODEL_PORT ?? 9300), '127.0.0.1')
