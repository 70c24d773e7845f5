import { parse } from 'yaml'
import { formatPath } from './schema/faults.ts'
import { shown } from './schema/fields.ts'
import { readableYaml } from './readable-yaml.ts'

/** A field that differs between two configurations. */
export interface Difference {
  /** Such as `tools[handbook].config.paths`. */
  path: string
  /** Undefined where the text does not have the field. */
  before: string | undefined
  after: string | undefined
}

/** The fields that differ between two YAML texts, in the order of the newer one. Undefined if a text is not YAML. */
export function differencesOf(before: string, after: string): Difference[] | undefined {
  if (before === after) return []
  try {
    return compare(parse(before, { logLevel: 'error' }) ?? {}, parse(after, { logLevel: 'error' }) ?? {}, '')
  } catch {
    return undefined
  }
}

function compare(before: unknown, after: unknown, path: string): Difference[] {
  if (isEqual(before, after)) return []
  if (isMapping(before) && isMapping(after)) {
    const keys = new Set([...Object.keys(after), ...Object.keys(before)])
    return [...keys].flatMap((key) => compare(ownValue(before, key), ownValue(after, key), join(path, key)))
  }
  if (isNamedList(before) && isNamedList(after)) return compareNamed(before, after, path)
  return [{ path, before: toText(before), after: toText(after) }]
}

/** Elements with the same name are compared; an added, removed or moved one is a difference of its own. */
function compareNamed(before: readonly Named[], after: readonly Named[], path: string): Difference[] {
  const at = ({ name }: Named): string => `${path}[${name}]`
  const find = (list: readonly Named[], { name }: Named): Named | undefined => list.find((element) => element.name === name)
  const removed = before.filter((element) => !find(after, element))
  const differences = [
    ...after.flatMap((element) => compare(find(before, element), element, at(element))),
    ...removed.map((element) => ({ path: at(element), before: toText(element), after: undefined })),
  ]
  if (differences.length > 0) return differences
  return [{ path, before: toText(before.map(({ name }) => name)), after: toText(after.map(({ name }) => name)) }]
}

type Named = Record<string, unknown> & { name: string }

/** A list of mappings with names, each of them once. */
function isNamedList(value: unknown): value is Named[] {
  if (!Array.isArray(value) || !value.every((element) => isMapping(element) && typeof element['name'] === 'string')) return false
  return new Set((value as Named[]).map(({ name }) => name)).size === value.length
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function ownValue(value: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined
}

function isEqual(before: unknown, after: unknown): boolean {
  if (Object.is(before, after)) return true
  if (Array.isArray(before) && Array.isArray(after))
    return before.length === after.length && before.every((element, index) => isEqual(element, after[index]))
  if (!isMapping(before) || !isMapping(after)) return false
  const keys = Object.keys(before)
  return keys.length === Object.keys(after).length && keys.every((key) => Object.hasOwn(after, key) && isEqual(before[key], after[key]))
}

function join(path: string, key: string): string {
  const step = formatPath([key])
  return path === '' || step.startsWith('[') ? `${path}${step}` : `${path}.${step}`
}

function toText(value: unknown): string | undefined {
  if (value === undefined) return undefined
  return typeof value === 'object' && value !== null ? readableYaml(value) : shown(value)
}
