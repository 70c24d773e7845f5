import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../json/shape.ts'
import { formatPath, type Path } from '../problems.ts'
import type { Definition } from './pin-store.ts'

/** A value longer than this is not quoted whole. */
const shownLength = 120

/**
 * The differences of two definitions of a tool, a line each: `description changed`, `schema.properties.days added: {"type":"integer"}`,
 * `annotations.readOnlyHint changed: true -> false`.
 */
export function describeChanges(before: Definition, after: Definition): string[] {
  const lines = [
    ...(before.description === after.description ? [] : ['description changed']),
    ...differences(before.schema, after.schema, ['schema']),
    ...(before.annotations && after.annotations ? differences(before.annotations, after.annotations, ['annotations']) : []),
  ]
  return lines.length > 0 ? lines : ['a part changed that the agent does not use']
}

function differences(before: unknown, after: unknown, at: Path): string[] {
  if (isDeepStrictEqual(before, after)) return []
  const label = formatPath(at)
  if (before === undefined) return [`${label} added: ${show(after)}`]
  if (after === undefined) return [`${label} removed: ${show(before)}`]
  if (!isObject(before) || !isObject(after)) return [`${label} changed: ${show(before)} -> ${show(after)}`]
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...keys].flatMap((key) => differences(before[key], after[key], [...at, key]))
}

function show(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > shownLength ? `${text.slice(0, shownLength)}...` : text
}
