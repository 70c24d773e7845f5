import type { JsonObject } from '../../../../agent/messages.ts'
import type { ToolChoice } from '../../../../agent/model.ts'
import type { AgentConfig } from '../../../../configuration/schema.ts'
import { invalid } from '../../../../errors.ts'
import type { ChatSource } from '../../core/open-chat.ts'
import { isAny, isNot, ownTools, refuseParameters, toModelOptions, unsupported, type ParameterRules } from '../../model-apis/parameters.ts'
import { toAnswerFormat, Reasoning } from '../parameters.ts'
import { ResponseBody } from './schemas.ts'
import type { ChatBody } from '../../../schemas/chat.ts'

/** Parameters that are accepted only with the values that describe what the agent does anyway. */
export const responseRules: ParameterRules = {
  truncation: [isNot('auto'), 'must be auto: a long conversation is always summarized to fit the model'],
  service_tier: [isNot('auto', 'default'), 'must be auto or default'],
  top_logprobs: [isNot(0), 'is not supported'],
  prompt_cache_retention: [isAny, 'is not supported'],
  prompt: [isAny, 'is not supported: the agent has its own instructions'],
  max_tool_calls: [isAny, 'is not supported: `max_iterations` of the agent limits its tool calls'],
}

/** Kinds of data in items that the agent never outputs, so that there is nothing to include. */
const emptyIncludes = new Set([
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
])

/** Throws for the first parameter that would have no effect. */
export function refuseUnsupported(body: ResponseBody, config: AgentConfig): void {
  refuseParameters(body, { known: ResponseBody.properties, rules: responseRules, config })
  refuseParameters(body.reasoning ?? {}, { known: Reasoning.properties, config, path: ['reasoning'] })
  for (const [index, kind] of (body.include ?? []).entries())
    if (!emptyIncludes.has(kind)) throw unsupported(['include', index], 'is not supported')
  if (body.stream_options?.include_obfuscation) throw unsupported(['stream_options', 'include_obfuscation'], 'is not supported')
  if (body.background && body.store === false) throw invalid(['body', 'background'], 'requires store: the result is read later')
  if (body.conversation && body.previous_response_id)
    throw invalid(['body', 'previous_response_id'], 'cannot be combined with conversation')
}

/** The part of a chat that follows from the parameters: client tools, the schema of the answer, and the options of the model. */
export function toChatOptions(
  body: ResponseBody,
  llms: AgentConfig['llms'],
): Pick<ChatSource, 'modelOptions' | 'toolLoc' | 'schemaAt'> & { body: Partial<ChatBody> } {
  const tools = toClientTools(body.tools)
  const { temperature, top_p, presence_penalty, frequency_penalty, parallel_tool_calls, reasoning, max_output_tokens } = body
  const modelParameters = { temperature, top_p, presence_penalty, frequency_penalty, parallel_tool_calls, reasoning, max_output_tokens }
  const format = toAnswerFormat(body.text?.format, ['body', 'text', 'format'])
  return {
    body: {
      ...(tools.length > 0 && { client_tools: tools }),
      ...(format && { response_schema: format.response_schema }),
    },
    schemaAt: format?.at,
    toolLoc: (index, field) => ['body', 'tools', index, field === 'schema' ? 'parameters' : field],
    modelOptions: toModelOptions(modelParameters, toToolChoice(body.tool_choice, body.tools), llms),
  }
}

function toClientTools(tools: ResponseBody['tools']): NonNullable<ChatBody['client_tools']> {
  return (tools ?? []).map(({ type, name, description, parameters }, index) => {
    if (type !== 'function') throw unsupported(['tools', index, 'type'], `${type} ${ownTools}; only function tools are added`)
    if (!name) throw invalid(['body', 'tools', index, 'name'], 'is required', 'missing')
    return { name, description: description ?? null, schema: parameters ?? null }
  })
}

type Format = NonNullable<NonNullable<ResponseBody['text']>['format']>

function toToolChoice(choice: ResponseBody['tool_choice'], tools: ResponseBody['tools']): ToolChoice | undefined {
  if (choice === null || choice === undefined || choice === 'auto' || choice === 'none') return choice ?? undefined
  const names = (tools ?? []).map(({ name }) => name)
  if (choice === 'required') {
    if (names.length === 0) throw unsupported(['tool_choice'], `requires tools: without them, the agent decides about its own tools`)
    return choice
  }
  if (choice.type !== 'function') throw unsupported(['tool_choice'], `of type ${choice.type} ${ownTools}`)
  const { name } = choice
  if (!name || !names.includes(name)) throw invalid(['body', 'tool_choice', 'name'], 'must be the name of a tool of the request')
  return { name }
}

/** The parameters of a request that the response repeats, with the defaults. */
export type ResponseFields = ReturnType<typeof toResponseFields>

/** The fields that the response repeats. `conversation` is present where the request names one. */
export function toResponseFields(body: ResponseBody) {
  const { conversation, tools, tool_choice: choice, text, reasoning } = body
  const conversationId = typeof conversation === 'string' ? conversation : conversation?.id
  return {
    model: body.model,
    instructions: body.instructions ?? null,
    metadata: body.metadata ?? {},
    previous_response_id: body.previous_response_id ?? null,
    conversation: conversationId === undefined ? null : { id: conversationId },
    store: body.store ?? true,
    background: body.background ?? false,
    tools: (tools ?? []).map(toTool),
    tool_choice: choice ?? 'auto',
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    text: { format: toFormat(text?.format), ...(text?.verbosity ? { verbosity: text.verbosity } : {}) },
    reasoning: reasoning ? { effort: reasoning.effort ?? null, summary: summaryOf(body) } : null,
    temperature: body.temperature ?? 1,
    top_p: body.top_p ?? 1,
    presence_penalty: body.presence_penalty ?? 0,
    frequency_penalty: body.frequency_penalty ?? 0,
    max_output_tokens: body.max_output_tokens ?? null,
    user: body.user ?? null,
    safety_identifier: body.safety_identifier ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
  }
}

function summaryOf({ reasoning }: ResponseBody): string | null {
  return reasoning?.summary ?? reasoning?.generate_summary ?? null
}

function toTool({ name, description, parameters, strict }: NonNullable<ResponseBody['tools']>[number]): JsonObject {
  return {
    type: 'function',
    name: name ?? '',
    description: description ?? null,
    parameters: (parameters ?? null) as JsonObject | null,
    strict: strict ?? null,
  }
}

function toFormat(format: Format | null | undefined): JsonObject {
  if (format?.type !== 'json_schema') return { type: format?.type ?? 'text' }
  const { type, name, description, schema, strict } = format
  return {
    type,
    name: name ?? '',
    description: description ?? null,
    schema: (schema ?? null) as JsonObject | null,
    strict: strict ?? false,
  }
}
