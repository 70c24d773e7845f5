import { isRecord } from './api.ts'

/** What `$ref`s of a document mean. Only those into the document itself: nothing is fetched, and no other file is read. */
export interface References {
  /** The thing itself, however many references lead to it; undefined where one leads nowhere or out of the document. */
  follow(value: unknown): unknown
}

/** A chain of references that is longer is a loop. */
const maxChain = 32

export function createReferences(document: unknown): References {
  const known = new Map<string, unknown>()

  function find(reference: string): unknown {
    if (!known.has(reference)) known.set(reference, lookUp(reference))
    return known.get(reference)
  }

  function lookUp(reference: string): unknown {
    if (!reference.startsWith('#')) return undefined
    let at: unknown = document
    for (const part of decode(reference.slice(1)).split('/').slice(1)) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
      at = (at as Record<string, unknown>)[key]
    }
    return at
  }

  function follow(value: unknown): unknown {
    let at = value
    for (let chain = 0; isRecord(at) && typeof at['$ref'] === 'string'; chain++) {
      if (chain === maxChain) return undefined
      at = find(at['$ref'])
    }
    return at
  }

  return { follow }
}

/** As a fragment of a URI a pointer may be percent-encoded (RFC 6901, 6). */
function decode(pointer: string): string {
  try {
    return decodeURIComponent(pointer)
  } catch {
    return pointer
  }
}
