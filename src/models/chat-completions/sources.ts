import type { ModelSource } from '../../agent/model.ts'
import { fieldsOf } from '../../json/shape.ts'

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
