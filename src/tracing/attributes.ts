import type { Attributes } from '@opentelemetry/api'
import type { Step, StepStart, TurnEvent } from '../agent/events.ts'
import type { JsonValue, ToolCall } from '../agent/messages.ts'
import type { ModelConfig } from '../configuration/schema.ts'
import type { LiveRun } from '../runs/live-run.ts'
import { outputOf } from '../runs/outcome.ts'
import type { EndEvent } from '../runs/run.ts'

/** Names of the OpenTelemetry semantic conventions for generative AI, and what we have for them. */

/** `gen_ai.provider.name` by our provider; others are named as they are. */
const wellKnown: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'aws.bedrock',
  azure: 'azure.ai.openai',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
}

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
    // How often the run was taken over: one that goes on elsewhere has a span there too.
    'agent_core.attempt': run.fence,
    ...(withContent && { 'gen_ai.input.messages': toMessage('user', [toText(run.input)]) }),
  }
}

export function endAttributes(run: LiveRun, end: EndEvent, withContent: boolean): Attributes {
  const details = end.usage.flatMap((entry) => (entry.details ? [entry.details] : []))
  const sum = (of: 'input' | 'output' | 'cached_input' | 'reasoning') => details.reduce((total, one) => total + one[of], 0)
  return {
    ...usageAttributes({ input: sum('input'), output: sum('output'), cachedInput: sum('cached_input'), reasoning: sum('reasoning') }),
    'gen_ai.response.finish_reasons': [end.reason],
    ...(withContent && { 'gen_ai.output.messages': toMessage('assistant', [toText(outputOf(run.log.events))], end.reason) }),
  }
}

export function chatAttributes(run: LiveRun, { message, usage, finish }: TurnEvent, withContent: boolean): Attributes {
  const { primary, fallback } = run.agent.config.llms
  const config = [primary, ...fallback].find(({ model }) => model === usage.model) ?? primary
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': toProvider(config),
    'gen_ai.request.model': usage.model,
    'gen_ai.response.model': usage.model,
    'gen_ai.conversation.id': run.sessionId,
    ...(config.temperature !== undefined && { 'gen_ai.request.temperature': config.temperature }),
    ...(config.max_output_tokens !== undefined && { 'gen_ai.request.max_tokens': config.max_output_tokens }),
    ...usageAttributes(usage),
    'gen_ai.response.finish_reasons': [finish],
    ...(withContent && {
      'gen_ai.output.messages': toMessage(
        'assistant',
        [...(message.text ? [toText(message.text)] : []), ...message.toolCalls.map(toCallPart)],
        finish,
      ),
    }),
  }
}

export function toolAttributes(run: LiveRun, step: StepStart, withContent: boolean): Attributes {
  return {
    ...entryAttributes(run, step),
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': step.tool,
    'gen_ai.tool.call.id': step.id,
    'gen_ai.tool.type': step.type === 'sub_agent_call' ? 'agent' : 'function',
    ...(step.subAgent !== undefined && { 'gen_ai.agent.name': step.subAgent }),
    ...(withContent && { 'gen_ai.tool.call.arguments': JSON.stringify(step.input) }),
  }
}

/** A call of an MCP server's tool has no span of its own: the conventions want its attributes on the span of the tool. */
function entryAttributes({ agent }: LiveRun, { tool }: StepStart): Attributes {
  const entry = agent.config.tools.find(({ name }) => tool.startsWith(`${name}__`))
  if (!entry) return {}
  if ((entry.type ?? entry.name) !== 'mcp') return { 'agent_core.tool.entry': entry.name }
  const { url } = entry.config ?? {}
  const isRemote = typeof url === 'string'
  return {
    'agent_core.tool.entry': entry.name,
    'mcp.method.name': 'tools/call',
    'network.transport': isRemote ? 'tcp' : 'pipe',
    // What variables hold is told to nobody.
    ...(isRemote && !url.includes('${') && URL.canParse(url) && { 'server.address': new URL(url).hostname }),
  }
}

export function toolEndAttributes(step: Step, withContent: boolean): Attributes {
  return {
    ...(step.artifacts && { 'agent_core.artifacts': step.artifacts.length }),
    ...(withContent && { 'gen_ai.tool.call.result': JSON.stringify(step.output) }),
  }
}

function usageAttributes({ input, output, cachedInput, reasoning }: Omit<TurnEvent['usage'], 'model'>): Attributes {
  return {
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': output,
    'gen_ai.usage.cache_read.input_tokens': cachedInput,
    'gen_ai.usage.reasoning.output_tokens': reasoning,
  }
}

function toProvider({ provider }: ModelConfig): string {
  return wellKnown[provider] ?? provider
}

function toMessage(role: string, parts: JsonValue[], finish_reason?: string): string {
  return JSON.stringify([{ role, parts, ...(finish_reason === undefined ? {} : { finish_reason }) }])
}

function toText(content: string): JsonValue {
  return { type: 'text', content }
}

function toCallPart({ id, name, arguments: text }: ToolCall): JsonValue {
  return { type: 'tool_call', id, name, arguments: text }
}
