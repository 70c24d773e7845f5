import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { PartCollector } from './reply.ts'

const origin = { label: 'anthropic claude', secrets: [] }
const million = 'x'.repeat(1024 * 1024)

const endless: Record<string, (n: number) => LanguageModelV4StreamPart> = {
  'its text': (n) => ({ type: 'text-delta', id: `${n % 2}`, delta: million }),
  'its reasoning': () => ({ type: 'reasoning-delta', id: '1', delta: million }),
  'its call': () => ({ type: 'tool-input-delta', id: '1', delta: million }),
  'its open reasoning': () => ({ type: 'raw', rawValue: { type: 'response.reasoning_text.delta', delta: million } }),
  'its list of calls of the provider': (n) => ({
    type: 'tool-call',
    toolCallId: `${n}`,
    toolName: 'search',
    input: million,
    providerExecuted: true,
  }),
  'its list of results of the provider': (n) => ({
    type: 'tool-result',
    toolCallId: `${n}`,
    toolName: 'search',
    result: { text: million },
  }),
}

for (const [title, make] of Object.entries(endless)) {
  test(`A reply is cut off where ${title} would not end`, () => {
    const collector = new PartCollector(origin, 'openai', [])
    for (let n = 1; n < 16; n++) collector.accept(make(n))
    assert.throws(() => [16, 17].map((n) => collector.accept(make(n))), {
      code: 'unavailable',
      message: 'anthropic claude broke off its answer: the answer is too long',
    })
  })
}

test('Pictures of an answer beyond 64 million characters are left out', () => {
  const collector = new PartCollector(origin, 'google', [])
  const data = million.repeat(24)
  for (let n = 0; n < 4; n++) collector.accept({ type: 'file', mediaType: 'image/png', data: { type: 'data', data } })
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never
  collector.accept({ type: 'finish', finishReason: { unified: 'stop', raw: 'STOP' }, usage })
  assert.equal(collector.toReply('gemini').files?.length, 2)
})
