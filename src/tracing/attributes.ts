import type { Attributes } from '@opentelemetry/api'
import type { Step, StepStart } from '../agent/events.ts'
import type { JsonValue, Message, ToolCall } from '../agent/messages.ts'
import type { Model, ModelReply, ModelRequest, ModelUsage } from '../agent/model.ts'
import { providers, type ProviderTraits } from '../configuration/providers.ts'
import type { ModelConfig } from '../configuration/schema.ts'
import { findToolType } from '../configuration/tool-types.ts'
import { outputOf } from '../runs/log/outcome.ts'
import type { LiveRun } from '../runs/ownership/live-run.ts'
import type { EndEvent } from '../runs/run.ts'

/** Attributes of spans, named by the OpenTelemetry semantic conventions for generative AI. */

/** Maximum characters of one attribute; content may be long. */
export const maxContent = 65_536

export function runAttributes(run: LiveRun, withContent: boolean): Attributes {
  const { config, model } = run.agent
  return {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.id': config.id,
    'gen_ai.agent.name': config.name,
    'gen_ai.agent.version': run.agent.version,
    'gen_ai.conversation.id': run.sessionId,
    'gen_ai.provider.name': toProvider(config.llms.primary),
    'gen_ai.request.model': model.name,
    'agent_core.request_id': run.key.requestId,
    'agent_core.tenant': run.key.tenant,
    'agent_core.operation': run.operation,
    ...replayAttributes(run),
    // Number of takeovers: a run that continues in another process has a span there too.
    'agent_core.attempt': run.fence,
    ...(withContent && { 'gen_ai.input.messages': toMessage('user', [toText(run.input)]) }),
  }
}

/** Marks every span of a replay, so that dashboards leave replays out. */
function replayAttributes({ operation }: LiveRun): Attributes {
  return operation === 'experiment' ? { 'agent_core.replayed': true } : {}
}

export function endAttributes(run: LiveRun, end: EndEvent, withContent: boolean): Attributes {
  const details = end.usage.flatMap((entry) => (entry.details ? [entry.details] : []))
  const sum = (kind: 'input' | 'output' | 'cached_input' | 'cache_write' | 'reasoning') =>
    details.reduce((total, usage) => total + (usage[kind] ?? 0), 0)
  const [cachedInput, cacheWrite] = [sum('cached_input'), sum('cache_write')]
  return {
    ...usageAttributes({ input: sum('input'), output: sum('output'), cachedInput, cacheWrite, reasoning: sum('reasoning') }),
    'gen_ai.response.finish_reasons': [end.reason],
    ...(withContent && { 'gen_ai.output.messages': toMessage('assistant', [toText(outputOf(run.log.events.slice()))], end.reason) }),
  }
}

/** Attributes known before a model call. */
export function requestAttributes(run: LiveRun, model: Model, { system, messages }: ModelRequest, withContent: boolean): Attributes {
  const { primary, fallback } = run.agent.config.llms
  const config = [primary, ...fallback].find((candidate) => candidate.model === model.name) ?? primary
  const { server } = model
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': toProvider(config),
    'gen_ai.request.model': model.name,
    'gen_ai.conversation.id': run.sessionId,
    ...replayAttributes(run),
    ...(server && { 'server.address': server.address, 'server.port': server.port }),
    ...(config.temperature !== undefined && { 'gen_ai.request.temperature': config.temperature }),
    ...(config.max_output_tokens !== undefined && { 'gen_ai.request.max_tokens': config.max_output_tokens }),
    ...(withContent && { 'gen_ai.input.messages': toInputMessages(messages, maxContent) }),
    ...(withContent && system !== '' && { 'gen_ai.system_instructions': JSON.stringify([toText(system)]) }),
  }
}

export function replyAttributes({ text, toolCalls, usage, finish }: ModelReply, withContent: boolean): Attributes {
  const parts = () => [...(text === '' ? [] : [toText(text)]), ...toolCalls.map(toCallPart)]
  return {
    'gen_ai.response.model': usage.model,
    ...usageAttributes(usage),
    'gen_ai.response.finish_reasons': [finish],
    ...(withContent && { 'gen_ai.output.messages': toMessage('assistant', parts(), finish) }),
  }
}

