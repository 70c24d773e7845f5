import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import { isDeeper, isObject } from '../../json/shape.ts'

/** Limit of details in an answer. Each takes part in every later request. */
const maxDetails = 1000
/** Nesting of a detail. No provider sends more than two levels. */
const maxDepth = 20

/** Assembles OpenRouter's `reasoning_details`: the pieces of a detail have the same index and type. */
export class DetailBuilder {
  private readonly details: JsonObject[] = []
  private readonly last = new Map<string, JsonObject>()

  /** Adds the pieces of a chunk, and returns their text and their number of characters. */
  accept(pieces: unknown): { text: string; size: number } {
    let text = ''
    let size = 0
    for (const piece of Array.isArray(pieces) ? (pieces as JsonValue[]) : []) {
      if (!isObject(piece) || isDeeper(piece, maxDepth)) continue
      size += JSON.stringify(piece).length
      text += textOf(piece)
      this.add(piece)
    }
    return { text, size }
  }

  /** The whole details; undefined for none, or for more than a server can mean. */
  toDetails(): JsonObject[] | undefined {
    return this.details.length > 0 && this.details.length <= maxDetails ? this.details : undefined
  }

  private add(piece: JsonObject): void {
    const key = `${String(piece['type'])} ${String(piece['index'])}`
    const open = this.last.get(key)
    if (open && continues(open, piece)) return merge(open, piece)
    if (this.details.length > maxDetails) return
    const detail = { ...piece }
    this.last.set(key, detail)
    this.details.push(detail)
  }
}

/** A signature and encrypted data end a detail, and a detail has a single id. */
function continues(open: JsonObject, piece: JsonObject): boolean {
  const isOtherId = Boolean(open['id'] && piece['id'] && open['id'] !== piece['id'])
  const isSigned = Boolean(open['signature'] && (piece['signature'] || textOf(piece) !== ''))
  return !isOtherId && !isSigned && !open['data']
}

function merge(open: JsonObject, piece: JsonObject): void {
  for (const [field, value] of Object.entries(piece)) {
    const before = open[field]
    const isText = field === 'text' || field === 'summary'
    if (isText && typeof before === 'string' && typeof value === 'string') open[field] = before + value
    else if (value !== null) open[field] = value
  }
}

function textOf({ text, summary }: JsonObject): string {
  if (typeof text === 'string') return text
  return typeof summary === 'string' ? summary : ''
}
