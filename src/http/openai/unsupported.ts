import { invalid } from '../../errors.ts'

type IsRefused = (value: unknown) => boolean

/** By field: whether its value is refused, and the message. */
type FieldRules = Record<string, [IsRefused, string]>

const isPresent: IsRefused = (value) => value !== undefined && value !== null
const isTrue: IsRefused = (value) => value === true
const isNotEmpty: IsRefused = (value) => isPresent(value) && !(Array.isArray(value) && value.length === 0)
const forcesTool: IsRefused = (choice) => isPresent(choice) && choice !== 'auto' && choice !== 'none'
const isOtherType: IsRefused = (format) => isPresent(format) && (format as { type?: unknown }).type !== 'text'

const ownToolsOnly = 'is not supported: the agent uses its own tools'
const useSessionId = 'is not supported: use the header session-id to continue a conversation'

const sharedRules: FieldRules = {
  tools: [isNotEmpty, ownToolsOnly],
  tool_choice: [forcesTool, ownToolsOnly],
  store: [isTrue, useSessionId],
}

const completionRules: FieldRules = {
  ...sharedRules,
  functions: [isNotEmpty, ownToolsOnly],
  function_call: [forcesTool, ownToolsOnly],
  web_search_options: [isPresent, ownToolsOnly],
  n: [(n) => isPresent(n) && n !== 1, 'must be 1'],
  response_format: [isOtherType, 'only the type text is supported'],
  logprobs: [isTrue, 'is not supported'],
  audio: [isPresent, 'is not supported'],
}

const responseRules: FieldRules = {
  ...sharedRules,
  previous_response_id: [isPresent, useSessionId],
  conversation: [isPresent, useSessionId],
  background: [isTrue, 'is not supported'],
  prompt: [isPresent, 'is not supported'],
  text: [(text) => isPresent(text) && isOtherType((text as { format?: unknown }).format), 'only the format text is supported'],
}

/** Refuses parameters that would change the answer but are not supported. Sampling parameters are ignored. */
function refuse(body: object, rules: FieldRules): void {
  for (const [field, [isRefused, message]] of Object.entries(rules)) {
    if (isRefused((body as Record<string, unknown>)[field])) throw invalid(['body', field], message, 'unsupported_parameter')
  }
}

export const refuseInCompletion = (body: object): void => refuse(body, completionRules)
export const refuseInResponse = (body: object): void => refuse(body, responseRules)
