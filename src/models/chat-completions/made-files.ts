import type { ModelFile, ModelSource } from '../../agent/model.ts'
import { fieldsOf } from '../../json/shape.ts'

const maxFiles = 50
const dataUrl = /^data:([a-z]+\/[a-z0-9.+-]{1,100})(?:;[^,;]{1,100})*;base64,/i
/** A search for one character needs no stack, however long the text is. */
const notBase64 = /[^A-Za-z0-9+/=]/

/** MIME types of the formats in which a model can be asked to speak. */
const speechTypes: Readonly<Record<string, string>> = {
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  flac: 'audio/flac',
  opus: 'audio/opus',
  aac: 'audio/aac',
  pcm16: 'audio/wav',
}

/** Collects pictures and speech that a model makes. */
export class FileCollector {
  private readonly pictures: ModelFile[] = []
  /** Pieces of speech, each encoded for itself. */
  private readonly speech: Buffer[] = []

  /** `images` of a message, as OpenRouter sends them. Returns the number of characters. */
  acceptImages(images: unknown): number {
    let size = 0
    for (const image of Array.isArray(images) ? images.slice(0, maxFiles) : []) {
      const url = fieldsOf(fieldsOf(image)['image_url'])['url']
      const prefix = typeof url === 'string' ? dataUrl.exec(url) : null
      const data = prefix ? String(url).slice(prefix[0].length) : ''
      if (data === '' || notBase64.test(data) || this.pictures.length >= maxFiles) continue
      this.pictures.push({ mediaType: prefix![1]!.toLowerCase(), data })
      size += data.length
    }
    return size
  }

  /** A piece of `audio`. Returns its number of characters, and the piece of its transcript. */
  acceptAudio(audio: unknown): { size: number; transcript: string } {
    const { data, transcript } = fieldsOf(audio)
    const size = typeof data === 'string' ? data.length : 0
    if (size > 0) this.speech.push(Buffer.from(String(data), 'base64'))
    return { size, transcript: typeof transcript === 'string' ? transcript : '' }
  }

  /** Undefined for no file. `format` is the format of speech that the request asks for. */
  toFiles(format = 'wav'): ModelFile[] | undefined {
    const bytes = Buffer.concat(this.speech)
    if (bytes.length === 0) return this.pictures.length > 0 ? this.pictures : undefined
    const whole = format === 'pcm16' ? toWav(bytes) : bytes
    return [...this.pictures, { mediaType: speechTypes[format] ?? 'audio/wav', data: whole.toString('base64') }]
  }
}

/** Bytes per second of OpenAI's `pcm16`: 24,000 samples of two bytes in one channel. */
const rate = 24_000

/** Adds the header of a WAV file to samples, which no player reads without it. */
function toWav(samples: Buffer): Buffer {
  const header = Buffer.alloc(44)
  header.write('RIFF', 0)
  header.writeUInt32LE(36 + samples.length, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(rate, 24)
  header.writeUInt32LE(rate * 2, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36)
  header.writeUInt32LE(samples.length, 40)
  return Buffer.concat([header, samples])
}

const maxSources = 100
const maxText = 2000
const maxUrl = 2048
/** Limit of the entries of a list that are looked at. */
const maxEntries = 200

/** Collects the sources that a server names for its answer. Sources beyond the limit are dropped. */
export class SourceCollector {
  private readonly byKey = new Map<string, ModelSource>()
  private lists: { citations?: unknown; results?: unknown } = {}

  /** `annotations` of a message, as OpenAI and OpenRouter send them. */
  acceptAnnotations(annotations: unknown): void {
    for (const annotation of entriesOf(annotations)) {
      const fields = fieldsOf(annotation)
      if (fields['type'] === 'url_citation') this.add(fieldsOf(fields['url_citation'] ?? fields))
    }
  }

  /** `citations` and `search_results` at the top of a chunk. Perplexity sends the whole lists again in each chunk. */
  setLists(citations: unknown, results: unknown): void {
    this.lists = { citations, results }
  }

  /** Undefined for no source. Sources without a place count only where no source has a place: others were found, but support no text. */
  toSources(): ModelSource[] | undefined {
    const { citations, results } = this.lists
    const entries = entriesOf(results)
    if (entries.length > 0) for (const result of entries) this.add(fieldsOf(result))
    else for (const url of entriesOf(citations)) this.add({ url })
    const all = [...this.byKey.values()]
    const placed = all.filter(({ start }) => start !== undefined)
    return all.length > 0 ? (placed.length > 0 ? placed : all) : undefined
  }

  private add({ url: address, title, content, snippet, start_index: start, end_index: end }: Record<string, unknown>): void {
    const url = this.byKey.size < maxSources ? toUrl(address) : undefined
    if (url === undefined) return
    const range = toPlace(start, end)
    const key = JSON.stringify([url, range])
    if (this.byKey.has(key)) return
    const text = toText(content) || toText(snippet)
    this.byKey.set(key, { url, title: toText(title) || new URL(url).hostname, ...(text !== '' && { text }), ...range })
  }
}

function entriesOf(list: unknown): unknown[] {
  return Array.isArray(list) ? list.slice(0, maxEntries) : []
}

function toUrl(address: unknown): string | undefined {
  if (typeof address !== 'string' || address.length > maxUrl) return undefined
  const url = URL.parse(address)
  return (url?.protocol === 'http:' || url?.protocol === 'https:') && url.href.length <= maxUrl ? url.href : undefined
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, maxText).toWellFormed().trim() : ''
}

/** The place of the source in the text; none unless both ends are whole numbers in order. */
function toPlace(start: unknown, end: unknown): Pick<ModelSource, 'start' | 'end'> {
  if (typeof start !== 'number' || typeof end !== 'number') return {}
  const isPlace = Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && end > start
  return isPlace ? { start, end } : {}
}
