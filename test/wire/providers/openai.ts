import type { Rule, WireRequest } from '../wire.ts'
import { chatProvider } from './chat.ts'

/** OpenAI and Azure refuse fields that are unknown, and those that reasoning models do not have. */

const isReasoningModel = (model: string): boolean => /^(?:gpt-5|o\d)/.test(model)

export const unknownParameter = (place: string, field: string): string =>
  place === '' ? `Unrecognized request argument supplied: ${field}` : `Unknown parameter: '${place}.${field}'.`

/** Reasoning models, and their tools with an effort, which the newest allow with the responses API only. */
export function reasoningModel(modelOf: (request: WireRequest) => string): Rule {
  return (request) => {
    const { body } = request
    const model = modelOf(request)
    if (!isReasoningModel(model))
      return body.reasoning_effort === undefined ? undefined : 'Unrecognized request argument supplied: reasoning_effort'
    if (body.max_tokens !== undefined) {
      return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    }
    if (body.temperature !== undefined && body.temperature !== 1) {
      return `Unsupported value: 'temperature' does not support ${body.temperature} with this model. Only the default (1) value is supported.`
    }
    if (/^gpt-5\.[56]/.test(model) && body.tools !== undefined && body.reasoning_effort !== 'none') {
      return `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`
    }
    return undefined
  }
}

const fields = ['max_completion_tokens', 'store', 'metadata', 'service_tier', 'prompt_cache_key', 'safety_identifier', 'verbosity']

const key: Rule = ({ headers }) => (headers.authorization === 'Bearer k' ? undefined : 'Incorrect API key provided.')
const azureKey: Rule = ({ headers }) => (headers['api-key'] === 'k' ? undefined : 'Access denied due to invalid subscription key.')

export const openai = chatProvider({
  name: 'openai',
  llm: { provider: 'openai', model: 'gpt-5.6', wire: 'chat-completions', api_key: 'k', reasoning_effort: 'none' },
  fields,
  hidesReasoning: true,
  assistantFields: ['refusal', 'audio'],
  unknown: unknownParameter,
  rules: [key, reasoningModel(({ body }) => body.model)],
})

export const azure = chatProvider({
  name: 'azure',
  llm: { provider: 'azure', model: 'gpt-5-mini', wire: 'chat-completions', api_key: 'k' },
  basePath: '',
  paths: /^\/openai\/deployments\/gpt-5-mini\/chat\/completions\?api-version=\d{4}-\d\d-\d\d$/,
  fields,
  hidesReasoning: true,
  unknown: unknownParameter,
  rules: [azureKey, reasoningModel(() => 'gpt-5-mini')],
})
