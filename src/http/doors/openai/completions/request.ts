import type { ToolChoice } from '../../../../agent/model.ts'
import type { AgentConfig } from '../../../../configuration/schema.ts'
import { invalid, type Fault } from '../../../../errors.ts'
import type { BroughtCall } from '../../../../runs/run.ts'
import type { ChatSource } from '../../core/open-chat.ts'
import type { ToolOutput } from '../../model-apis/answered-run.ts'
import { requiredText, toBroughtChat, type Entry, type Turn } from '../../model-apis/brought-chat.ts'
import {
  isAny,
  isNot,
  ownTools,
  refuseOtherModel,
  refuseParameters,
  toModelOptions,
  type ParameterRules,
} from '../../model-apis/parameters.ts'
import { toPlainId } from '../../model-apis/call-ids.ts'
import { toTurn } from '../messages.ts'
import { Reasoning, toAnswerFormat, toInstructions } from '../parameters.ts'
import { CompletionBody, type CompletionMessage } from './schemas.ts'
import type { ChatBody } from '../../../schemas/chat.ts'

type Loc = Fault['loc']

/** What a completion asks for. */
interface CompletionRequest {
  source: ChatSource
  /** The outputs that end the request, as the client sent them; empty if the request ends with a question. */
  outputs: ToolOutput[]
}

/** Reads a body. Throws for parameters without effect, for another model, and for messages that are no chat. */
export function toCompletionRequest(body: CompletionBody, config: AgentConfig): CompletionRequest {
  refuseWithoutEffect(body, config)
  refuseOtherModel(body.model, config)
  const entries = toEntries(body.messages, ['body', 'messages'])
  const { messages, images, sentFiles, continuation } = toBroughtChat(entries)
  const format = toAnswerFormat(body.response_format, ['body', 'response_format'])
  const { tools, toolChoice } = toTools(body)
  const { max_completion_tokens, max_tokens } = body
  return {
    source: {
      body: {
        messages: [],
        client_tools: tools,
        ...(images.length > 0 && { images }),
        ...(format && { response_schema: format.response_schema }),
      },
      at: ['body'],
      schemaAt: format?.at,
      messages,
      sentFiles,
      continuation,
      modelOptions: toModelOptions({ ...body, max_output_tokens: max_completion_tokens ?? max_tokens }, toolChoice, config.llms),
      toolLoc: (index, field) => ['body', 'tools', index, 'function', field === 'schema' ? 'parameters' : field],
      instructions: toInstructions(undefined, body.verbosity),
      hasShortWait: true,
    },
    outputs: (entries.findLast(({ role }) => role !== 'system')?.calls ?? []).map(({ id, result }) => ({ callId: id, output: result })),
  }
}

/** Each call must have its output in a tool message behind it. */
function toEntries(messages: readonly CompletionMessage[], at: Loc): Entry[] {
  const entries: Entry[] = []
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]!
    const loc = [...at, index]
    if (message.role === 'tool') throw invalid([...loc, 'role'], 'a tool message must follow an assistant message with its tool_calls')
    const calls = message.role === 'assistant' && message.tool_calls?.length ? toCalls(messages, index, at) : undefined
    entries.push({ ...toEntry(message, loc), ...(calls ? { calls } : {}) })
    index += calls?.length ?? 0
  }
  return entries
}

function toEntry(message: CompletionMessage, at: Loc): Turn {
  if (message.function_call !== undefined && message.function_call !== null)
    throw invalid([...at, 'function_call'], 'is not supported: use tool_calls', 'unsupported_parameter')
  return toTurn({ role: message.role === 'tool' ? 'user' : message.role, content: message.content ?? null }, at)
}

