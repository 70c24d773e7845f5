import type { Environment } from '../../configuration/references.ts'
import type { Outbound } from '../builder.ts'

/** The origin of a document: an address or a file. */
export interface Source {
  /** Address of a fetched document; absent for a file. */
  url?: URL
  /** Milliseconds between checks for changes. */
  everyMs: number
  /** Undefined while no file of the document has changed since `keep`. Throws a reason for an operator. */
  read(signal: AbortSignal | undefined): Promise<SourceDocument | undefined>
}

export interface SourceDocument {
  bytes: Uint8Array
  /** Absolute name of the document; references are relative to this name. */
  href: string
  /** Reads a referenced file. Throws an `Error` whose message ends a sentence that begins with the file name. */
  readReferenced(href: string, signal: AbortSignal): Promise<Uint8Array>
  /** Marks the document as usable: `read` returns undefined until a file changes. */
  keep(): void
}

export interface SourceOptions {
  /** The configured path relative to `folder`, or address. */
  spec: string
  folder: string
  environment: Environment
  outbound: Outbound
  /** Headers for a request to an address. */
  headers(url: URL): Readonly<Record<string, string>>
}

/** Four times the size of the largest known document. */
export const maxBytes = 32 * 1024 * 1024

export function tooLarge(): Error {
  return new Error(`The OpenAPI document is larger than ${maxBytes / 1024 / 1024} MiB.`)
}
