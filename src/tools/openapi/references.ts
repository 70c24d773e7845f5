import { isObject } from '../../json/is-object.ts'

/** What `$ref`s of a document mean, in all of its files. */
export interface References {
  /** The value itself, however many references lead to it; undefined where one of them leads nowhere, or to a file that is not there yet. */
  follow(value: unknown): unknown
  /** Why `follow` has no value for this one, as a sentence without its full stop. */
  whyNot(value: unknown): string
  /** Runs `work` and returns which references it came upon that `follow` has no value for. */
  observe<T>(work: () => T): Observed<T>
  /** Adds a file that a reference named. */
  add(href: string, file: LoadedFile): void
}

/** The content of a file, or why it cannot be read, as the end of a sentence. */
export type LoadedFile = { content: unknown } | { fault: string }

export interface Observed<T> {
  outcome: { value: T } | { error: unknown }
  /** Files to be added before `work` can be done. */
  awaited: ReadonlySet<string>
  faults: readonly ReferenceFault[]
}

export interface ReferenceFault {
  /** A sentence without its full stop. */
  reason: string
  /** The reference leads out of the document's first file. */
  isExternal: boolean
}

type Target = { value: unknown } | { awaited: string } | { fault: string; isExternal: boolean }

/** A chain of references that is longer is a loop. */
const maxChain = 32

/** `href`: the name of the document, to which its references are relative. */
export function createReferences(document: unknown, href: string): References {
  const files = new Map<string, LoadedFile>([[withoutFragment(href), { content: document }]])
  const targets = new Map<string, Target>()
  let awaited = new Set<string>()
  let faults = new Map<string, ReferenceFault>()

  function find(reference: string): Target {
    const known = targets.get(reference)
    if (known) return known
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
    for (const part of decode(pointer).split('/').slice(1)) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return { fault: `${name} does not exist`, isExternal }
      at = (at as Record<string, unknown>)[key]
    }
    // A fragment that is no pointer would be the name of an anchor.
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

  function follow(value: unknown): unknown {
    const target = resolve(value)
    if ('value' in target) return target.value
    if ('awaited' in target) awaited.add(target.awaited)
    else faults.set(target.fault, { reason: target.fault, isExternal: target.isExternal })
    return undefined
  }

  function whyNot(value: unknown): string {
    const target = resolve(value)
    return 'fault' in target ? target.fault : 'it is empty, or not the object that it must be'
  }

  function observe<T>(work: () => T): Observed<T> {
    awaited = new Set()
    faults = new Map()
    const outcome = attempt(work)
    return { outcome, awaited, faults: [...faults.values()] }
  }

  function add(name: string, file: LoadedFile): void {
    if ('content' in file) makeAbsolute(file.content, name)
    files.set(name, file)
  }

  return { follow, whyNot, observe, add }
}

function attempt<T>(work: () => T): { value: T } | { error: unknown } {
  try {
    return { value: work() }
  } catch (error) {
    return { error }
  }
}

/** References in another file are relative to that file: each gets its whole address, so that it means the same from anywhere. */
function makeAbsolute(content: unknown, href: string): void {
  const seen = new Set<object>()
  const open: unknown[] = [content]
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null || seen.has(value)) continue
    seen.add(value)
    const reference = isObject(value) ? value['$ref'] : undefined
    if (typeof reference === 'string' && URL.canParse(reference, href))
      (value as Record<string, unknown>)['$ref'] = new URL(reference, href).href
    for (const each of Object.values(value)) open.push(each)
  }
}

function withoutFragment(href: string): string {
  const at = href.indexOf('#')
  return at === -1 ? href : href.slice(0, at)
}

/** Names a file of a document's folder relative to it. */
function toName(href: string): string {
  return decode(href.replace(/^folder:\/(document\/)?/, '')).slice(0, 300)
}

/** As a fragment of a URI a pointer may be percent-encoded (RFC 6901, 6). */
function decode(pointer: string): string {
  try {
    return decodeURIComponent(pointer)
  } catch {
    return pointer
  }
}
