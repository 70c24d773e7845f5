import type { ToolChoice } from '../../../agent/model.ts'
import type { AgentConfig } from '../../../configuration/schema.ts'
import { invalid } from '../../../errors.ts'
import { messageLimits } from '../../../runs/steering/run-messages.ts'
import type { ChatBody } from '../../schemas/chat.ts'
import type { ChatSource } from '../core/open-chat.ts'
import type { ToolOutput } from '../model-apis/answered-run.ts'
import { toBroughtChat } from '../model-apis/brought-chat.ts'
import {
  isAny,
  isNot,
  ownTools,
  refuseOtherModel,
  refuseParameters,
  toModelOptions,
  type ParameterRules,
} from '../model-apis/parameters.ts'
import { noThreads } from './errors.ts'
import { toConversation, type Conversation } from './messages.ts'
import { CountBody, MessagesBody, OutputConfig, Thinking, unset } from './schemas.ts'

/** What a request asks for. */
export interface MessagesRequest {
  source: ChatSource
  /** The outputs that end the request; empty if the request ends with a question that a run of its own answers. */
  outputs: ToolOutput[]
  /** The text beside the outputs; empty for none. */
  message: string
  showsThinking: boolean
}

type AnyBody = CountBody & Partial<MessagesBody>

/** Reads a body. Throws for parameters without effect, for another model, and for messages that are no chat. */
export function toMessagesRequest(body: AnyBody, schema: typeof MessagesBody | typeof CountBody, config: AgentConfig): MessagesRequest {
  refuseWithoutEffect(body, schema, config)
  refuseOtherModel(body.model, config)
  const conversation = toConversation(body.messages, ['body', 'messages'])
  const { messages, images, sentFiles, continuation } = toBroughtChat(conversation.entries)
  const format = body.output_config?.format ?? body.output_format
  const { tools, toolChoice } = toTools(body)
  return {
    source: {
      body: { messages: [], client_tools: tools, ...(images.length > 0 && { images }), ...(format && { response_schema: format.schema }) },
      at: ['body'],
      schemaAt: ['body', ...(body.output_config?.format ? ['output_config', 'format'] : ['output_format']), 'schema'],
      messages,
      sentFiles,
      continuation,
      modelOptions: toOptions(body, toolChoice, config),
      toolLoc: (index, field) => ['body', 'tools', index, field === 'schema' ? 'input_schema' : field],
      instructions: toSystem(body.system),
      hasShortWait: true,
    },
    ...toFinal(conversation),
    showsThinking: isShown(body.thinking),
  }
}

/** Outputs resume a run only with what can be sent to the run: a text of limited length. */
function toFinal({ outputs, beside }: Conversation): Pick<MessagesRequest, 'outputs' | 'message'> {
  const message = beside?.content ?? ''
  const hasFiles = beside !== undefined && beside.images.length + beside.files.length > 0
  return hasFiles || message.length > messageLimits.characters ? { outputs: [], message: '' } : { outputs, message }
}

function toSystem(system: AnyBody['system']): string | undefined {
  const texts = typeof system === 'string' ? [system] : (system ?? []).map(({ text }) => text ?? '')
  return texts.filter((text) => text !== '').join('\n\n') || undefined
}

function isShown(thinking: AnyBody['thinking']): boolean {
  return (thinking?.type === 'enabled' || thinking?.type === 'adaptive') && thinking.display !== 'omitted'
}

function toOptions(body: AnyBody, toolChoice: ToolChoice | undefined, { llms }: AgentConfig) {
  const { temperature, top_p, stop_sequences: stop, tool_choice: choice, thinking, output_config: output } = body
  const max = Math.min(body.max_tokens ?? Infinity, llms.primary.max_output_tokens ?? Infinity)
  const wanted = {
    temperature,
    top_p: top_p === unset ? undefined : top_p,
    stop,
    parallel_tool_calls: choice?.disable_parallel_tool_use ? false : undefined,
    max_output_tokens: Number.isFinite(max) ? max : undefined,
    reasoning_effort: output?.effort,
    reasoning_tokens: thinking?.type === 'enabled' ? (thinking.budget_tokens ?? undefined) : undefined,
    reasoning: isShown(thinking) ? { summary: 'auto' } : undefined,
  }
  return toModelOptions(wanted, toolChoice, llms)
}

const rules: ParameterRules = {
  top_k: [isNot(unset), 'is not supported'],
  container: [isAny, ownTools],
  mcp_servers: [(value) => !Array.isArray(value) || value.length > 0, ownTools],
  inference_geo: [isAny, 'is not supported'],
  speed: [isNot('standard'), 'must be standard'],
  service_tier: [isNot('auto', 'standard_only'), 'must be auto or standard_only'],
}

function refuseWithoutEffect(body: AnyBody, schema: typeof MessagesBody | typeof CountBody, config: AgentConfig): void {
  if (body.thread) throw invalid(['body', 'thread'], 'is not supported: send the whole conversation', noThreads)
  refuseParameters(body, { known: schema.properties, rules, config })
  refuseParameters(body.thinking ?? {}, { known: Thinking.properties, config, path: ['thinking'] })
  refuseParameters(body.output_config ?? {}, { known: OutputConfig.properties, config, path: ['output_config'] })
}

interface RequestedTools {
  tools: NonNullable<ChatBody['client_tools']>
  toolChoice: ToolChoice | undefined
}

function toTools({ tools: sent, tool_choice: choice }: Pick<AnyBody, 'tools' | 'tool_choice'>): RequestedTools {
  const tools = (sent ?? []).map(({ type, name, description, input_schema: schema }, index) => {
    const at = ['body', 'tools', index]
    if (type && type !== 'custom')
      throw invalid([...at, 'type'], 'is not supported: only tools with an input_schema', 'unsupported_parameter')
    if (!schema) throw invalid([...at, 'input_schema'], 'is required', 'missing')
    return { name, description, schema }
  })
  const at = ['body', 'tool_choice']
  switch (choice?.type) {
    case 'any':
      if (tools.length === 0) throw invalid(at, 'is allowed only with tools')
      return { tools, toolChoice: 'required' }
    case 'tool': {
      const { name } = choice
      if (typeof name !== 'string' || !tools.some((tool) => tool.name === name))
        throw invalid([...at, 'name'], `there is no tool ${name ?? ''} in tools`)
      return { tools, toolChoice: { name } }
    }
    case 'none':
      return { tools, toolChoice: 'none' }
    case 'auto':
    case undefined:
      return { tools, toolChoice: undefined }
  }
}
