import { invalid } from '../../errors.ts'

type IsAsked = (value: unknown) => boolean

/** Each a field, whether it asks for what the agent does not do, and why it does not. */
type Rules = Record<string, [IsAsked, string]>

const given: IsAsked = (value) => value !== undefined && value !== null
const isTrue: IsAsked = (value) => value === true
const filled: IsAsked = (value) => given(value) && !(Array.isArray(value) && value.length === 0)
const forcesTool: IsAsked = (choice) => given(choice) && choice !== 'auto' && choice !== 'none'
const ofAnotherType: IsAsked = (format) => given(format) && (format as { type?: unknown }).type !== 'text'

const ownTools = 'is not supported: the agent uses its own tools'
const notKept = 'is not supported: conversations are kept by the header session-id'

const ofBoth: Rules = {
  tools: [filled, ownTools],
  tool_choice: [forcesTool, ownTools],
  store: [isTrue, notKept],
}

const ofCompletions: Rules = {
  ...ofBoth,
  functions: [filled, ownTools],
  function_call: [forcesTool, ownTools],
  web_search_options: [given, ownTools],
  n: [(n) => given(n) && n !== 1, 'must be 1'],
  response_format: [ofAnotherType, 'only the type text is supported'],
  logprobs: [isTrue, 'is not supported'],
  audio: [given, 'is not supported'],
}

const ofResponses: Rules = {
  ...ofBoth,
  previous_response_id: [given, notKept],
  conversation: [given, notKept],
  background: [isTrue, 'is not supported'],
  prompt: [given, 'is not supported'],
  text: [(text) => given(text) && ofAnotherType((text as { format?: unknown }).format), 'only the format text is supported'],
}

/** Refuses what would be answered otherwise than it was asked; what only tunes the model is ignored. */
function refuse(body: object, rules: Rules): void {
  for (const [field, [isAsked, why]] of Object.entries(rules)) {
    if (isAsked((body as Record<string, unknown>)[field])) throw invalid(['body', field], why, 'unsupported_parameter')
  }
}

export const refuseInCompletion = (body: object): void => refuse(body, ofCompletions)
export const refuseInResponse = (body: object): void => refuse(body, ofResponses)
