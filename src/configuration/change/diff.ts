import { isDeepStrictEqual } from 'node:util'
import { formatPath } from '../problems.ts'
import { elementsBefore, nameOf } from './elements.ts'
import { ownValue } from './merge.ts'
import { isObject } from '../../json/shape.ts'

/**
 * Paths of different values, such as `llms.primary.model` or `tools[handbook].config.paths`, without the values, which may be secret. An
 * added or removed value, and a changed list of plain values, counts as a single path.
 */
export function changedPaths(before: unknown, after: unknown, path = ''): string[] {
  if (isDeepStrictEqual(before, after)) return []
  if (isObject(before) && isObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...keys].flatMap((key) => changedPaths(ownValue(before, key), ownValue(after, key), join(path, key)))
  }
  const isListOfObjects = (value: unknown): value is unknown[] => Array.isArray(value) && value.every(isObject)
  if (isListOfObjects(before) && isListOfObjects(after)) return changedElements(before, after, path)
  return [path]
}

function changedElements(before: readonly unknown[], after: readonly unknown[], path: string): string[] {
  const oldIndexes = elementsBefore(before, after)
  const removed = before.flatMap((element, index) => (oldIndexes.includes(index) ? [] : [`${path}[${nameOf(element) ?? index}]`]))
  const changed = after.flatMap((element, index) => {
    const oldIndex = oldIndexes[index]
    const elementPath = `${path}[${nameOf(element) ?? index}]`
    return oldIndex === undefined ? [elementPath] : changedPaths(before[oldIndex], element, elementPath)
  })
  const isMoved = removed.length === 0 && changed.length === 0
  return isMoved ? [path] : [...removed, ...changed]
}

function join(path: string, key: string): string {
  const step = formatPath([key])
  return path === '' || step.startsWith('[') ? `${path}${step}` : `${path}.${step}`
}
