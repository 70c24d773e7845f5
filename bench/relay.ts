import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'

/**
 * Baseline of the benchmark: bare `node:http` in front of the same model, without store, access control or logs.
 * `/stream` forwards the model's bytes; `/json` does the minimum required for a JSON answer from a streaming model: read and parse the
 * events, join the text, answer once. The first argument is the model's port, the second the relay's, which is free to choose without it.
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

interface Chunk {
  choices: { delta: { content?: string } }[]
}

function outputOf(events: string): string {
  let output = ''
  for (const event of events.split('\n\n')) {
    if (event === '' || event === 'data: [DONE]') continue
    output += (JSON.parse(event.slice('data: '.length)) as Chunk).choices[0]?.delta.content ?? ''
  }
  return output
}

const server = createServer((incoming, response) => (incoming.url === '/json' ? collect : pass)(incoming, response))
server.keepAliveTimeout = 72_000
server.listen({ port: Number(process.argv[3] ?? 0), host: '127.0.0.1', backlog: 8192 }, () => {
  const bound = server.address()
  console.log(typeof bound === 'object' ? bound?.port : bound)
})
