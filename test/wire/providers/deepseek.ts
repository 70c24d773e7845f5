import type { Rule } from '../wire.ts'
import { chatProvider } from './chat.ts'

/** DeepSeek V4 thinks unless told otherwise. */
const thinks = ({ thinking }: any): boolean => thinking?.type !== 'disabled'

/** In thinking mode, each assistant message needs the reasoning with which it was made. */
const reasoning: Rule = ({ body }) => {
  const isMissing =
    thinks(body) && body.messages.some((message: any) => message.role === 'assistant' && typeof message.reasoning_content !== 'string')
  return isMissing ? 'The `reasoning_content` in the thinking mode must be passed back to the API.' : undefined
}

const choice: Rule = ({ body }) => {
  const isForced = body.tool_choice !== undefined && body.tool_choice !== 'auto' && body.tool_choice !== 'none'
  return thinks(body) && isForced ? 'Thinking mode does not support this tool_choice' : undefined
}

export const deepseek = chatProvider({
  name: 'deepseek',
  llm: { provider: 'openai-compatible', model: 'deepseek-v4-pro', api_key: 'k' },
  rules: [reasoning, choice],
  lesson: /must be passed back to the API|not support this tool_choice/,
})
