import type { ModelReply, RequestedCall } from '../../agent/model.ts'
import { type Origin, checkCallCount } from '../failures.ts'
import { FileCollector, SourceCollector } from './made-files.ts'
import { DetailBuilder, type Detail, type VendorData } from './vendor-data.ts'
import type { WireChunk, WireMessage, WireCall } from './wire-chunk.ts'
import type { JsonObject } from '../../agent/messages.ts'
import { isDeeper, isObject } from '../../json/shape.ts'

/** What a piece of a message adds to the reply: characters in all, and its texts. */
export interface PartsOfPiece {
  size: number
  /** Reasoning that came in details. */
  reasoning: string
  /** What a model with a voice says. */
  transcript: string
}

/** Collects what a reply has beside text and reasoning. Each collector is created when the first part of its kind arrives. */
export class ReplyParts {
  private readonly origin: Origin
  private calls: CallBuilder | undefined
  private details: DetailBuilder | undefined
  private sources: SourceCollector | undefined
  private files: FileCollector | undefined

  constructor(origin: Origin) {
    this.origin = origin
  }

  get hasCalls(): boolean {
    return this.calls !== undefined
  }

  /** Accepts a piece of a message. Throws `ModelError` for too many calls. */
  accept({ tool_calls: calls, reasoning_details: pieces, annotations, images, audio }: WireMessage): PartsOfPiece {
    const details = pieces ? (this.details ??= new DetailBuilder()).accept(pieces) : { size: 0, text: '' }
    if (annotations) (this.sources ??= new SourceCollector()).acceptAnnotations(annotations)
    const pictureSize = images ? (this.files ??= new FileCollector()).acceptImages(images) : 0
    const speech = audio ? (this.files ??= new FileCollector()).acceptAudio(audio) : { size: 0, transcript: '' }
    const size = details.size + pictureSize + speech.size + (calls ? this.acceptCalls(calls) : 0)
    return { size, reasoning: details.text, transcript: speech.transcript }
  }

  /** Accepts the lists of sources at the top of a chunk. */
  acceptSources({ citations, search_results: results }: WireChunk): void {
    if (citations || results) (this.sources ??= new SourceCollector()).setLists(citations, results)
  }

  /** Calls with incomplete arguments are dropped if the reply was cut off (`complete` is false). */
  toCalls(complete: boolean): RequestedCall[] {
    return this.calls?.toCalls(complete) ?? []
  }

  /** `speechFormat` is the format of speech that the request asks for. */
  toSourcesAndFiles(speechFormat: string | undefined): Pick<ModelReply, 'sources' | 'files'> {
    const sources = this.sources?.toSources()
    const files = this.files?.toFiles(speechFormat)
    return { ...(sources && { sources }), ...(files && { files }) }
  }

  /** What the server wants back, beside the reasoning. */
  toVendorData(): Omit<VendorData, 'reasoning'> {
    const ids = this.calls?.ids ?? []
    const details = this.details?.toDetails()?.map((value): Detail => {
      const call = typeof value['id'] === 'string' ? ids.indexOf(value['id']) : -1
      return call >= 0 ? { value, call } : { value }
    })
    const calls = this.calls?.toExtras()
    return { ...(details && { details }), ...(calls && { calls }) }
  }

  private acceptCalls(deltas: NonNullable<WireMessage['tool_calls']>): number {
    if (deltas.length === 0) return 0
    const calls = (this.calls ??= new CallBuilder())
    const size = deltas.reduce((sum, delta) => sum + calls.accept(delta), 0)
    checkCallCount(calls.count, this.origin)
    return size
  }
}

/** Nesting of `extra_content`. Google sends two levels. */
const maxExtraDepth = 20

interface OpenCall {
  index: number | undefined
  id: string | undefined
  name: string
  arguments: string
  extra: JsonObject | null
}

/** Assembles tool calls by index, or by id if a server sends no index or the same index for all calls. */
export class CallBuilder {
  private readonly open: OpenCall[] = []

  get count(): number {
    return this.open.length
  }

  /** Adds a fragment, and returns the number of characters added. */
  accept({ index, id, function: called, extra_content: extra }: WireCall): number {
    const call = this.find(index ?? undefined, id || undefined, called?.name || undefined)
    if (call.name === '') call.name = called?.name ?? ''
    const fragment = called?.arguments ?? ''
    const text = typeof fragment === 'string' ? fragment : JSON.stringify(fragment)
    call.arguments += text
    if (!isObject(extra) || isDeeper(extra, maxExtraDepth)) return text.length
    call.extra = extra as JsonObject
    return text.length + JSON.stringify(extra).length
  }

  /** The server's ids of the calls; undefined for a call without one. */
  get ids(): (string | undefined)[] {
    return this.open.map(({ id }) => id)
  }

  /** `extra_content` of the calls; undefined if no call has it. */
  toExtras(): (JsonObject | null)[] | undefined {
    return this.open.some(({ extra }) => extra) ? this.open.map(({ extra }) => extra) : undefined
  }

  /** Returns the calls. Calls with incomplete arguments are dropped if the reply was cut off (`complete` is false). */
  toCalls(complete: boolean): RequestedCall[] {
    const whole = complete ? this.open : this.open.filter((call) => isJson(call.arguments))
    return whole.map((call) => ({ name: call.name, arguments: call.arguments }))
  }

  private find(index: number | undefined, id: string | undefined, name: string | undefined): OpenCall {
    const callAtIndex = index === undefined ? undefined : this.open.findLast((call) => call.index === index)
    const last = callAtIndex ?? (index === undefined ? this.open.at(-1) : undefined)
    const isOtherId = last?.id !== undefined && id !== undefined && id !== last.id
    // If index and id are absent, a fragment with a name starts a call, and a fragment with only arguments continues the last call.
    const isNext = index === undefined && id === undefined && name !== undefined
    if (last && !isOtherId && !isNext) {
      last.id ??= id
      return last
    }
    const call: OpenCall = { index, id, name: '', arguments: '', extra: null }
    this.open.push(call)
    return call
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
