import type { Client } from '../../test/fixtures/service-client.ts'

interface LoadOptions {
  client: Client
  /** Name of the sender, which is part of its ids. */
  name: string
  random(): number
  isActive(): boolean
  /** Called between two requests: resolves when the next may be sent. */
  pause(): Promise<void>
  /** Counts what was done, and what was refused. */
  count(operation: string, isRefused: boolean): void
}

const questions = [
  'What were the total sales by region?',
  'What is 17% of 2,340?',
  'What does the handbook say about leave?',
  'Write "Back at 3" to a file note.txt',
  'yes',
  'Which product sold best in the North region?',
  'What time is it?',
]

/** Works as a user does: chats of each kind in a session, lists, reads, an abandoned stream, an upload; then the session is deleted. */
export async function sendLoad({ client, name, random, isActive, pause, count }: LoadOptions): Promise<void> {
  for (let round = 0; isActive(); round++) {
    const sessionId = `${name}-${round}`
    const headers = { 'session-id': sessionId }
    const question = () => questions[Math.floor(random() * questions.length)]!
    const steps: [operation: string, work: () => Promise<{ status: number }>][] = [
      ['chat', () => client.chat(question(), headers)],
      ['stream', async () => whole(await client.stream(question(), headers))],
      ['abandoned stream', async () => abandoned(await client.stream(question(), headers))],
      ['async chat', () => client.request('POST', '/core/v1/chain_async', { body: eventOf(`${sessionId}-a`, question()), headers })],
      [
        'completion',
        () =>
          client.request('POST', '/v1/chat/completions', {
            body: { model: 'agent-core', messages: [{ role: 'user', content: question() }] },
          }),
      ],
      ['session', () => client.session(sessionId)],
      ['sessions', () => client.request('GET', '/core/v1/sessions?limit=20')],
      ['runs', () => client.request('GET', '/core/v1/runs?limit=20')],
      ['metrics', () => client.request('GET', '/core/v1/metrics')],
      ['upload', () => upload(client)],
      ['bad request', async () => accepted(await client.chat({ messages: 'none' }), 422)],
      ['deletion', () => client.request('DELETE', `/core/v1/sessions/${sessionId}`)],
    ]
    for (const [operation, work] of steps) {
      const { status } = await work().catch(() => ({ status: 0 }))
      count(operation, status === 0 || status >= 400)
      await pause()
    }
  }
}

function accepted({ status }: { status: number }, expected: number): { status: number } {
  return { status: status === expected ? 200 : 0 }
}

type Stream = Awaited<ReturnType<Client['stream']>>

async function whole(stream: Stream): Promise<Stream> {
  await stream.rest()
  return stream
}

async function abandoned(stream: Stream): Promise<Stream> {
  await stream.next()
  stream.leave()
  return stream
}

function eventOf(id: string, question: string): object {
  const data = { messages: [{ role: 'user', content: question }] }
  return { specversion: '1.0', type: 'ai.service.agent.chain', source: 'urn:agent-core:soak', id, data }
}

async function upload(client: Client): Promise<{ status: number }> {
  const part = (head: string, value: string) => `--part\r\ncontent-disposition: form-data; ${head}\r\n\r\n${value}\r\n`
  const body = `${part('name="purpose"', 'user_data')}${part('name="file"; filename="a.txt"', 'a'.repeat(20_000))}--part--\r\n`
  const reply = await client.request('POST', '/v1/files', { body, headers: { 'content-type': 'multipart/form-data; boundary=part' } })
  return reply.status < 300 ? client.request('DELETE', `/v1/files/${reply.body.id}`) : reply
}
