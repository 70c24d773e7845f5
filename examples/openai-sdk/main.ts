import { randomUUID } from 'node:crypto'
import OpenAI from 'openai'

// The model is the agent: models, prompt and tools are configured in agent.yaml.
const model = 'agent-core'
const client = new OpenAI({
  baseURL: `${process.env.AGENT_CORE_URL ?? 'http://127.0.0.1:8080'}/v1`,
  apiKey: process.env.AGENT_CORE_KEY,
})

/** Chat completions: the request brings the whole conversation, as with OpenAI. */
async function complete(question: string): Promise<void> {
  const stream = await client.chat.completions.create({ model, stream: true, messages: [{ role: 'user', content: question }] })
  for await (const { choices } of stream) process.stdout.write(choices[0]?.delta.content ?? '')
  console.log('\n')
}

/** Responses: with the header `session-id`, the service keeps the conversation, and the request brings the new question alone. */
async function respond(questions: readonly string[]): Promise<void> {
  const headers = { 'session-id': randomUUID() }
  for (const input of questions) {
    const response = await client.responses.create({ model, input }, { headers })
    console.log(`${response.output_text}\n`)
  }
}

try {
  await complete('What is 17% of 2,340?')
  await respond(['How many units were sold in the North region?', 'And in the South?'])
} catch (error) {
  if (!(error instanceof OpenAI.APIError)) throw error
  console.error(`${error.status} ${error.message}`)
  process.exitCode = 1
}
