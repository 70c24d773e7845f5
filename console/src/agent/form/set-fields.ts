import { diff3Merge } from 'node-diff3'
import { isCollection, isScalar, parseDocument, type Document } from 'yaml'
import type { Path } from '../schema/schema-node.ts'

/** A new value at a path; undefined removes the field. */
export interface FieldChange {
  path: Path
  value: unknown
}

/**
 * The YAML text with other values. Comments stay, and so do lines without a changed value, but for the spaces before comments next to the change. Undefined for a text that is not YAML,
 * or that has no place for a value.
 */
export function setFields(text: string, changes: readonly FieldChange[]): string | undefined {
  const before = parseDocument(text)
  const after = parseDocument(text)
  if (after.errors.length > 0) return undefined
  try {
    for (const change of changes) setField(after, change)
  } catch {
    return undefined
  }
  // A document is written in the layout of the package, so the change alone is merged into the original text.
  const [original, base, mine] = [text, write(before), write(after)].map((written) => written.split('\n')) as [string[], string[], string[]]
  const merged = diff3Merge(mine, base, original)
    .flatMap(({ ok, conflict }) => ok ?? conflict?.a ?? [])
    .join('\n')
  return holds(merged, after) ? merged : mine.join('\n')
}

function setField(document: Document, { path, value }: FieldChange): void {
  if (value === undefined) return remove(document, path)
  const node = document.getIn(path, true)
  if (isScalar(node) && typeof value !== 'object') node.value = value
  else if (typeof value !== 'object') document.setIn(path, value)
  else document.setIn(path, document.createNode(value))
}

/** Removes a field, and the mapping around the field when nothing else is in it. */
function remove(document: Document, path: Path): void {
  document.deleteIn(path)
  const parent = path.slice(0, -1)
  const rest = document.getIn(parent)
  if (parent.length > 0 && isCollection(rest) && rest.items.length === 0) remove(document, parent)
}

function write(document: Document): string {
  return document.toString({ lineWidth: 0 })
}

function holds(text: string, document: Document): boolean {
  const result = parseDocument(text)
  return result.errors.length === 0 && JSON.stringify(result.toJS()) === JSON.stringify(document.toJS())
}
