import {
  firstFault,
  isBlank,
  piecesOf,
  refusedProperty,
  sign,
  toolSchemaFault,
  unknownField,
  type Answer,
  type Rule,
  type WireProvider,
} from '../wire.ts'
import { frame } from './event-frames.ts'

/** Bedrock's ConverseStream with Claude: the rules of Bedrock, and those of thinking. */

type Block = Record<string, any>

const requestFields = [
  ...['messages', 'system', 'inferenceConfig', 'toolConfig', 'guardrailConfig', 'additionalModelRequestFields', 'outputConfig'],
  ...['additionalModelResponseFieldPaths', 'serviceTier', 'performanceConfig', 'requestMetadata', 'promptVariables'],
]

const blocksWith = (messages: { content: Block[] }[], kind: string): Block[] =>
  messages.flatMap(({ content }) => content.filter((block) => block[kind]).map((block) => block[kind]))

const fields: Rule = ({ body, headers }) => {
  if (!headers.authorization?.startsWith('AWS4-HMAC-SHA256 Credential=id/')) return 'The security token included in the request is invalid.'
  const field = unknownField(body, requestFields)
  if (field !== undefined) return `Unexpected field ${field}`
  const hasToolBlocks = blocksWith(body.messages, 'toolUse').length + blocksWith(body.messages, 'toolResult').length > 0
  if (hasToolBlocks && !body.toolConfig) return 'The toolConfig field must be defined when using toolUse and toolResult content blocks.'
  for (const [at, { toolSpec: tool }] of (body.toolConfig?.tools ?? []).entries()) {
    const fault = tool && (toolSchemaFault(tool.inputSchema.json) ?? refusedProperty(tool.inputSchema.json))
    if (fault !== undefined) return `The model returned the following errors: tools.${at}.custom.input_schema: ${fault}`
  }
  if (body.toolConfig?.tools.length === 0) return 'The provided request is not valid: toolConfig.tools must have at least 1 item.'
  return undefined
}

const blocks: Rule = ({ body: { messages } }) => {
  if (messages[0]?.role !== 'user')
    return 'A conversation must start with a user message. Try again with a conversation that starts with a user message.'
  for (const [at, { role, content }] of messages.entries()) {
    if (content.length === 0)
      return `The content field in the Message object at messages.${at} is empty. Add a ContentBlock object to the content field and try again.`
    if (messages[at - 1]?.role === role)
      return `messages: roles must alternate between "user" and "assistant", but found multiple "${role}" roles in a row`
    for (const [index, block] of content.entries()) {
      const place = `messages.${at}.content.${index}`
      if ('text' in block && isBlank(block.text))
        return `The text field in the ContentBlock object at ${place} is blank. Add text to the text field, and try again.`
      const id = block.toolUse?.toolUseId ?? block.toolResult?.toolUseId
      if (id !== undefined && !/^[a-zA-Z0-9_-]{1,64}$/.test(id))
        return `Value '${id}' at '${place}.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+`
      if (block.toolResult?.status === 'error' && block.toolResult.content.length === 0)
        return `The content field at ${place}.toolResult cannot be empty when status value is error.`
      const thought = block.reasoningContent?.reasoningText
      if (thought && thought.signature !== sign('bedrock', thought.text))
        return `The model returned the following errors: ${place}: Invalid \`signature\` in \`thinking\` block`
    }
  }
  return undefined
}

const stops: Rule = ({ body: { inferenceConfig: { stopSequences = [] } = {} } }) =>
  stopSequences.some(isBlank)
    ? 'The model returned the following errors: stop_sequences: each stop sequence must contain non-whitespace'
    : undefined

const documents: Rule = ({ body: { messages } }) => {
  const names: string[] = blocksWith(messages, 'document').map(({ name }) => name)
  if (names.length > 5) return "You can't include more than 5 documents in a request."
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length)
    return "Messages can't contain duplicate document names. Rename the document and retry your request."
  const bad = names.find((name) => !/^[a-zA-Z0-9()[\]-]+(?: [a-zA-Z0-9()[\]-]+)*$/.test(name) || name.length > 200)
  if (bad !== undefined)
    return "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets. The name can't contain more than one consecutive whitespace character."
  const isAlone = messages.some(
    ({ content }: any) => content.some((block: Block) => block['document']) && !content.some((block: Block) => block['text']),
  )
  return isAlone ? 'The content field that contains a document must also contain a text field.' : undefined
}

