import type { Rule } from '../wire.ts'
import { chatProvider } from './chat.ts'

/** In thinking mode, each assistant message needs the reasoning with which it was made. */
const reasoning: Rule = ({ body }) => {
  const isMissing = body.messages.some((message: any) => message.role === 'assistant' && typeof message.reasoning_content !== 'string')
  return isMissing ? 'The `reasoning_content` in the thinking mode must be passed back to the API.' : undefined
}

export const deepseek = chatProvider({
  name: 'deepseek',
  llm: { provider: 'openai-compatible', model: 'deepseek-v4-pro', api_key: 'k' },
  rules: [reasoning],
  lesson: /must be passed back to the API/,
})
