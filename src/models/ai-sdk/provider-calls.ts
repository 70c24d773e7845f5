import type { LanguageModelV4ToolCall, LanguageModelV4ToolResult, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { JsonValue } from '../../agent/messages.ts'
import type { ModelEvent, ModelFile, ProviderCall, ToolOffer } from '../../agent/model.ts'
import { fieldsOf, isDeeper, isObject, maxJsonDepth } from '../../json/shape.ts'
import type { VendorPart } from './kept-parts.ts'

/** Steps for the searches of a reply, for a provider that does not report the single calls. */
const maxQueries = 20

type CallPart = Extract<VendorPart, { type: 'provider-call' }>

interface StartedCall {
  event?: ModelEvent
  part: CallPart
  isRepeated?: boolean
}

/** A call that ended, as an event and as a part for later requests. */
interface EndedCall {
  event: Extract<ModelEvent, { type: 'call_end' }>
  part: VendorPart
  /** A picture that the call made. */
  file?: ModelFile
}

/** The calls of one reply that the provider runs. Nothing here is ever executed by the service. */
export class ProviderCalls {
  private readonly offers: readonly ToolOffer[]
  private readonly open = new Map<string, { call: ProviderCall; part: CallPart; isEnded?: boolean }>()
  private readonly inputs = new StreamedInputs()
  private count = 0

  constructor(offers: readonly ToolOffer[]) {
    this.offers = offers.filter(({ provider }) => provider !== undefined)
  }

  /** Accepts an event of the wire. Returns the begin of a call whose input is complete with this event. */
  acceptRaw(value: unknown): ModelEvent | undefined {
    const complete = this.inputs.accept(value)
    const known = complete && this.open.get(complete.id)
    if (!known) return undefined
    known.call.input = known.part.input = toValue(complete.text)
    return { type: 'call_start', call: known.call }
  }

  /** The event is absent where only the result names the tool, or where the input is still to come. */
  start({ toolCallId: id, toolName, input: text, providerMetadata }: LanguageModelV4ToolCall): StartedCall {
    // A call of the part before a pause is repeated before its result.
    const before = this.open.get(id)
    if (before) return { part: before.part, isRepeated: true }
    const input = toValue(text)
    this.count++
    const offer = this.find(toolName, providerMetadata, undefined)
    const call: ProviderCall = { id, name: offer?.name ?? toolName, input }
    const part: CallPart = { type: 'provider-call', id, name: toolName, input, ...withOptions(providerMetadata) }
    this.open.set(id, { call, part })
    return offer && !this.inputs.has(id) ? { event: { type: 'call_start', call }, part } : { part }
  }

  end({ toolCallId: id, toolName, result, isError = false, providerMetadata }: LanguageModelV4ToolResult): EndedCall {
    const output = result as JsonValue
    const { file, shown } = takeFile(output)
    const begun = this.open.get(id)
    if (begun) begun.isEnded = true
    const known = begun?.call ?? { id, name: toolName, input: {} }
    if (isEmpty(known.input)) known.input = inputIn(output)
    const name = this.find(toolName, providerMetadata, output)?.name ?? known.name
    const failed = isError || fieldsOf(output)['error'] != null
    const called = begun?.part.name ?? toolName
    const options = withOptions(providerMetadata ?? begun?.part.options)
    const part: VendorPart = { type: 'provider-result', id, name: called, output: shown, isError, ...options }
    return { event: { type: 'call_end', call: { ...known, name }, output: shown, isError: failed }, part, ...(file && { file }) }
  }

  /**
   * Calls without a result. Claude runs a call that stands beside calls of the agent's own tools with the next request only, and refuses the
   * call in every later one, so the call is not sent back: the model asks again.
   */
  get unfinished(): ReadonlySet<VendorPart> {
    return new Set([...this.open.values()].filter(({ isEnded }) => isEnded !== true).map(({ part }) => part))
  }

  /** The searches of Gemini, which makes no calls: the end of the reply names all searches, with the pages of all searches together. */
  searches(metadata: SharedV4ProviderMetadata | undefined): ModelEvent[] {
    const offer = this.offers.find(({ provider }) => provider?.tool === 'web_search')
    const { webSearchQueries: queries, groundingChunks: chunks } = fieldsOf(fieldsOf(metadata?.['google'])['groundingMetadata'])
    if (!offer || this.count > 0 || !Array.isArray(queries)) return []
    const output = { sources: (Array.isArray(chunks) ? chunks : []) as JsonValue[] }
    return queries.slice(0, maxQueries).map((query: unknown, at): ModelEvent => {
      const call = { id: `search ${at}`, name: offer.name, input: { query: String(query) } }
      return { type: 'call_end', call, output, isError: false }
    })
  }

  /** The offer of a tool by its name at the provider: for a remote server, the call or its result names the server. */
  private find(toolName: string, metadata: SharedV4ProviderMetadata | undefined, output: unknown): ToolOffer | undefined {
    const server = fieldsOf(metadata?.['anthropic'])['serverName'] ?? fieldsOf(output)['serverLabel']
    const named = this.offers.find(({ name }) => name === (server ?? toolName))
    if (named) return named
    const kind = kindOf(toolName)
    const [only, ...others] = this.offers.filter(({ provider }) => provider?.tool === kind)
    return others.length === 0 ? only : undefined
  }
}

/** The kind of a tool, by a name that the provider chose. */
function kindOf(toolName: string): string | undefined {
  if (toolName.startsWith('mcp.')) return 'mcp'
  if (toolName === 'code_execution') return 'code'
  return toolsWithin.find(([name]) => name.test(toolName))?.[1]
}

/** Names of calls that are no names of tools: those of Gemini beside functions, and those within a search of xAI. */
const toolsWithin: readonly (readonly [RegExp, string])[] = [
  [/^server:.*SEARCH_WEB/, 'web_search'],
  [/^server:.*URL_CONTEXT/, 'fetch'],
  [/^server:.*FILE_SEARCH/, 'file_search'],
  [/^server:.*CODE/, 'code'],
  [/^view_x_video$/, 'x_search'],
  [/^view_image$/, 'web_search'],
]

const isEmpty = (input: JsonValue): boolean => isObject(input) && Object.keys(input).length === 0

/** The responses API names the query of a search, or the page that was opened, with the result only. */
function inputIn(output: JsonValue): JsonValue {
  const { action } = fieldsOf(output)
  const { type: _, ...input } = fieldsOf(action) as Record<string, JsonValue>
  return isDeeper(input, maxJsonDepth) ? {} : input
}

/** A made picture is a file of the answer, not a text of a step. */
function takeFile(output: JsonValue): { file?: ModelFile; shown: JsonValue } {
  if (isDeeper(output, maxJsonDepth)) return { shown: '[nested too deeply]' }
  const { result, ...rest } = fieldsOf(output) as Record<string, JsonValue>
  const start = typeof result === 'string' ? pictures.find(([begin]) => result.startsWith(begin)) : undefined
  return start ? { file: { mediaType: start[1], data: result as string }, shown: rest } : { shown: output ?? null }
}

/** The first characters of pictures in base64. */
const pictures: readonly (readonly [string, string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['UklGR', 'image/webp'],
]

function toValue(text: string): JsonValue {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text)
    return isDeeper(value, maxJsonDepth) ? '[nested too deeply]' : (value as JsonValue)
  } catch {
    return text
  }
}

