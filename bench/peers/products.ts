import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { toRequest } from '../load.ts'
import { settingsOf, writeAgent } from '../service.ts'
import { deltasOf, fieldOf } from './answers.ts'
import { installedFolder } from './install.ts'

/** Kind of work: a chat that is answered as JSON with 8 tokens, or a stream of 100 tokens. */
export type Kind = 'json' | 'stream'

export interface Access {
  port: number
  modelPort: number
  /** Folder of the process, with its database. */
  folder: string
}

/** A product under comparison. All products get the same order to the scripted model. */
export interface Product {
  name: string
  /** Arguments of Node, and environment, of the process. */
  start(access: Access): Promise<{ args: string[]; env: Record<string, string> }>
  /** A complete request. `sessionId` becomes the session, where the product has sessions. */
  request(kind: Kind, sessionId: string, access: Access): Promise<Buffer>
  /** The text of an answer, read from the field that clients read. */
  textOf(kind: Kind, answer: string): string
  /** Path that returns the messages of a session; undefined for a product that stores nothing. */
  messages?(sessionId: string, access: Access): Promise<{ path: string; headers?: Record<string, string> }>
}

const orders = { json: 'bench:short', stream: 'bench:tokens 100' }
const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const peerEnv = ({ port, modelPort }: Access) => ({
  PORT: String(port),
  MODEL_URL: `http://127.0.0.1:${modelPort}/v1`,
  NODE_ENV: 'production',
  MASTRA_TELEMETRY_DISABLED: '1',
})
const startPeer = (name: string) => async (access: Access) => ({
  args: [path.join(installedFolder(name), 'server.mjs')],
  env: peerEnv(access),
})

const relay: Product = {
  name: 'relay',
  start: async ({ port, modelPort }) => ({ args: [file('../relay.ts'), String(modelPort), String(port)], env: {} }),
  request: async (kind, _sessionId, { port }) => toRequest({ port, path: `/${kind}`, fields: { stream: true } }, orders[kind]),
  textOf: (kind, answer) => (kind === 'json' ? fieldOf(answer, 'output') : deltasOf(answer, 'choices.0.delta.content')),
}

const portkey: Product = {
  name: 'Portkey gateway',
  start: startPeer('portkey'),
  async request(kind, _sessionId, { port, modelPort }) {
    const model = { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `http://127.0.0.1:${modelPort}/v1` }
    const fields = { model: 'bench', stream: kind === 'stream' }
    return toRequest({ port, path: '/v1/chat/completions', headers: { authorization: 'Bearer none', ...model }, fields }, orders[kind])
  },
  textOf: (kind, answer) => (kind === 'json' ? fieldOf(answer, 'choices.0.message.content') : deltasOf(answer, 'choices.0.delta.content')),
}

const mastra: Product = {
  name: 'Mastra',
  start: startPeer('mastra'),
  async request(kind, sessionId, { port }) {
    const fields = { memory: { thread: sessionId, resource: 'user' } }
    return toRequest({ port, path: `/api/agents/assistant/${kind === 'json' ? 'generate' : 'stream'}`, fields }, orders[kind])
  },
  textOf: (kind, answer) => (kind === 'json' ? fieldOf(answer, 'text') : deltasOf(answer, 'payload.text')),
  messages: async (sessionId) => ({ path: `/api/memory/threads/${sessionId}/messages?agentId=assistant&resourceId=user` }),
}

const voltagent: Product = {
  name: 'VoltAgent',
  start: startPeer('voltagent'),
  async request(kind, sessionId, { port }) {
    const fields = { input: orders[kind], options: { memory: { userId: 'user', conversationId: sessionId } } }
    return toRequest({ port, path: `/agents/assistant/${kind === 'json' ? 'text' : 'stream'}`, fields })
  },
  textOf: (kind, answer) => (kind === 'json' ? fieldOf(answer, 'data.text') : deltasOf(answer, 'text')),
  messages: async (sessionId) => ({ path: `/api/memory/conversations/${sessionId}/messages?agentId=assistant&userId=user` }),
}

const keyOf = async (folder: string) => (await readFile(path.join(folder, 'data', 'admin.key'), 'utf8')).trim()

const agentCore: Product = {
  name: 'Agent Core',
  async start({ port, modelPort, folder }) {
    await writeAgent(folder, modelPort, [])
    return { args: [file('../../bin/agent-core.mjs'), 'serve', '--init'], env: { PORT: String(port), ...settingsOf(folder) } }
  },
  async request(kind, sessionId, { port, folder }) {
    const headers = { 'x-service-access': await keyOf(folder), 'session-id': sessionId }
    return toRequest({ port, path: `/core/v1/${kind === 'json' ? 'chain' : 'chain_streaming'}`, headers }, orders[kind])
  },
  textOf: (kind, answer) => (kind === 'json' ? fieldOf(answer, 'body.output') : deltasOf(answer, 'token')),
  messages: async (sessionId, { folder }) => ({
    path: `/core/v1/sessions/${sessionId}`,
    headers: { 'x-service-access': await keyOf(folder) },
  }),
}

export const products: readonly Product[] = [relay, portkey, mastra, voltagent, agentCore]