const pairing: Rule = ({ body: { messages } }) => {
  for (const [at, message] of messages.entries()) {
    const uses = blocksWith([message], 'toolUse').map(({ toolUseId: id }) => id)
    const results = blocksWith(messages.slice(at + 1, at + 2), 'toolResult').map(({ toolUseId: id }) => id)
    if (uses.some((id) => !results.includes(id)))
      return `Expected toolResult blocks at messages.${at + 1}.content for the following Ids: ${uses.join(', ')}`
    if (results.length > uses.length)
      return `The number of toolResult blocks at messages.${at + 1}.content exceeds the number of toolUse blocks of previous turn.`
  }
  return undefined
}

const thinking: Rule = ({ body: { messages, additionalModelRequestFields: extra = {}, inferenceConfig = {}, toolConfig } }) => {
  if (extra.thinking?.type !== 'enabled') return undefined
  const prefix = 'The model returned the following errors: '
  if (inferenceConfig.maxTokens <= extra.thinking.budget_tokens)
    return `${prefix}\`max_tokens\` must be greater than \`thinking.budget_tokens\`.`
  if (inferenceConfig.temperature !== undefined) return `${prefix}\`temperature\` may only be set to 1 when thinking is enabled.`
  if (toolConfig?.toolChoice?.any || toolConfig?.toolChoice?.tool)
    return `${prefix}Thinking may not be enabled when tool_choice forces tool use.`
  const from = messages.findLastIndex(({ role, content }: any) => role === 'user' && content.some((block: Block) => !block['toolResult']))
  const last = messages.slice(from + 1).findLast(({ role }: any) => role === 'assistant')
  if (!last || last.content[0].reasoningContent) return undefined
  return `${prefix}messages.${messages.indexOf(last)}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`
}

const rules: readonly Rule[] = [fields, stops, blocks, documents, pairing, thinking]

export const bedrock: WireProvider = {
  name: 'bedrock',
  llm: {
    provider: 'amazon-bedrock',
    model: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    region: 'us-east-1',
    access_key_id: 'id',
    secret_access_key: 'secret',
    reasoning_effort: 'high',
    max_output_tokens: 20_000,
  },
  basePath: '',
  paths: /^\/model\/us\.anthropic\.claude-sonnet-4-5-20250929-v1%3A0\/converse-stream$/,
  contentType: 'application/vnd.amazon.eventstream',
  check(request) {
    const message = firstFault(rules, request)
    return message === undefined ? undefined : { status: 400, body: { message } }
  },
  stream({ reasoning = '', text = '', calls = [] }: Answer, n) {
    const contents: { start?: object; deltas: object[] }[] = [
      ...(reasoning === '' ? [] : [{ deltas: thoughtsOf(reasoning) }]),
      ...(text === '' ? [] : [{ deltas: piecesOf(text).map((piece) => ({ text: piece })) }]),
      ...calls.map(({ name, input }, index) => ({
        start: { toolUse: { toolUseId: `tooluse_${n}-${index}`, name } },
        deltas: piecesOf(JSON.stringify(input)).map((piece) => ({ toolUse: { input: piece } })),
      })),
    ]
    return [
      frame('messageStart', { role: 'assistant' }),
      ...contents.flatMap(({ start, deltas }, contentBlockIndex) => [
        ...(start ? [frame('contentBlockStart', { contentBlockIndex, start })] : []),
        ...deltas.map((delta) => frame('contentBlockDelta', { contentBlockIndex, delta })),
        frame('contentBlockStop', { contentBlockIndex }),
      ]),
      frame('messageStop', { stopReason: calls.length > 0 ? 'tool_use' : 'end_turn' }),
      frame('metadata', { usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }, metrics: { latencyMs: 1 } }),
    ]
  },
}

function thoughtsOf(reasoning: string): object[] {
  const texts = piecesOf(reasoning).map((text) => ({ reasoningContent: { text } }))
  return [...texts, { reasoningContent: { signature: sign('bedrock', reasoning) } }]
}
