import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startWire } from './fixture.ts'

/** Stop texts of OpenAI's API: sent where the provider takes them, and else applied by the service. */

const messages = [{ role: 'user', content: 'Which colour?' }]
const sentBy: Record<string, string[]> = {
  'openai-responses': [],
  'xai-responses': [],
  anthropic: ['END'],
  bedrock: ['END'],
  google: ['\n\n', 'END'],
  mistral: ['\n\n', 'END'],
}

for (const [provider, sent] of Object.entries(sentBy)) {
  test(`Wire of ${provider}: an answer stops, and parameters without effect are refused`, async (t) => {
    const { script, service, wire, assertAccepted } = await startWire(t, provider)
    const ask = (rest: object) =>
      service.client.request('POST', '/v1/chat/completions', { body: { model: 'agent-core', messages, ...rest } })
    // A provider that takes a stop would stop itself, so its script has the short text.
    script({ text: sent.includes('\n\n') ? 'It is red.' : 'It is red.\n\nOr blue.' })
    const { body, text } = await ask({ stop: ['\n\n', 'END'] })
    assertAccepted()
    const [{ message, finish_reason: reason }] = body.choices
    assert.deepEqual([message.content, reason], ['It is red.', 'stop'], text)
    assert.ok(body.usage.completion_tokens > 0)
    const { stop, stop_sequences, inferenceConfig, generationConfig } = wire.requests[0]!.body
    assert.deepEqual(stop ?? stop_sequences ?? inferenceConfig?.stopSequences ?? generationConfig?.stopSequences ?? [], sent)
    const takesSeed = provider === 'google' || provider === 'mistral'
    if (takesSeed) script({ text: 'It is red.' })
    const seeded = await ask({ seed: 1 })
    assertAccepted()
    assert.deepEqual([seeded.status, seeded.body.error?.param], takesSeed ? [200, undefined] : [400, 'seed'])
  })
}
