import type { Rule } from '../wire.ts'
import { chatProvider } from './chat.ts'

/** Mistral's ids, its order of roles, and its refusal of unknown fields. */

const ids: Rule = ({ body }) => {
  for (const message of body.messages) {
    const sent = [message.tool_call_id, ...(message.tool_calls ?? []).map(({ id }: { id: string }) => id)]
    const id = sent.find((candidate) => candidate !== undefined && !/^[a-zA-Z0-9]{9}$/.test(candidate))
    if (id !== undefined) return `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`
  }
  return undefined
}

const order: Rule = ({ body }) => {
  const { messages } = body
  for (const [index, { role, prefix }] of messages.entries()) {
    const before = messages[index - 1]?.role
    if (before === 'tool' && role === 'user') return "Unexpected role 'user' after role 'tool'"
    if (before === 'assistant' && role === 'assistant') return "Unexpected role 'assistant' after role 'assistant'"
    if (index === messages.length - 1 && role === 'assistant' && prefix !== true) {
      return 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'
    }
  }
  return undefined
}

const content: Rule = ({ body }) => {
  const isEmpty = body.messages.some(
    ({ role, content: text, tool_calls: calls }: any) => role === 'assistant' && !calls && (text === '' || text === undefined),
  )
  return isEmpty ? 'Assistant message must have either content or tool_calls, but not none.' : undefined
}

export const mistral = chatProvider({
  name: 'mistral',
  llm: { provider: 'mistral', model: 'magistral-medium-latest', api_key: 'k' },
  fields: ['random_seed', 'safe_prompt', 'prompt_mode', 'prediction', 'n', 'metadata'],
  assistantFields: ['prefix'],
  rules: [ids, order, content],
  unknown: (place, field) => `extra_forbidden: body.${place}.${field}: Extra inputs are not permitted`,
  toReasoning: (text) => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] }),
  toCallId: (n, index) => `${n}x${index}`.padStart(9, 'a'),
  refuse(message) {
    const isField = message.startsWith('extra_forbidden')
    const detail = [{ type: 'extra_forbidden', loc: message.split(': ')[1]?.split('.'), msg: 'Extra inputs are not permitted' }]
    return isField
      ? { status: 422, body: { object: 'error', message: { detail }, type: 'invalid_request_error' } }
      : { status: 400, body: { object: 'error', message, type: 'invalid_request_message_order', param: null, code: '3230' } }
  },
})
