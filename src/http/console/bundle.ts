import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'

/** The built console: a page, and files that were listed once. No path of a request reaches the disk. */
export interface ConsoleBundle {
  /** Text of `index.html`. */
  page: string
  /** Files by their path below `/console/`, such as `assets/index-B1x2.js`. */
  files: ReadonlyMap<string, BundleFile>
}

export interface BundleFile {
  /** Value of `content-type`. */
  type: string
  /** True for a file whose name contains a hash of its content. */
  isImmutable: boolean
  /** Encodings with a compressed copy, the preferred encoding first. */
  encodings: readonly ContentEncoding[]
  /** Reads the file once and keeps its bytes. Rejects when the file has been removed. */
  read(encoding?: ContentEncoding): Promise<FileContent>
}

export interface FileContent {
  bytes: Buffer
  /** Strong validator, with quotes. */
  etag: string
}

export type ContentEncoding = 'br' | 'gzip'

const endings: Record<ContentEncoding, string> = { br: '.br', gzip: '.gz' }

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
  '.woff': 'font/woff',
  '.wasm': 'application/wasm',
  '.txt': 'text/plain; charset=utf-8',
}

/** Lists the files of a build. Undefined when the folder holds no build. */
export async function openBundle(folder: string): Promise<ConsoleBundle | undefined> {
  const page = await readFile(path.join(folder, 'index.html'), 'utf8').catch(() => undefined)
  if (page === undefined) return undefined
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const names = new Set(
    entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name)).split(path.sep).join('/')),
  )
  const isServed = (name: string) => name !== 'index.html' && !/\.(br|gz|map)$/.test(name)
  return { page, files: new Map([...names].filter(isServed).map((name) => [name, toFile(folder, name, names)])) }
}

function toFile(folder: string, name: string, names: ReadonlySet<string>): BundleFile {
  const contents = new Map<ContentEncoding | undefined, Promise<FileContent>>()
  return {
    type: types[path.extname(name)] ?? 'application/octet-stream',
    isImmutable: name.startsWith('assets/'),
    encodings: (['br', 'gzip'] as const).filter((encoding) => names.has(name + endings[encoding])),
    read(encoding) {
      const content = contents.get(encoding) ?? readContent(path.join(folder, name) + (encoding ? endings[encoding] : ''))
      contents.set(encoding, content)
      content.catch(() => contents.delete(encoding))
      return content
    },
  }
}

async function readContent(file: string): Promise<FileContent> {
  const bytes = await readFile(file)
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` }
}
