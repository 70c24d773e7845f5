import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'

/**
 * Baseline of the benchmark: bare `node:http` in front of the same model, without store, access control or logs.
 * `/stream` forwards the model's bytes; `/json` does the minimum required for a JSON answer from a streaming model: read and parse the
 * events, join the text, answer once. `/tools` also makes the model calls of an agent: it calls `current_time` as often as the model asks, and
 * asks again with the results until the model answers in text. The first argument is the model's port, the second the relay's, which is free to choose without it.
 * Prints the relay's port.
 */
const model = { host: '127.0.0.1', port: Number(process.argv[2]), method: 'POST', path: '/v1/chat/completions' }
const agent = new Agent({ keepAlive: true, maxSockets: Infinity })

function forward(incoming: IncomingMessage, onAnswer: (answer: IncomingMessage) => void): void {
  const pieces: Buffer[] = []
  incoming.on('data', (piece: Buffer) => pieces.push(piece))
  incoming.on('end', () => {
    const body = Buffer.concat(pieces)
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    request({ ...model, agent, headers }, onAnswer).end(body)
  })
}

function pass(incoming: IncomingMessage, response: ServerResponse): void {
  forward(incoming, (answer) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    answer.pipe(response)
  })
}

function collect(incoming: IncomingMessage, response: ServerResponse): void {
  forward(incoming, (answer) => {
    let text = ''
    answer.setEncoding('utf8')
    answer.on('data', (piece: string) => (text += piece))
    answer.on('end', () => {
      const body = JSON.stringify({ output: outputOf(text) })
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      response.end(body)
    })
  })
}

/** A chat with tool calls, with what that needs at least. */
function useTools(incoming: IncomingMessage, response: ServerResponse): void {
  let body = ''
  incoming.setEncoding('utf8')
  incoming.on('data', (piece: string) => (body += piece))
  incoming.on('end', () => {
    const question = JSON.parse(body) as { messages: object[] }
    ask({ ...question, tools }, (output) => {
      const answer = JSON.stringify({ output })
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) })
      response.end(answer)
    })
  })
}

const parameters = { type: 'object', properties: { timezone: { type: 'string' } } }
const tools = [{ type: 'function', function: { name: 'current_time', description: 'Tells the current date and time.', parameters } }]

function ask(chat: { messages: object[]; tools: object[] }, onOutput: (output: string) => void): void {
  const body = Buffer.from(JSON.stringify(chat))
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  const onAnswer = (answer: IncomingMessage) => {
    let text = ''
    answer.setEncoding('utf8')
    answer.on('data', (piece: string) => (text += piece))
    answer.on('end', () => {
      const calls = callsOf(text)
      if (calls.length === 0) return onOutput(outputOf(text))
      const results = calls.map(({ id }) => ({
        role: 'tool',
        tool_call_id: id,
        content: JSON.stringify({ time: new Date().toISOString() }),
      }))
      ask({ ...chat, messages: [...chat.messages, { role: 'assistant', content: null, tool_calls: calls }, ...results] }, onOutput)
    })
  }
  request({ ...model, agent, headers }, onAnswer).end(body)
}

interface Chunk {
  choices: { delta: { content?: string; tool_calls?: { id: string }[] } }[]
}

/** The scripted model sends each call in one piece. */
function callsOf(events: string): { id: string }[] {
  return deltasOf(events).flatMap(({ tool_calls: calls = [] }) => calls)
}

function outputOf(events: string): string {
  return deltasOf(events).reduce((output, { content = '' }) => output + content, '')
}

function deltasOf(events: string): Chunk['choices'][number]['delta'][] {
  const deltas: Chunk['choices'][number]['delta'][] = []
  for (const event of events.split('\n\n')) {
    if (event === '' || event === 'data: [DONE]') continue
    const [choice] = (JSON.parse(event.slice('data: '.length)) as Chunk).choices
    if (choice) deltas.push(choice.delta)
  }
  return deltas
}

const routes: Record<string, typeof pass> = { '/json': collect, '/tools': useTools }
const server = createServer((incoming, response) => (routes[incoming.url ?? ''] ?? pass)(incoming, response))
server.keepAliveTimeout = 72_000
server.listen({ port: Number(process.argv[3] ?? 0), host: '127.0.0.1', backlog: 8192 }, () => {
  const bound = server.address()
  console.log(typeof bound === 'object' ? bound?.port : bound)
})
