import { firstFault, isBlank, piecesOf, sign, sse, unknownField, type Answer, type Rule, type WireProvider } from '../wire.ts'

/** Gemini's streamGenerateContent. The first call of each step of the current turn needs its signature. */

type Part = Record<string, any>

const requestFields = [
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'safetySettings',
  'cachedContent',
  'labels',
]
const partFields = [
  ...['text', 'thought', 'thoughtSignature', 'functionCall', 'functionResponse', 'inlineData', 'fileData', 'videoMetadata'],
  ...['toolCall', 'toolResponse', 'executableCode', 'codeExecutionResult'],
]
const anySignature = new Set(['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go'])

const callsOf = ({ parts }: { parts: Part[] }): Part[] => parts.filter((part) => part['functionCall'])
const responsesOf = ({ parts }: { parts: Part[] }): Part[] => parts.filter((part) => part['functionResponse'])

const fields: Rule = ({ body, headers }) => {
  if (headers['x-goog-api-key'] !== 'k') return 'API key not valid. Please pass a valid API key.'
  const field = unknownField(body, requestFields)
  if (field !== undefined) return `Invalid JSON payload received. Unknown name "${field}": Cannot find field.`
  for (const [at, content] of body.contents.entries()) {
    for (const [index, part] of content.parts.entries()) {
      const extra = unknownField(part, partFields)
      if (extra !== undefined)
        return `Invalid JSON payload received. Unknown name "${extra}" at 'contents[${at}].parts[${index}]': Cannot find field.`
    }
  }
  return undefined
}

const parts: Rule = ({ body }) => {
  if (body.contents.length === 0) return '* GenerateContentRequest.contents: contents is not specified'
  for (const [at, { role, parts: list }] of body.contents.entries()) {
    if (role !== 'user' && role !== 'model') return 'Please use a valid role: user, model.'
    if (list.length === 0) return `* GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.`
    const isEmpty = list.some((part: Part) => Object.keys(part).every((name) => name.startsWith('thought')))
    if (isEmpty)
      return `* GenerateContentRequest.contents[${at}].parts[0].data: required oneof field 'data' must have one initialized field`
  }
  return undefined
}

/** A step of calls is followed by a content with as many responses, and stands behind a user or function response turn. */
const pairing: Rule = ({ body: { contents } }) => {
  for (const [at, content] of contents.entries()) {
    const calls = callsOf(content)
    if (calls.length > 0) {
      const before = contents[at - 1]
      if (before?.role !== 'user')
        return 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
      const next = contents[at + 1]
      if (!next || responsesOf(next).length !== calls.length) {
        return 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'
      }
    }
    const isOrphan = responsesOf(content).length > 0 && (!contents[at - 1] || callsOf(contents[at - 1]).length === 0)
    if (isOrphan) return 'Please ensure that function response turn comes immediately after a function call turn.'
  }
  return undefined
}

const signatures: Rule = ({ body: { contents } }) => {
  const from = contents.findLastIndex((content: any) => content.role === 'user' && responsesOf(content).length === 0)
  for (const [at, content] of contents.entries()) {
    const [first] = callsOf(content)
    const signature = first?.['thoughtSignature']
    const name = first?.['functionCall'].name
    if (first && at > from && signature === undefined) {
      return `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${at}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`
    }
    if (signature === undefined || anySignature.has(signature)) continue
    if (signature !== sign('google', name + JSON.stringify(first!['functionCall'].args))) return 'Corrupted thought signature.'
  }
  return undefined
}

/** A search goes back with its signature and its result. */
const searches: Rule = ({ body: { contents } }) => {
  for (const [at, { parts: list }] of contents.entries()) {
    for (const [index, { toolCall: call, thoughtSignature: signature }] of list.entries()) {
      if (!call) continue
      if (signature !== sign('google', call.id)) return `Tool call is missing a thought_signature in toolCall parts, position ${at}.`
      if (list[index + 1]?.toolResponse?.id !== call.id) return 'Please ensure that each tool call has its tool response.'
    }
  }
  return undefined
}

const tools: Rule = ({ body }) => {
  const isMixed = body.tools?.some((tool: Part) => tool['googleSearch']) && body.tools.some((tool: Part) => tool['functionDeclarations'])
  if (isMixed && body.toolConfig?.includeServerSideToolInvocations !== true)
    return 'Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.'
  const offers = (body.tools ?? []).flatMap(({ functionDeclarations: list = [] }: Part) => list)
  const bad = offers.findIndex(({ name }: Part) => !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(name))
  if (bad >= 0)
    return `* GenerateContentRequest.tools[0].function_declarations[${bad}].name: Invalid function name. Must start with a letter or an underscore.`
  for (const [at, { parameters }] of offers.entries()) {
    const keyword = /"(\$schema|additionalProperties|const|\$ref|\$defs|oneOf|patternProperties|propertyNames)":/.exec(
      JSON.stringify(parameters ?? {}),
    )?.[1]
    if (keyword !== undefined) {
      return `Invalid JSON payload received. Unknown name "${keyword}" at 'tools[0].function_declarations[${at}].parameters': Cannot find field.`
    }
  }
  if (body.systemInstruction?.parts.some(({ text }: Part) => isBlank(text)))
    return '* GenerateContentRequest.system_instruction: must not be empty'
  return undefined
}

const rules: readonly Rule[] = [fields, parts, pairing, signatures, searches, tools]

export const google: WireProvider = {
  name: 'google',
  llm: { provider: 'google', model: 'gemini-3-pro-preview', api_key: 'k', reasoning_effort: 'high' },
  basePath: '/v1beta',
  paths: /^\/v1beta\/models\/gemini-3-pro-preview:streamGenerateContent\?alt=sse$/,
  contentType: 'text/event-stream',
  check(request) {
    const message = firstFault(rules, request)
    return message === undefined ? undefined : { status: 400, body: { error: { code: 400, message, status: 'INVALID_ARGUMENT' } } }
  },
  stream({ reasoning = '', searches: queries = [], text = '', calls = [] }: Answer, n) {
    const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }
    const event = (list: Part[], rest: object = {}) =>
      sse({ candidates: [{ content: { role: 'model', parts: list }, index: 0, ...rest }], usageMetadata, responseId: `r${n}` })
    const toCall = ({ name, input }: NonNullable<Answer['calls']>[number], index: number): Part => ({
      functionCall: { name, args: input },
      ...(index === 0 && { thoughtSignature: sign('google', name + JSON.stringify(input)) }),
    })
    return [
      ...piecesOf(reasoning).map((piece) => event([{ text: piece, thought: true }])),
      ...queries.flatMap((query, index) => searchParts(query, `search_${n}_${index}`)).map((part) => event([part])),
      ...piecesOf(text).map((piece) => event([{ text: piece }])),
      ...calls.map((call, index) => event([toCall(call, index)])),
      event([{ text: '' }], { finishReason: 'STOP' }),
    ]
  },
}

function searchParts(query: string, id: string): Part[] {
  const toolType = 'GOOGLE_SEARCH_WEB'
  return [
    { toolCall: { toolType, args: { queries: [query] }, id }, thoughtSignature: sign('google', id) },
    { toolResponse: { toolType, response: { search_suggestions: query }, id } },
  ]
}
