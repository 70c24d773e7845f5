import type { Rule } from '../wire.ts'
import { chatProvider } from './chat.ts'

/** Models that always think have no effort, no penalties and no stop. */
const reasoningModel: Rule = ({ body }) => {
  const field = ['presence_penalty', 'frequency_penalty', 'stop'].find((name) => body[name] !== undefined)
  return field === undefined ? undefined : `Model ${body.model} does not support parameter ${field}.`
}

/** A message without content and calls is refused. */
const elements: Rule = ({ body }) => {
  const isEmpty = body.messages.some(
    ({ role, content, tool_calls: calls }: any) => role !== 'tool' && content === '' && calls === undefined,
  )
  return isEmpty ? 'Each message must have at least one content element.' : undefined
}

export const xai = chatProvider({
  name: 'xai',
  llm: { provider: 'xai', model: 'grok-4.3', wire: 'chat-completions', api_key: 'k' },
  rules: [reasoningModel, elements],
  refuse: (message) => ({ status: 400, body: { code: 'Client specified an invalid argument', error: message } }),
})
