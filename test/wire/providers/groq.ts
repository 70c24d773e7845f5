import { chatProvider } from './chat.ts'

/** Groq refuses unknown fields. Its open models take their thoughts back as `reasoning` only. */
export const groq = chatProvider({
  name: 'groq',
  llm: { provider: 'openai-compatible', model: 'openai/gpt-oss-120b', api_key: 'k' },
  basePath: '/openai/v1',
  paths: /^\/openai\/v1\/chat\/completions$/,
  fields: ['max_completion_tokens', 'include_reasoning', 'reasoning_format', 'service_tier'],
  assistantFields: ['reasoning'],
  toReasoning: (text) => ({ reasoning: text, channel: 'analysis' }),
  unknown(place, field) {
    if (place === '') return `property '${field}' is unsupported`
    const path = `'${place.replace(/\[(\d+)\]/, '.$1')}'`
    return `${path} : for 'role:assistant' the following must be satisfied[(${path} : property '${field}' is unsupported)]`
  },
})
