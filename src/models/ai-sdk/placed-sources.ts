import type { LanguageModelV4Citation, LanguageModelV4Source, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { ModelSource } from '../../agent/model.ts'
import { fieldsOf } from '../../json/shape.ts'
import { SourceCollector } from '../chat-completions/made-files.ts'

/** Supports of Gemini's search that are looked at. */
const maxSupports = 200

/** The sources of a reply, with the places of the sources in the text as far as the provider reports places. */
export class PlacedSources {
  private readonly collector = new SourceCollector()
  /** Where each text began, by its id in the SDK. */
  private readonly starts = new Map<string, number>()
  private lastStart = 0

  startText(id: string, at: number): void {
    this.starts.set(id, at)
    this.lastStart = at
  }

  /** Claude cites in the text that a source supports, without a place of its own. */
  endText(id: string, citations: readonly LanguageModelV4Citation[] = [], end: number): void {
    const start = this.starts.get(id) ?? end
    for (const { source, startIndex, citedText } of citations)
      if (startIndex === undefined) this.add(source, { content: citedText, start, end })
  }

  /** A source without a place. */
  accept(source: LanguageModelV4Source): void {
    this.add(source, {})
  }

  /** The packages leave out the places that the responses API tells in the events of the wire. */
  acceptRaw(event: unknown): void {
    const { type, annotation } = fieldsOf(event)
    const { type: kind, url, title, start_index: start, end_index: end } = fieldsOf(annotation)
    if (type !== 'response.output_text.annotation.added' || kind !== 'url_citation') return
    if (typeof start === 'number' && typeof end === 'number')
      this.addUrl({ url, title, start_index: this.lastStart + start, end_index: this.lastStart + end })
  }

  /** Undefined for no source. `metadata` is that of the end of the reply. */
  toSources(text: string, metadata: SharedV4ProviderMetadata | undefined): ModelSource[] | undefined {
    for (const source of groundingsOf(text, fieldsOf(metadata?.['google'])['groundingMetadata'])) this.addUrl(source)
    return this.collector.toSources()
  }

  private add(
    source: LanguageModelV4Source,
    { content, start, end }: { content?: string | undefined; start?: number; end?: number },
  ): void {
    if (source.sourceType === 'url') this.addUrl({ url: source.url, title: source.title, content, start_index: start, end_index: end })
  }

  private addUrl(fields: object): void {
    this.collector.acceptAnnotations([{ type: 'url_citation', ...fields }])
  }
}

/** Gemini names the segments of its text that pages support, by bytes. */
function groundingsOf(text: string, grounding: unknown): object[] {
  const { groundingChunks: chunks, groundingSupports } = fieldsOf(grounding)
  const supports = (Array.isArray(groundingSupports) ? groundingSupports : [])
    .slice(0, maxSupports)
    .map((support: unknown) => fieldsOf(support))
  const segments = supports.map(({ segment }) => fieldsOf(segment))
  const offsets = segments.flatMap(({ startIndex, endIndex }) => [Number(startIndex ?? 0), Number(endIndex)]).filter(Number.isSafeInteger)
  const places = toCharacters(text, offsets)
  return supports.flatMap(({ groundingChunkIndices: indices }, at) => {
    const { startIndex, endIndex, text: expected } = segments[at] ?? {}
    const range = { start: places.get(Number(startIndex ?? 0)), end: places.get(Number(endIndex)) }
    // The segments of a reply with several parts count in parts that are not told.
    if (typeof expected === 'string' && text.slice(range.start, range.end) !== expected) return []
    return (Array.isArray(indices) ? indices : []).slice(0, maxSupports).map((index: unknown) => {
      const { uri, title } = fieldsOf(fieldsOf(Array.isArray(chunks) ? chunks[Number(index)] : undefined)['web'])
      return { url: uri, title, start_index: range.start, end_index: range.end }
    })
  })
}

/** The places in a text of offsets in its UTF-8. */
function toCharacters(text: string, offsets: readonly number[]): Map<number, number> {
  const places = new Map<number, number>()
  let bytes = 0
  let at = 0
  for (const offset of offsets.toSorted((a, b) => a - b)) {
    while (bytes < offset && at < text.length) {
      const code = text.codePointAt(at) ?? 0
      bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
      at += code < 0x10000 ? 1 : 2
    }
    places.set(offset, at)
  }
  return places
}
