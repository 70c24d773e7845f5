import type { FoundOperation, ReadOptions } from './api.ts'

/** An operation's name as the end of a tool's: letters, digits and `_.-`, no other operation's. */
export function toId(operationId: unknown, method: string, path: string, taken: Set<string>): string {
  const isSaid = typeof operationId === 'string' && operationId.trim() !== ''
  const said = isSaid ? operationId : `${method}${path.replace(/\W+/g, '_')}`
  const plain = said.replace(/[^A-Za-z0-9_.-]+/g, '_').replace(/^_+|(?<!_)_+$/g, '') || method
  const short = plain.slice(0, 100)
  let id = short
  for (let n = 2; taken.has(id); n++) id = `${short}_${n}`
  taken.add(id)
  return id
}

/** By name, pattern with `*`, or `tag:<name or pattern>`. */
export function isWanted(operation: Pick<FoundOperation, 'id' | 'tags' | 'operation'>, { include, exclude }: ReadOptions): boolean {
  const fits = (pattern: string) => fitsPattern(pattern, operation)
  return (include === undefined || include.some(fits)) && !exclude?.some(fits)
}

function fitsPattern(pattern: string, { id, tags, operation }: Pick<FoundOperation, 'id' | 'tags' | 'operation'>): boolean {
  if (pattern.startsWith('tag:')) return tags.some((tag) => matches(pattern.slice('tag:'.length), tag))
  const own = operation['operationId']
  return matches(pattern, id) || (typeof own === 'string' && matches(pattern, own))
}

/** The pieces between the stars, one behind the other: no expression that could be made to take long. */
function matches(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const piece of rest) {
    const found = text.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}
