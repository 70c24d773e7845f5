import { isPair, isScalar, isSeq, parseDocument, visit, type Node, type Pair } from 'yaml'
import type { Path } from './schema-node.ts'

/** The place of a cursor in a YAML text. */
export interface CursorPlace {
  /** `key`: the name of a field of the mapping at `path`. `value`: the value at `path`. */
  kind: 'key' | 'value'
  path: Path
  /** Fields that the mapping has besides. */
  siblings: readonly string[]
  /** Range of the word at the cursor. */
  from: number
  to: number
  /** True if a colon follows the word. */
  hasColon: boolean
  isFlow: boolean
  /** The text as data, with the word at the cursor left out. */
  data: unknown
}

const marker = 'cursor_7f3a'

/** Finds the place of an offset. The text may be incomplete. Undefined inside of comments and of longer texts. */
export function placeAt(text: string, offset: number): CursorPlace | undefined {
  const from = offset - /[\w.-]*$/.exec(text.slice(Math.max(0, offset - 200), offset))![0].length
  const to = offset + /^[\w.-]*/.exec(text.slice(offset, offset + 200))![0].length
  const lineStart = text.lastIndexOf('\n', from - 1) + 1
  const hasColon = /^["']?[ \t]*:/.test(text.slice(to, to + 20))
  const isLineStart = /^[ \t]*(?:- +)*$/.test(text.slice(lineStart, from))
  const isLineEnd = /^[ \t]*(?:\n|\r|#|$)/.test(text.slice(to, to + 200))
  // A word alone on a line becomes a field: without a colon, the word would be part of the text before.
  const word = isLineStart && isLineEnd && !hasColon ? `${marker}:` : marker
  const document = parseDocument(text.slice(0, from) + word + text.slice(to), { logLevel: 'silent', prettyErrors: false })
  let position: CursorPlace | undefined
  visit(document, {
    Scalar(role, node, ancestors) {
      if (node.value !== marker) return undefined
      const isKey = role === 'key'
      // The pair of a key is the last ancestor, and is not part of the path to its mapping.
      const above = isKey ? ancestors.slice(0, -1) : ancestors
      const container = above.at(-1)
      const path = pathOf([...above, ...(isKey ? [] : [node])])
      const siblings = isKey && isNode(container) && 'items' in container ? keysOf(container.items as Pair[]) : []
      const isFlow = isNode(container) && 'flow' in container && container.flow === true
      position = { kind: isKey ? 'key' : 'value', path, siblings, from, to, hasColon, isFlow, data: undefined }
      return visit.BREAK
    },
  })
  return position && { ...position, data: toData(document) }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null
}

function keysOf(pairs: readonly Pair[]): string[] {
  return pairs.map(({ key }) => String(key)).filter((key) => key !== marker)
}

/** The path through nested nodes, from the document to the last one. */
export function pathOf(nodes: readonly unknown[]): Path {
  return nodes.flatMap((node, index): Path => {
    const child = nodes[index + 1]
    if (isPair(node)) return child === undefined ? [] : [keyOf(node)]
    return isSeq(node) && child !== undefined ? [node.items.indexOf(child)] : []
  })
}

function keyOf({ key }: Pair): string {
  return String(isScalar(key) ? key.value : key)
}

function toData(document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch {
    return undefined
  }
}
