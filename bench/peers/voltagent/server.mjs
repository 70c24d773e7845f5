import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent, Memory, VoltAgent } from '@voltagent/core'
import { LibSQLMemoryAdapter } from '@voltagent/libsql'
import { createPinoLogger } from '@voltagent/logger'
import { honoServer } from '@voltagent/server-hono'

const { MODEL_URL, PORT } = process.env

const provider = createOpenAICompatible({ name: 'bench', baseURL: MODEL_URL, apiKey: 'none' })
const agent = new Agent({
  name: 'assistant',
  instructions: 'You are a helpful assistant.',
  model: provider('bench'),
  memory: new Memory({ storage: new LibSQLMemoryAdapter({ url: 'file:./memory.db' }) }),
})
const server = honoServer({ port: Number(PORT), hostname: '127.0.0.1' })
const logger = createPinoLogger({ name: 'assistant', level: 'info' })
export const voltAgent = new VoltAgent({ agents: { assistant: agent }, server, logger })
