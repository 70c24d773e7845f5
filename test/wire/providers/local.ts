import type { Rule, WireProvider } from '../wire.ts'
import { chatProvider } from './chat.ts'

/** Servers of open models: templates that fail for an order of roles, and arguments that must be JSON. */

const systemFirst: Rule = ({ body }) => {
  const at = body.messages.findLastIndex(({ role }: { role: string }) => role === 'system')
  return at > 0 ? 'System message must be at the beginning.' : undefined
}

const alternation: Rule = ({ body }) => {
  const roles = body.messages.map(({ role }: { role: string }) => role)
  const isTwice = roles.some((role: string, index: number) => role === roles[index - 1] && (role === 'user' || role === 'assistant'))
  return isTwice ? 'Conversation roles must alternate user/assistant/user/assistant/...' : undefined
}

const argumentsAreJson: Rule = ({ body }) => {
  for (const { tool_calls: calls = [] } of body.messages) {
    for (const call of calls) {
      try {
        JSON.parse(call.function.arguments)
      } catch {
        return 'Unterminated string in the arguments of a tool call'
      }
    }
  }
  return undefined
}

const basis = { provider: 'openai-compatible', model: 'qwen3' }

export const ollama: WireProvider = chatProvider({
  name: 'ollama',
  llm: basis,
  rules: [argumentsAreJson],
  toReasoning: (text) => ({ reasoning: text }),
  refuse: (message) => ({ status: 400, body: { error: { message, type: 'invalid_request_error', param: null, code: null } } }),
})

export const vllm: WireProvider = chatProvider({
  name: 'vllm',
  llm: basis,
  rules: [systemFirst, argumentsAreJson],
  toReasoning: (text) => ({ reasoning: text, reasoning_content: text }),
  refuse: (message) => ({ status: 400, body: { error: { message, type: 'BadRequestError', param: null, code: 400 } } }),
})

export const llamacpp: WireProvider = chatProvider({
  name: 'llamacpp',
  llm: basis,
  rules: [systemFirst, alternation, argumentsAreJson],
  lesson: /roles must alternate/,
  refuse: (message) => ({ status: 500, body: { error: { code: 500, message, type: 'server_error' } } }),
})
