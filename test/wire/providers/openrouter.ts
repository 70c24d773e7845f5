import { sign, type Answer, type Rule } from '../wire.ts'
import { chatProvider } from './chat.ts'

/** Gemini over OpenRouter: calls of the current turn need the details of the reasoning, unchanged. */

const textOf = ({ name, input }: NonNullable<Answer['calls']>[number]): string => `${name}${JSON.stringify(input)}`

const details: Rule = ({ body }) => {
  const turn = body.messages.slice(body.messages.findLastIndex(({ role }: { role: string }) => role === 'user') + 1)
  for (const { tool_calls: calls, reasoning_details: list } of turn) {
    if (calls === undefined) continue
    const [call] = calls
    const { name, arguments: input } = call.function
    const encrypted = list?.find(({ type }: { type: string }) => type === 'reasoning.encrypted')
    if (!encrypted) {
      return 'Gemini models require OpenRouter reasoning details to be preserved in each request. Please refer to our docs: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens#preserving-reasoning.'
    }
    if (encrypted.data !== 'skip_thought_signature_validator' && encrypted.data !== sign('openrouter', `${name}${input}`))
      return 'Corrupted thought signature.'
  }
  return undefined
}

export const openrouter = chatProvider({
  name: 'openrouter',
  llm: { provider: 'openai-compatible', model: 'google/gemini-3-pro-preview', api_key: 'k' },
  basePath: '/api/v1',
  paths: /^\/api\/v1\/chat\/completions$/,
  rules: [details],
  toReasoning: (text) => ({
    reasoning: text,
    reasoning_details: [{ type: 'reasoning.text', text, format: 'google-gemini-v1', index: 0 }],
  }),
  refuse: (raw) => ({
    status: 400,
    body: { error: { message: 'Provider returned error', code: 400, metadata: { raw, provider_name: 'Google AI Studio' } } },
  }),
  lesson: /reasoning details to be preserved/,
})

const { stream } = openrouter

/** The signature comes with a chunk of its own, before the calls. */
openrouter.stream = (answer, n) => {
  const events = stream(answer, n)
  const [call] = answer.calls ?? []
  if (!call) return events
  const encrypted = { type: 'reasoning.encrypted', data: sign('openrouter', textOf(call)), format: 'google-gemini-v1', index: 1 }
  const delta = { reasoning_details: [encrypted] }
  const [first, ...others] = events
  const signed = Buffer.from(`data: ${JSON.stringify({ id: `chatcmpl-${n}`, choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`)
  return [first!, signed, ...others]
}
