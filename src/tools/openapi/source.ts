import { readFile, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Environment } from '../../configuration/references.ts'
import type { Outbound } from '../builder.ts'
import { decodeUri } from '../plain-text.ts'

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

/**
 * Virtual folder of the document for resolving references. A `..` that leads out of the folder stays visible in the resolved name, and
 * no name of the scheme `folder:` is a network address.
 */
const folderHref = 'folder:/document/'

/** A document in a file under `folder`. References may only lead to files under the folder of the document itself. */
export function openFile(name: string, folder: string): Source {
  let keptStates: ReadonlyMap<string, string> | undefined

  async function read(): Promise<SourceDocument | undefined> {
    if (keptStates && (await isSame(keptStates))) return undefined
    const root = await realpath(folder)
    const link = path.resolve(root, name)
    const file = await realpath(link).catch(() => undefined)
    if (file === undefined) throw new Error(`spec: ${name} does not exist beside agent.yaml.`)
    // The target of a link is checked, not its name.
    if (!file.startsWith(root + path.sep)) throw new Error(`spec: ${name} is outside of the folder of agent.yaml.`)
    if ((await stat(file)).size > maxBytes) throw tooLarge()
    const states = new Map([[link, await stateOf(link)]])

    async function readReferenced(href: string): Promise<Uint8Array> {
      const target = toPath(href, path.dirname(file!))
      states.set(target, await stateOf(target))
      return readUnder(target, path.dirname(file!))
    }

    const href = folderHref + encodeURIComponent(path.basename(file))
    return { bytes: await readFile(file), href, readReferenced, keep: () => (keptStates = states) }
  }

  return { everyMs: 10_000, read }
}

async function isSame(states: ReadonlyMap<string, string>): Promise<boolean> {
  for (const [file, state] of states) if ((await stateOf(file)) !== state) return false
  return true
}

/** Identifies the current content of a path: link target, inode, modification time and size. */
async function stateOf(file: string): Promise<string> {
  try {
    const target = await realpath(file)
    const { ino, mtimeMs, size } = await stat(target)
    return `${target} ${ino} ${mtimeMs} ${size}`
  } catch {
    return 'missing'
  }
}

function toPath(href: string, folder: string): string {
  const { protocol, host, pathname } = new URL(href)
  if (protocol !== 'folder:' || host !== '') throw new Error('is not a file: a document in a file may only refer to files in its folder')
  if (!pathname.startsWith('/document/')) throw new Error("is outside of the document's folder")
  const parts = pathname.slice('/document/'.length).split('/').map(decodeUri)
  if (parts.some((part) => /[/\\\0]/.test(part) || part === '..')) throw new Error("is outside of the document's folder")
  return path.join(folder, ...parts)
}

/** Reads a referenced file. The file must be under `folder` after following links, a regular file, and YAML or JSON by name. */
async function readUnder(target: string, folder: string): Promise<Uint8Array> {
  const file = await realpath(target).catch(() => undefined)
  if (file === undefined) throw new Error('does not exist')
  if (!file.startsWith(folder + path.sep)) throw new Error("is outside of the document's folder")
  const names = path.relative(folder, file).split(path.sep)
  // Hidden folders contain private data of programs: version control, environments, data of the service.
  if (names.some((part) => part.startsWith('.'))) throw new Error('is hidden')
  if (!/\.(ya?ml|json)$/i.test(file) || !/\.(ya?ml|json)$/i.test(target)) throw new Error('is not a .yaml, .yml or .json file')
  const stats = await stat(file)
  if (!stats.isFile()) throw new Error('is not a file')
  if (stats.size > maxBytes) throw new Error(`is larger than ${maxBytes / 1024 / 1024} MiB`)
  return readFile(file)
}
