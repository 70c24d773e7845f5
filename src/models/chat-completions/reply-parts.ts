import type { ModelReply, RequestedCall } from '../../agent/model.ts'
import type { Origin } from '../failures.ts'
import { checkCallCount } from '../reply-limits.ts'
import { CallBuilder } from './calls.ts'
import { FileCollector } from './made-files.ts'
import { DetailBuilder } from './reasoning-details.ts'
import { SourceCollector } from './sources.ts'
import type { Detail, VendorData } from './vendor-data.ts'
import type { WireChunk, WireMessage } from './wire-chunk.ts'

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
