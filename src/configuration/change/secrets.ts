import { isDeepStrictEqual } from 'node:util'
import { formatPath, problemAt, type ConfigProblem, type Path } from '../problems.ts'
import { secretMask, hideUrlSecrets } from '../redact.ts'
import { earlierElements } from './elements.ts'
import { addressOf, entriesOf, type ConfigEntry } from './entries.ts'
import { isSecretNode, leavesOf, childNode, rootNode, type SchemaNode } from './leaves.ts'
import { isConfigData, ownValue } from './merge.ts'

/** A patch in which every `********` stands for what it was. */
export interface RestoredPatch {
  patch: unknown
  problems: ConfigProblem[]
  /** Whether the value at this path was sent, and not kept. */
  isSent(at: Path): boolean
  /** What the element of a list at this path was before, where that is known. */
  earlier(at: Path): SchemaNode | undefined
}

/** Puts the secrets of `before` in the place of the `********` that were sent back. */
export function restoreSecrets(patch: unknown, before: unknown): RestoredPatch {
  const problems: ConfigProblem[] = []
  const kept = new Set<string>()
  const earlier = new Map<string, SchemaNode>()

  function restore(sent: SchemaNode, old: SchemaNode): unknown {
    const { value, at } = sent
    if (Array.isArray(value)) return restoreList(sent, old)
    if (isConfigData(value)) {
      return Object.fromEntries(Object.keys(value).map((key) => [key, restore(childNode(sent, key), underData(old, key))]))
    }
    if (typeof value !== 'string' || !value.includes(secretMask)) return value
    const restored = isSecretNode(sent) ? restoreSecret(value, old) : restoreUrls(value, old)
    if (restored === undefined) {
      problems.push(problemAt(at, noSecret))
      return value
    }
    if (restored !== value) kept.add(formatPath(at))
    return restored
  }

  function restoreList(sent: SchemaNode, old: SchemaNode): unknown[] {
    const list = sent.value as unknown[]
    const from = earlierElements(Array.isArray(old.value) ? old.value : [], list, shapeIn(sent))
    return list.map((_, index) => {
      const known = from[index]
      const [place, was] = [childNode(sent, index), known === undefined ? nothing : childNode(old, known)]
      if (known !== undefined) earlier.set(formatPath(place.at), was)
      return restore(place, was)
    })
  }

  const restored = restore(rootNode(patch), rootNode(before))
  return {
    patch: restored,
    problems,
    isSent: (at) => !kept.has(formatPath(at)) && isIn(patch, at),
    earlier: (at) => earlier.get(formatPath(at)),
  }
}

/**
 * Secrets that a change would send to a new address although nobody who knows them said so: those kept by `********`, and those that a
 * merge leaves as they are.
 */
export function findMovedSecrets(
  before: unknown,
  after: unknown,
  { isSent, earlier }: Pick<RestoredPatch, 'isSent' | 'earlier'>,
): ConfigProblem[] {
  const named = new Map(entriesOf(before).map((entry) => [entry.id, entry]))
  return entriesOf(after).flatMap((entry) => {
    // An element without a name is known by what is shown of it, and an address has parts that are not.
    const was = entry.id === undefined ? earlier(entry.at) : named.get(entry.id)
    const changed = was ? changedFields(was, entry) : []
    if (changed.length === 0) return []
    return [...leavesOf(entry)]
      .filter((leaf) => holdsSecret(leaf) && !isSent(leaf.at))
      .map(({ at }) => problemAt(at, `must be sent anew, or be removed with null, because ${changed.join(' and ')} of its entry changes`))
  })
}

const noSecret = `"${secretMask}" stands for a secret that is there, and here is none that it could stand for; send the secret itself`

const nothing: SchemaNode = { value: undefined, at: [], schemas: [] }

function underData(place: SchemaNode, key: string): SchemaNode {
  return isConfigData(place.value) ? childNode(place, key) : nothing
}

/** Secrets are kept where they are: what was no secret becomes none, and what was one stays one. */
function restoreSecret(value: string, old: SchemaNode): unknown {
  return value === secretMask && isSecretNode(old) && !isConfigData(old.value) && !Array.isArray(old.value)
    ? (old.value ?? undefined)
    : undefined
}

const url = /\/\/[^\s"'<>]+/g
/** What stands for a secret in an address, and not in a text that happens to have eight asterisks. */
const hiddenInUrl = /^\/\/\*{8}@|\?\*{8}(?=#|$)/

/** Users and queries of the addresses in a text; undefined where one of them was not there. */
function restoreUrls(value: string, old: SchemaNode): string | undefined {
  const text = typeof old.value === 'string' && !isSecretNode(old) ? old.value : ''
  const shown: string[] = hideUrlSecrets(text).match(url) ?? []
  const real: string[] = text.match(url) ?? []
  let isKnown = true
  const restored = value.replace(url, (address) => {
    if (!hiddenInUrl.test(address)) return address
    const index = shown.indexOf(address)
    const found = index === -1 ? undefined : real[index]
    // Each stands for one: of two that look the same the first is the first.
    if (found !== undefined) shown[index] = ''
    else isKnown = false
    return found ?? address
  })
  // What was hidden in the old text must be so in the new one: blanks around a link make it prose, of which less is hidden.
  return isKnown && (restored === value || hideUrlSecrets(restored) === value) ? restored : undefined
}

/** What an element without a name is known by: all that is no secret. */
function shapeIn(list: SchemaNode): (element: unknown) => string {
  const shape = (place: SchemaNode): unknown => {
    const { value } = place
    if (Array.isArray(value)) return value.map((_, index) => shape(childNode(place, index)))
    if (isConfigData(value)) {
      const keys = Object.keys(value).sort()
      return keys.map((key) => [key, shape(childNode(place, key))])
    }
    if (isSecretNode(place)) return secretMask
    return typeof value === 'string' ? hideUrlSecrets(value) : value
  }
  return (element) => JSON.stringify(shape({ ...childNode(list, 0), value: element }))
}

function changedFields(was: SchemaNode, is: ConfigEntry): string[] {
  const [before, after] = [addressOf(was), addressOf(is)]
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((field) => !isDeepStrictEqual(before[field], after[field]))
}

function holdsSecret(leaf: SchemaNode): boolean {
  const { value } = leaf
  if (typeof value !== 'string' || value === '') return false
  return isSecretNode(leaf) || (value.match(/\/\/\S+/g) ?? []).some((address) => /^\/\/[^/?#]*@|\?\S/.test(address))
}

function isIn(patch: unknown, at: Path): boolean {
  return at.reduce<unknown>((value, key) => ownValue(value, key), patch) !== undefined
}
