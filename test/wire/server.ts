import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { otherAccounts, providers } from './providers/providers.ts'
import { cut, type Answer, type RawResponse, type Refusal, type WireProvider, type WireRequest } from './wire.ts'

export interface WireServer {
  /** Model of a provider in agent.yaml. */
  llm(name: string): Record<string, unknown>
  /** Answers that are still to be given. */
  answers: Answer[]
  requests: WireRequest[]
  /** Refusals other than lessons. */
  refusals: { provider: string; refusal: Refusal; body: unknown }[]
  /** Removes answers, requests and refusals. */
  clear(): void
}

/** Bytes of a write: no divisor of usual lengths, so events are cut anywhere. */
const writeLength = 97

/** Starts all providers on one port of loopback. A request that a rule forbids is refused; others get the next answer. */
export async function startWireServer(t: Pick<TestContext, 'after'>): Promise<WireServer> {
  const answers: Answer[] = []
  const requests: WireRequest[] = []
  const refusals: WireServer['refusals'] = []
  let count = 0

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { provider, path } = find(incoming.url ?? '')
    const request = { provider: provider.name, path, headers: incoming.headers, body: JSON.parse(await readAll(incoming)) }
    requests.push(request)
    const by = answers[0]?.by
    if (by !== undefined && by !== provider.name) return refuse(response, { status: 503, body: { error: { message: 'overloaded' } } })
    const refusal = provider.paths.test(path) ? provider.check(request) : { status: 404, body: { error: { message: `No route ${path}` } } }
    if (refusal) {
      const isLesson = provider.lesson?.test(JSON.stringify(refusal.body)) ?? false
      if (!isLesson) refusals.push({ provider: provider.name, refusal, body: request.body })
      return refuse(response, refusal)
    }
    const answer = answers.shift()
    if (!answer) return refuse(response, { status: 500, body: { error: { message: 'The script has no further answer' } } })
    await answer.begins
    const raw: RawResponse = answer.raw ?? { bytes: Buffer.concat(provider.stream(answer, ++count)) }
    const { status = 200, contentType = provider.contentType, headers = {}, writes = writeLength } = raw
    response.writeHead(status, { 'content-type': contentType, ...headers })
    for (const bytes of cut(Buffer.from(raw.bytes), writes)) {
      if (response.destroyed) return
      response.write(bytes)
      await tick()
    }
    response.end()
  }

  const server = createServer((incoming, response) => void serve(incoming, response).catch((error) => response.destroy(error)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return {
    llm(name) {
      const provider = byName(name)
      return { ...provider.llm, base_url: `http://127.0.0.1:${port}/${name}${provider.basePath}` }
    },
    answers,
    requests,
    refusals,
    clear() {
      for (const list of [answers, requests, refusals]) list.length = 0
    },
  }
}

/** A wait above the longest that the service accepts, so that the next model is asked at once. */
function refuse(response: ServerResponse, { status, body }: Refusal): void {
  const wait = status === 503 ? { 'retry-after': '3600' } : {}
  response.writeHead(status, { 'content-type': 'application/json', ...wait }).end(JSON.stringify(body))
}

/** The first part of the path is the name of the provider. */
function find(url: string): { provider: WireProvider; path: string } {
  const [, name = '', path = ''] = /^\/([^/]+)(.*)$/.exec(url) ?? []
  return { provider: byName(name), path }
}

function byName(name: string): WireProvider {
  const provider = [...providers, ...otherAccounts].find((candidate) => candidate.name === name)
  if (!provider) throw new Error(`There is no provider ${name}.`)
  return provider
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}
