import { isObject } from '../../json/shape.ts'
import { decodeUri } from '../plain-text.ts'

/** The content of a file, or the reason why the file cannot be read, as the end of a sentence. */
export type LoadedFile = { content: unknown } | { fault: string }

export interface Observed<T> {
  outcome: { value: T } | { error: unknown }
  /** Files to add before `work` can succeed. */
  awaited: ReadonlySet<string>
  faults: readonly ReferenceFault[]
}

export interface ReferenceFault {
  /** A sentence without the full stop. */
  reason: string
  /** The reference leads out of the main file of the document. */
  isExternal: boolean
}

type Target = { value: unknown } | { awaited: string } | { fault: string; isExternal: boolean }

/** A longer chain of references is taken for a loop. */
const maxChain = 32

/** `href`: absolute name of the document; references are relative to this name. */
export function createReferences(document: unknown, href: string) {
  const files = new Map<string, LoadedFile>([[withoutFragment(href), { content: document }]])
  const targets = new Map<string, Target>()
  let awaited = new Set<string>()
  let faults = new Map<string, ReferenceFault>()

  function find(reference: string): Target {
    const cachedTarget = targets.get(reference)
    if (cachedTarget) return cachedTarget
    const target = lookUp(reference)
    if (!('awaited' in target)) targets.set(reference, target)
    return target
  }

  function lookUp(reference: string): Target {
    if (reference.startsWith('#')) return toTarget(document, reference.slice(1), reference, false)
    if (!URL.canParse(reference, href)) return { fault: `${toName(reference)} is not an address`, isExternal: true }
    const url = new URL(reference, href)
    const name = withoutFragment(url.href)
    const file = files.get(name)
    if (!file) return { awaited: name }
    if ('fault' in file) return { fault: `${toName(name)} ${file.fault}`, isExternal: true }
    return toTarget(file.content, url.hash.slice(1), toName(url.href), file.content !== document)
  }

  function toTarget(content: unknown, pointer: string, name: string, isExternal: boolean): Target {
    let at: unknown = content
    // A pointer may be percent-encoded in a URI fragment (RFC 6901, 6).
    for (const part of decodeUri(pointer).split('/').slice(1)) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return { fault: `${name} does not exist`, isExternal }
      at = (at as Record<string, unknown>)[key]
    }
    // A fragment without a leading slash would be an anchor, which is not supported.
    return pointer === '' || pointer.startsWith('/') ? { value: at } : { fault: `${name} is not a JSON pointer`, isExternal }
  }

  function resolve(value: unknown): Target {
    let at = value
    for (let chain = 0; isObject(at) && typeof at['$ref'] === 'string'; chain++) {
      if (chain === maxChain) return { fault: `${toName(at['$ref'])} refers to itself`, isExternal: false }
      const target = find(at['$ref'])
      if (!('value' in target)) return target
      at = target.value
    }
    return { value: at }
  }

  /** Follows a chain of references to the value. Undefined when a reference is broken, or its file is not loaded yet. */
  function follow(value: unknown): unknown {
    const target = resolve(value)
    if ('value' in target) return target.value
    if ('awaited' in target) awaited.add(target.awaited)
    else faults.set(target.fault, { reason: target.fault, isExternal: target.isExternal })
    return undefined
  }

  /** The reason why `follow` returned undefined, as a sentence without the full stop. */
  function explainFailure(value: unknown): string {
    const target = resolve(value)
    return 'fault' in target ? target.fault : 'it is empty or not an object'
  }

  /** Runs `work`, and records the references that could not be resolved meanwhile. */
  function observe<T>(work: () => T): Observed<T> {
    awaited = new Set()
    faults = new Map()
    const outcome = attempt(work)
    return { outcome, awaited, faults: [...faults.values()] }
  }

  /** Adds a loaded file. */
  function add(name: string, file: LoadedFile): void {
    if ('content' in file) makeAbsolute(file.content, name)
    files.set(name, file)
  }

  return { follow, explainFailure, observe, add }
}

/** Resolves the `$ref`s of a document in all of its files. */
export type References = ReturnType<typeof createReferences>

function attempt<T>(work: () => T): { value: T } | { error: unknown } {
  try {
    return { value: work() }
  } catch (error) {
    return { error }
  }
}

/** Makes the references of a file absolute: they are relative to their own file, and must mean the same from every other file. */
function makeAbsolute(content: unknown, href: string): void {
  const visited = new Set<object>()
  const open: unknown[] = [content]
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null || visited.has(value)) continue
    visited.add(value)
    const reference = isObject(value) ? value['$ref'] : undefined
    if (typeof reference === 'string' && URL.canParse(reference, href))
      (value as Record<string, unknown>)['$ref'] = new URL(reference, href).href
    for (const child of Object.values(value)) open.push(child)
  }
}

function withoutFragment(href: string): string {
  const at = href.indexOf('#')
  return at === -1 ? href : href.slice(0, at)
}

/** The name of a file for messages, relative to the folder of the document. */
function toName(href: string): string {
  return decodeUri(href.replace(/^folder:\/(document\/)?/, '')).slice(0, 300)
}
