import { isDeepStrictEqual } from 'node:util'
import { formatPath, problemAt, type ConfigProblem, type Path } from '../problems.ts'
import { secretMask, hideUrlSecrets } from '../redact.ts'
import { earlierElements, ownValue } from './merge.ts'
import { addressOf, entriesOf, type ConfigEntry, isSecretNode, leavesOf, childNode, rootNode, type SchemaNode } from './entries.ts'
import { isObject } from '../../json/shape.ts'

/** A patch in which every `********` is replaced by the original secret. */
export interface RestoredPatch {
  patch: unknown
  problems: ConfigProblem[]
  /** True if the caller sent the value at the path. False for restored secrets. */
  isSent(at: Path): boolean
  /** The former element for the list element at this path, if known. */
  earlier(at: Path): SchemaNode | undefined
}

/** Replaces every `********` that was sent back by the secret in `before`. */
export function restoreSecrets(patch: unknown, before: unknown): RestoredPatch {
  const problems: ConfigProblem[] = []
  const restoredPaths = new Set<string>()
  const earlier = new Map<string, SchemaNode>()

  function restore(sent: SchemaNode, old: SchemaNode): unknown {
    const { value, at } = sent
    if (Array.isArray(value)) return restoreList(sent, old)
    if (isObject(value)) {
      return Object.fromEntries(Object.keys(value).map((key) => [key, restore(childNode(sent, key), underData(old, key))]))
    }
    if (typeof value !== 'string' || !value.includes(secretMask)) return value
    const restored = isSecretNode(sent) ? restoreSecret(value, old) : restoreUrls(value, old)
    if (restored === undefined) {
      problems.push(problemAt(at, noSecret))
      return value
    }
    if (restored !== value) restoredPaths.add(formatPath(at))
    return restored
  }

  function restoreList(sent: SchemaNode, old: SchemaNode): unknown[] {
    const list = sent.value as unknown[]
    const oldIndexes = earlierElements(Array.isArray(old.value) ? old.value : [], list, shapeIn(sent))
    return list.map((_, index) => {
      const oldIndex = oldIndexes[index]
      const [node, oldNode] = [childNode(sent, index), oldIndex === undefined ? emptyNode : childNode(old, oldIndex)]
      if (oldIndex !== undefined) earlier.set(formatPath(node.at), oldNode)
      return restore(node, oldNode)
    })
  }

  const restored = restore(rootNode(patch), rootNode(before))
  return {
    patch: restored,
    problems,
    isSent: (at) => !restoredPaths.has(formatPath(at)) && isIn(patch, at),
    earlier: (at) => earlier.get(formatPath(at)),
  }
}

/**
 * Finds secrets that a change would send to a new address although the caller did not send the secrets: restored secrets, and secrets that the
 * merge leaves unchanged.
 */
export function findMovedSecrets(
  before: unknown,
  after: unknown,
  { isSent, earlier }: Pick<RestoredPatch, 'isSent' | 'earlier'>,
): ConfigProblem[] {
  const entriesById = new Map(entriesOf(before).map((entry) => [entry.id, entry]))
  return entriesOf(after).flatMap((entry) => {
    // Elements without a name match by the shown values, but an address also has masked parts, so the fields are compared.
    const oldNode = entry.id === undefined ? earlier(entry.at) : entriesById.get(entry.id)
    const changed = oldNode ? changedFields(oldNode, entry) : []
    if (changed.length === 0) return []
    return [...leavesOf(entry)]
      .filter((leaf) => holdsSecret(leaf) && !isSent(leaf.at))
      .map(({ at }) =>
        problemAt(at, `must be sent again, or removed with null, because ${changed.join(' and ')} of the same entry changes`),
      )
  })
}

const noSecret = `"${secretMask}" is a placeholder for an existing secret, but there is no such secret here; send the secret itself`

const emptyNode: SchemaNode = { value: undefined, at: [], schemas: [] }

function underData(node: SchemaNode, key: string): SchemaNode {
  return isObject(node.value) ? childNode(node, key) : emptyNode
}

/** The old secret for a placeholder. Undefined when the old value is not a secret: a public value must not become a secret. */
function restoreSecret(value: string, old: SchemaNode): unknown {
  return value === secretMask && isSecretNode(old) && !isObject(old.value) && !Array.isArray(old.value)
    ? (old.value ?? undefined)
    : undefined
}

const url = /\/\/[^\s"'<>]+/g
/** The placeholder of a secret in a URL. Eight asterisks elsewhere in a text are not a placeholder. */
const hiddenInUrl = /^\/\/\*{8}@|\?\*{8}(?=#|$)/

/** Restores users and queries of the URLs in a text. Undefined when the old text lacks a matching URL. */
function restoreUrls(value: string, old: SchemaNode): string | undefined {
  const text = typeof old.value === 'string' && !isSecretNode(old) ? old.value : ''
  const masked: string[] = hideUrlSecrets(text).match(url) ?? []
  const real: string[] = text.match(url) ?? []
  let isKnown = true
  const restored = value.replace(url, (address) => {
    if (!hiddenInUrl.test(address)) return address
    const index = masked.indexOf(address)
    const original = index === -1 ? undefined : real[index]
    // Each old URL is used once, in order, so equal masked URLs keep their order.
    if (original !== undefined) masked[index] = ''
    else isKnown = false
    return original ?? address
  })
  // A part that was masked in the old text must be masked in the new text: a link with blanks counts as prose, of which less is masked.
  return isKnown && (restored === value || hideUrlSecrets(restored) === value) ? restored : undefined
}

/** Returns a key for elements without a name: all values, with masked secrets. */
function shapeIn(list: SchemaNode): (element: unknown) => string {
  const shape = (node: SchemaNode): unknown => {
    const { value } = node
    if (Array.isArray(value)) return value.map((_, index) => shape(childNode(node, index)))
    if (isObject(value)) {
      const keys = Object.keys(value).sort()
      return keys.map((key) => [key, shape(childNode(node, key))])
    }
    if (isSecretNode(node)) return secretMask
    return typeof value === 'string' ? hideUrlSecrets(value) : value
  }
  return (element) => JSON.stringify(shape({ ...childNode(list, 0), value: element }))
}

function changedFields(oldNode: SchemaNode, entry: ConfigEntry): string[] {
  const [before, after] = [addressOf(oldNode), addressOf(entry)]
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
