import { createAnthropic } from '@ai-sdk/anthropic'
import { generateText, isStepCount, Output, streamText, tool } from 'ai'
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { z } from 'zod'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

/** The provider warns of models that it does not know. */
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

/** The provider of the AI SDK checks every field of an answer that it knows. */
function script({ body }: ModelServerRequest) {
  const last = body.messages.at(-1)
  if (last.role === 'tool') return { text: `It is ${last.content}.`, reasoning: 'Now I know.' }
  if (!/weather/.test(JSON.stringify(last.content)))
    return { text: ['It is ', 'blue.'], reasoning: 'I think.', usage: { input: 9, output: 4 } }
  return { ...callOf('weather', { city: 'Basel' }), reasoning: 'I ask.' }
}

async function start(t: TestContext, options: ServiceOptions = {}) {
  const { url, key, model: server } = await startService(t, { script, ...options })
  const provider = createAnthropic({ apiKey: (await key()).key, baseURL: `${url}/v1` })
  return { model: provider('agent-core'), provider, server }
}

const weather = tool({
  description: 'The weather.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
})
const thinks = { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } } as const

test('Anthropic: the AI SDK generates and streams text, with thoughts where it asks for them', async (t) => {
  const { model } = await start(t)
  const plain = await generateText({ model, prompt: 'Which colour?' })
  assert.deepEqual([plain.text, plain.reasoningText, plain.finishReason, plain.usage.inputTokens], ['It is blue.', undefined, 'stop', 9])
  const thought = await generateText({ model, prompt: 'Which colour?', providerOptions: thinks })
  assert.deepEqual([thought.text, thought.reasoningText], ['It is blue.', 'I think.'])
  const stream = streamText({ model, prompt: 'Which colour?', providerOptions: thinks })
  const texts: string[] = []
  for await (const text of stream.textStream) texts.push(text)
  assert.equal(texts.join(''), 'It is blue.')
  assert.deepEqual([await stream.reasoningText, await stream.finishReason], ['I think.', 'stop'])
})

test('Anthropic: the AI SDK runs its tools, streamed or not, and its run goes on', async (t) => {
  const { model, server } = await start(t)
  const asked = { model, prompt: 'The weather?', tools: { weather }, stopWhen: isStepCount(3), providerOptions: thinks }
  const { text, steps } = await generateText(asked)
  assert.deepEqual([text, steps.length], ['It is sunny in Basel.', 2])
  const stream = streamText(asked)
  await stream.consumeStream()
  assert.equal(await stream.text, 'It is sunny in Basel.')
  assert.equal(server.requests.length, 4, 'a run goes on, no other begins')
})

test('Anthropic: the AI SDK gets an object that fits its schema, and the error of another model', async (t) => {
  const { model, provider } = await start(t, { script: () => ({ text: '{"colour":"blue"}' }) })
  const output = Output.object({ schema: z.object({ colour: z.string() }) })
  assert.deepEqual((await generateText({ model, prompt: 'Which?', output })).output, { colour: 'blue' })
  const other = generateText({ model: provider('claude'), prompt: 'Which?', maxRetries: 0 })
  await assert.rejects(other, { statusCode: 404, message: 'model: there is no model claude; use agent-core' })
})