export function toolAttributes(run: LiveRun, step: StepStart, withContent: boolean): Attributes {
  return {
    ...entryAttributes(run, step),
    ...replayAttributes(run),
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': step.tool,
    'gen_ai.tool.call.id': step.id,
    'gen_ai.tool.type': step.type === 'sub_agent_call' ? 'agent' : 'function',
    ...(step.subAgent !== undefined && { 'gen_ai.agent.name': step.subAgent }),
    ...(withContent && { 'gen_ai.tool.call.arguments': JSON.stringify(step.input) }),
  }
}

/** Calls of MCP tools get no span of their own: the conventions want the attributes on the span of the tool. */
function entryAttributes({ agent }: LiveRun, { tool }: StepStart): Attributes {
  const entry = agent.config.tools.find(({ name }) => tool.startsWith(`${name}__`))
  if (!entry) return {}
  if (findToolType(entry.type ?? entry.name)?.protocol !== 'mcp') return { 'agent_core.tool.entry': entry.name }
  const { url } = entry.config ?? {}
  const isRemote = typeof url === 'string'
  return {
    'agent_core.tool.entry': entry.name,
    'mcp.method.name': 'tools/call',
    'network.transport': isRemote ? 'tcp' : 'pipe',
    // Values of environment variables are never exported.
    ...(isRemote && !url.includes('${') && URL.canParse(url) && { 'server.address': new URL(url).hostname }),
  }
}

export function toolEndAttributes(step: Step, withContent: boolean): Attributes {
  return {
    ...(step.artifacts && { 'agent_core.artifacts': step.artifacts.length }),
    ...(withContent && { 'gen_ai.tool.call.result': JSON.stringify(step.output) }),
  }
}

function usageAttributes({ input, output, cachedInput, cacheWrite, reasoning }: Omit<ModelUsage, 'model'>): Attributes {
  return {
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': output,
    'gen_ai.usage.cache_read.input_tokens': cachedInput,
    ...(cacheWrite && { 'gen_ai.usage.cache_creation.input_tokens': cacheWrite }),
    'gen_ai.usage.reasoning.output_tokens': reasoning,
  }
}

function toProvider({ provider }: ModelConfig): string {
  const { otelName }: ProviderTraits = providers[provider]
  return otelName ?? provider
}

/** Messages in the form of the semantic conventions (`gen-ai-input-messages.json`, `gen-ai-output-messages.json`). */

/** The newest messages of a transcript as JSON of at most `maxCharacters`: truncated JSON would be unreadable. */
export function toInputMessages(messages: readonly Message[], maxCharacters: number): string {
  const texts: string[] = []
  let size = 2
  for (const message of messages.toReversed()) {
    const text = JSON.stringify({ role: message.role, parts: toParts(message) })
    size += text.length + 1
    if (size > maxCharacters) break
    texts.push(text)
  }
  return `[${texts.toReversed().join(',')}]`
}

function toMessage(role: string, parts: JsonValue[], finish_reason?: string): string {
  return JSON.stringify([{ role, parts, ...(finish_reason === undefined ? {} : { finish_reason }) }])
}

function toText(content: string): JsonValue {
  return { type: 'text', content }
}

function toCallPart({ id, name, arguments: text }: Pick<ToolCall, 'name' | 'arguments'> & { id?: string }): JsonValue {
  return { type: 'tool_call', ...(id !== undefined && { id }), name, arguments: text }
}

function toParts(message: Message): JsonValue[] {
  if (message.role === 'assistant') return [...textOf(message.text), ...message.toolCalls.map(toCallPart)]
  const textParts =
    message.role === 'tool' ? [{ type: 'tool_call_response', id: message.callId, response: message.text }] : textOf(message.text)
  // Images and files appear by type only: their bytes would be most of the trace.
  const files = message.role === 'user' ? (message.files ?? []) : []
  return [...textParts, ...[...(message.images ?? []), ...files].map(toBlob)]
}

/** `modality` is the first part of the type, such as `image` or `audio`; documents have none. */
function toBlob({ mediaType }: { mediaType: string }): JsonValue {
  const modality = /^(image|audio|video)\//.exec(mediaType)?.[1]
  return { type: 'blob', ...(modality !== undefined && { modality }), mime_type: mediaType }
}

function textOf(text: string): JsonValue[] {
  return text === '' ? [] : [toText(text)]
}
