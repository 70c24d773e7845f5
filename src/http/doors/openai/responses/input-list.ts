import type { ResponseKey } from '../ids.ts'
import type { ContentPart, InputItem } from './request.ts'

/** The input items of a response, as clients read them. */

/** The items as they are stored: without the bytes of images and files, which are stored with the run. */
export function storedInput(items: readonly InputItem[]): InputItem[] {
  return items.map((item) => (Array.isArray(item.content) ? { ...item, content: item.content.map(withoutBytes) } : item))
}

function withoutBytes(part: ContentPart): ContentPart {
  if (part.type === 'input_image') return { type: part.type, image_url: null, ...(part.file_id ? { file_id: part.file_id } : {}) }
  if (part.type === 'input_audio') return { type: part.type, input_audio: { data: null, format: part.input_audio?.format ?? null } }
  return part.type === 'input_file' ? { ...part, file_data: null } : part
}

/** An item with an id, for lists. */
export type ListedItem = Record<string, unknown> & { id: string }

export function toListedItems({ requestId, part }: ResponseKey, items: readonly InputItem[]): ListedItem[] {
  return items.map((item, index) => toListedItem(item, `${requestId}~${part}_${index}`))
}

const prefixes = { message: 'msg', function_call: 'fc', function_call_output: 'fco', reasoning: 'rs', item_reference: 'ref' }

function toListedItem(item: InputItem, suffix: string): ListedItem {
  const type = item.type ?? (item.role ? 'message' : 'item_reference')
  const id = item.id ?? `${prefixes[type]}_${suffix}`
  const status = item.status ?? 'completed'
  switch (type) {
    case 'message':
      return { id, type, role: item.role, status, content: toContent(item) }
    case 'function_call':
      return { id, type, status, call_id: item.call_id, name: item.name, arguments: item.arguments ?? '{}' }
    case 'function_call_output':
      return { id, type, status, call_id: item.call_id, output: item.output }
    case 'reasoning':
      return { id, type, summary: [] }
    case 'item_reference':
      return { id, type }
  }
}

function toContent({ role, content }: InputItem): object[] {
  const type = role === 'assistant' ? 'output_text' : 'input_text'
  const parts = typeof content === 'string' ? [{ type, text: content } as ContentPart] : (content ?? [])
  return parts.map((part) => toPart(part, type))
}

function toPart(part: ContentPart, type: 'input_text' | 'output_text'): object {
  if (part.type === 'input_image') return { type: part.type, detail: 'auto', image_url: null, file_id: part.file_id ?? null }
  if (part.type === 'input_file') return { type: part.type, file_id: part.file_id ?? null, filename: part.filename ?? null }
  if (part.type === 'input_audio') return { type: part.type, input_audio: { data: null, format: part.input_audio?.format ?? null } }
  if (part.type === 'refusal') return { type: part.type, refusal: part.refusal }
  return type === 'output_text' ? { type, text: part.text, annotations: [] } : { type, text: part.text }
}

interface Page {
  limit: number
  order: 'asc' | 'desc'
  after?: string | undefined
}

export interface ItemList {
  object: 'list'
  data: ListedItem[]
  first_id: string | null
  last_id: string | null
  has_more: boolean
}

/** A page of items; undefined where no item has the id `after`. */
export function toPage(items: readonly ListedItem[], { limit, order, after }: Page): ItemList | undefined {
  const ordered = order === 'asc' ? items : items.toReversed()
  const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && start === 0) return undefined
  const data = ordered.slice(start, start + limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + data.length < ordered.length,
  }
}
