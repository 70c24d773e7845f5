import type { ApiReadOptions, FoundOperation } from './api.ts'

/** The id of an operation, used as the last part of the tool name: letters, digits and `_.-`, unique in the document. */
export function toId(operationId: unknown, method: string, path: string, usedIds: Set<string>): string {
  const hasId = typeof operationId === 'string' && operationId.trim() !== ''
  const baseName = hasId ? operationId : `${method}${path.replace(/\W+/g, '_')}`
  const plain = baseName.replace(/[^A-Za-z0-9_.-]+/g, '_').replace(/^_+|(?<!_)_+$/g, '') || method
  const short = plain.slice(0, 100)
  let id = short
  for (let n = 2; usedIds.has(id); n++) id = `${short}_${n}`
  usedIds.add(id)
  return id
}

/** Selects by name, pattern with `*`, or `tag:<name or pattern>`. */
export function isSelected(operation: Pick<FoundOperation, 'id' | 'tags' | 'operation'>, { include, exclude }: ApiReadOptions): boolean {
  const fits = (pattern: string) => fitsPattern(pattern, operation)
  return (include === undefined || include.some(fits)) && !exclude?.some(fits)
}

function fitsPattern(pattern: string, { id, tags, operation }: Pick<FoundOperation, 'id' | 'tags' | 'operation'>): boolean {
  if (pattern.startsWith('tag:')) return tags.some((tag) => matches(pattern.slice('tag:'.length), tag))
  const operationId = operation['operationId']
  return matches(pattern, id) || (typeof operationId === 'string' && matches(pattern, operationId))
}

/** Finds the pieces between the stars in order, without a regular expression that could backtrack. */
function matches(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const piece of rest) {
    const index = text.indexOf(piece, at)
    if (index === -1) return false
    at = index + piece.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}
