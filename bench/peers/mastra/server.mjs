import { serve } from '@hono/node-server'
import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import { MastraServer } from '@mastra/hono'
import { LibSQLStore } from '@mastra/libsql'
import { Memory } from '@mastra/memory'
import { Hono } from 'hono'

const { MODEL_URL, PORT } = process.env

const agent = new Agent({
  id: 'assistant',
  name: 'Assistant',
  instructions: 'You are a helpful assistant.',
  model: { id: 'bench/bench', url: MODEL_URL, apiKey: 'none' },
  memory: new Memory(),
})
const storage = new LibSQLStore({ id: 'storage', url: 'file:./mastra.db' })
const mastra = new Mastra({ agents: { assistant: agent }, storage })
const app = new Hono()
const server = new MastraServer({ app, mastra })
await server.init()
serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' })
