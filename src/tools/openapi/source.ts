import type { Environment } from '../../configuration/references.ts'
import type { Outbound } from '../builder.ts'

/** Where a document comes from. */
export interface Source {
  /** Of a document that was fetched. */
  url?: URL
  /** Milliseconds until it is worth looking again. */
  everyMs: number
  /** Undefined while no file of the document has changed since `keep`. Throws with a reason in words for an operator. */
  read(signal: AbortSignal | undefined): Promise<SourceDocument | undefined>
}

export interface SourceDocument {
  bytes: Uint8Array
  /** The document's own name, absolute: references in the document are relative to it. */
  href: string
  /** Reads another file that the document refers to. Throws an `Error` whose message ends the sentence "X, which ...". */
  readReferenced(href: string, signal: AbortSignal): Promise<Uint8Array>
  /** The document could be used: `read` need not return it again while its files are the same. */
  keep(): void
}

export interface SourceOptions {
  /** As configured: a path relative to `folder`, or an address. */
  spec: string
  folder: string
  environment: Environment
  outbound: Outbound
  /** What is sent to an address. */
  headers(url: URL): Readonly<Record<string, string>>
}

/** Four times the largest document that is known to be in use. */
export const maxBytes = 32 * 1024 * 1024

export function tooLarge(): Error {
  return new Error(`The OpenAPI document is larger than ${maxBytes / 1024 / 1024} MiB.`)
}
