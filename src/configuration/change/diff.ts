import { isDeepStrictEqual } from 'node:util'
import { formatPath } from '../problems.ts'
import { elementsBefore, nameOf } from './elements.ts'
import { isConfigData, ownValue } from './merge.ts'

/**
 * Paths of what differs, such as `llms.primary.model` or `tools[handbook].config.paths`; no values, which may be secret. Of what was added
 * or removed the path of the whole; a list of plain values is one.
 */
export function changedPaths(before: unknown, after: unknown, path = ''): string[] {
  if (isDeepStrictEqual(before, after)) return []
  if (isConfigData(before) && isConfigData(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...keys].flatMap((key) => changedPaths(ownValue(before, key), ownValue(after, key), join(path, key)))
  }
  const isListOfObjects = (value: unknown): value is unknown[] => Array.isArray(value) && value.every(isConfigData)
  if (isListOfObjects(before) && isListOfObjects(after)) return changedElements(before, after, path)
  return [path]
}

function changedElements(before: readonly unknown[], after: readonly unknown[], path: string): string[] {
  const from = elementsBefore(before, after)
  const removed = before.flatMap((element, index) => (from.includes(index) ? [] : [`${path}[${nameOf(element) ?? index}]`]))
  const changed = after.flatMap((element, index) => {
    const was = from[index]
    const here = `${path}[${nameOf(element) ?? index}]`
    return was === undefined ? [here] : changedPaths(before[was], element, here)
  })
  const isMoved = removed.length === 0 && changed.length === 0
  return isMoved ? [path] : [...removed, ...changed]
}

function join(path: string, key: string): string {
  const step = formatPath([key])
  return path === '' || step.startsWith('[') ? `${path}${step}` : `${path}.${step}`
}
