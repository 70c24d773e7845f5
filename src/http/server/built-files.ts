import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'

/** A file that was made when the package was built. */
export interface BuiltFile {
  /** Value of `content-type`. */
  type: string
  /** True for a file whose name contains a hash of its content. */
  isImmutable: boolean
  /** Encodings with a compressed copy, the preferred encoding first. */
  encodings: readonly ContentEncoding[]
  /** Reads the file. Nothing is kept in memory. Rejects when the file has been removed. */
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
  '.html': 'text/html; charset=utf-8',
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
  '.md': 'text/markdown; charset=utf-8',
}

/**
 * Lists the files of a folder by their path, such as `assets/index-B1x2.js`. The folder is read once, so that no path of a request reaches
 * the disk. Empty when the folder does not exist.
 */
export async function listBuiltFiles(folder: string): Promise<Map<string, BuiltFile>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const names = new Set(
    entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name)).split(path.sep).join('/')),
  )
  const isServed = (name: string) => !/\.(br|gz|map)$/.test(name)
  return new Map([...names].filter(isServed).map((name) => [name, toFile(folder, name, names)]))
}

function toFile(folder: string, name: string, names: ReadonlySet<string>): BuiltFile {
  return {
    type: types[path.extname(name)] ?? 'application/octet-stream',
    isImmutable: name.startsWith('assets/'),
    encodings: (['br', 'gzip'] as const).filter((encoding) => names.has(name + endings[encoding])),
    read: (encoding) => readContent(path.join(folder, name) + (encoding ? endings[encoding] : '')),
  }
}

async function readContent(file: string): Promise<FileContent> {
  const bytes = await readFile(file)
  return { bytes, etag: etagOf(bytes) }
}

/** A strong validator, with quotes. */
export function etagOf(content: Buffer | string): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
}