function withOptions(metadata: SharedV4ProviderMetadata | undefined): { options?: SharedV4ProviderMetadata } {
  return metadata ? { options: metadata } : {}
}

/**
 * Inputs of Claude's calls on remote servers. Claude streams them in pieces behind the begin of a call, and the package of the SDK drops the
 * pieces (4.0.105), so they are read from the events of the wire:
 * https://docs.claude.com/en/docs/build-with-claude/streaming
 */
export class StreamedInputs {
  /** Calls whose input is still arriving, by the index of their block. */
  private readonly open = new Map<unknown, { id: string; text: string }>()

  /** Whether the input of a call is still arriving. */
  has(id: string): boolean {
    return this.open.values().some((call) => call.id === id)
  }

  /** Accepts an event of the wire. Returns the id and the JSON of an input that is complete. */
  accept(event: unknown): { id: string; text: string } | undefined {
    const { type, index, content_block: block, delta } = fieldsOf(event)
    const { type: kind, id, input } = fieldsOf(block)
    const isEmpty = Object.keys(fieldsOf(input)).length === 0
    if (type === 'content_block_start') this.open.delete(index)
    if (type === 'content_block_start' && kind === 'mcp_tool_use' && isEmpty) this.open.set(index, { id: String(id), text: '' })
    const call = this.open.get(index)
    const { partial_json: piece } = fieldsOf(delta)
    if (call && typeof piece === 'string') call.text += piece
    if (type !== 'content_block_stop' || !call) return undefined
    this.open.delete(index)
    return call
  }
}