/** The calls of the message at `index`, with the outputs of the tool messages behind it. */
function toCalls(messages: readonly CompletionMessage[], index: number, at: Loc): BroughtCall[] {
  const calls = messages[index]!.tool_calls ?? []
  const outputs = new Map<string, string>()
  for (let next = index + 1; messages[next]?.role === 'tool'; next++) {
    const { tool_call_id: sentId, content } = messages[next]!
    const loc = [...at, next]
    const id = requiredText(sentId, [...loc, 'tool_call_id'])
    if (!calls.some((call) => call.id === id)) throw invalid([...loc, 'tool_call_id'], `the message before has no tool call ${id}`)
    if (outputs.has(id)) throw invalid([...loc, 'tool_call_id'], `the call ${id} has another output already`)
    outputs.set(id, toTurn({ role: 'system', content: content ?? '' }, loc).content)
  }
  const missing = calls.filter(({ id }) => !outputs.has(id)).map(({ id }) => id)
  if (missing.length > 0 || new Set(calls.map(({ id }) => id)).size < calls.length) {
    throw invalid(
      [...at, index, 'tool_calls'],
      `each call needs a tool message with its output; missing: ${missing.join(', ') || 'equal ids'}`,
    )
  }
  return calls.map(({ id, function: { name, arguments: input } }) => {
    return { id: toPlainId(id), name, arguments: input, result: outputs.get(id)! }
  })
}

const isTrue = (value: unknown): boolean => value === true

const notSupported = 'is not supported'

const rules: ParameterRules = {
  functions: [(list) => !(Array.isArray(list) && list.length === 0), 'is not supported: use tools'],
  function_call: [isNot('auto', 'none'), 'is not supported: use tool_choice'],
  web_search_options: [isAny, ownTools],
  n: [isNot(1), 'must be 1'],
  logprobs: [isTrue, notSupported],
  top_logprobs: [isNot(0), notSupported],
  logit_bias: [(bias) => Object.keys(Object(bias)).length > 0, notSupported],
  modalities: [(types) => String(types) !== 'text', 'only text is supported'],
  service_tier: [isNot('auto', 'default'), 'must be auto or default'],
  audio: [isAny, notSupported],
  prediction: [isAny, notSupported],
}

/** Refuses parameters that would change the answer but have no effect here. */
function refuseWithoutEffect(body: CompletionBody, config: AgentConfig): void {
  refuseParameters(body, { known: CompletionBody.properties, rules, config })
  refuseParameters(body.reasoning ?? {}, { known: Reasoning.properties, config, path: ['reasoning'] })
  const { reasoning_effort: effort, reasoning } = body
  if (effort && reasoning?.effort && effort !== reasoning.effort)
    throw invalid(['body', 'reasoning', 'effort'], 'differs from reasoning_effort')
}

/** The tools of a request for the run, with the demand on their use. */
interface RequestedTools {
  tools: NonNullable<ChatBody['client_tools']>
  toolChoice: ToolChoice | undefined
}

/** Tools and their choice. Tools that the request does not allow are left out. */
function toTools({ tools, tool_choice: choice }: Pick<CompletionBody, 'tools' | 'tool_choice'>): RequestedTools {
  const all = (tools ?? []).map(({ function: { name, description, parameters } }) => ({ name, description, schema: parameters }))
  const at = ['body', 'tool_choice']
  if (choice === undefined || choice === null || choice === 'auto' || choice === 'none')
    return { tools: all, toolChoice: choice ?? undefined }
  if (all.length === 0) throw invalid(at, 'is allowed only with tools')
  const assertKnown = (name: string, path: (string | number)[]) => {
    if (!all.some((tool) => tool.name === name)) throw invalid([...at, ...path], `there is no tool ${name} in tools`)
  }
  if (choice === 'required') return { tools: all, toolChoice: choice }
  if (choice.type === 'function') {
    const { name } = choice.function
    assertKnown(name, ['function', 'name'])
    return { tools: all, toolChoice: { name } }
  }
  const { mode, tools: allowed } = choice.allowed_tools
  for (const [index, tool] of allowed.entries()) assertKnown(tool.function.name, ['allowed_tools', 'tools', index, 'function', 'name'])
  const names = new Set(allowed.map((tool) => tool.function.name))
  return { tools: all.filter(({ name }) => names.has(name)), toolChoice: mode }
}
